import fc from 'fast-check';
import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { formatManagedLabels, parseManagedLabels, sortPoolLabels } from '../labelers/pool-keys.ts';
import { poolLabelsLabeler } from '../labelers/pool-labels.ts';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE } from '../readiness/readiness.test-fixtures.ts';
import { intentOf } from './intent.ts';
import type { AskSkipped, NodePlan } from './plan.ts';
import { isToWrite } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const LIST = 'nodepool.banzaicloud.io/managed-labels';
const ORIGINS = 'rollcall.dev/keys';
const registry = registryOf({ watchedServices: [WS_DAEMON_SERVICE], poolLabels: ['agentpool'] });
const reserved = { keys: registry, domains: ['example.org'], allowedPrefixes: [] };
const labelers = [poolLabelsLabeler(reserved)];

const KEYS = ['a', 'b', 'team/c', 'node.banzaicloud.io/d', 'agentpool', 'x.k8s.io/k', 'example.org/x'];
const key = fc.constantFrom(...KEYS);
const labels = fc.dictionary(key, fc.constantFrom('1', '2', ''), { noNullPrototype: true });
const keys = fc.uniqueArray(key);
const listText = fc.option(
  fc.oneof(
    keys.map((listed) => JSON.stringify(listed)),
    fc.constantFrom('', '[]', '["a"', 'null', '["a",1]', '{"a":1}', ' ["b", "a", "b"]'),
    fc.string(),
  ),
  { nil: undefined },
);
const wanted = fc.option(
  fc.dictionary(fc.oneof(key, fc.constantFrom('bad*', LIST, WS_DAEMON_LABEL)), fc.constantFrom('1', '2', '', 'bad*-'), {
    noNullPrototype: true,
  }),
  { nil: undefined },
);
const scene = fc.record({ labels, listText, wanted, ours: keys, others: keys, unwritable: fc.constant<string[]>([]) });
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

/** A Node with the owners of its labels, as far as the API server keeps them. */
type State = {
  labels: Map<string, string>;
  list: string | undefined;
  origins: string | undefined;
  ours: Set<string>;
  listIsOurs: boolean;
};

function begin({ labels: there, listText: list, ours }: Scene): State {
  return {
    labels: new Map(Object.entries(there)),
    list,
    origins: undefined,
    ours: new Set(ours.filter((each) => each in there)),
    listIsOurs: false,
  };
}

function planOf({ labels: there, list, origins, ours, listIsOurs }: State, given: Scene): NodePlan | undefined {
  const set = given.wanted && {
    kind: 'NodePoolLabels' as const,
    ...{ uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' },
    ...{ labels: given.wanted, status: undefined },
  };
  const annotations: Record<string, string> = {
    ...(list === undefined ? {} : { [LIST]: list }),
    ...(origins === undefined ? {} : { [ORIGINS]: origins }),
  };
  const node: ObservedNode = {
    ...{ name: 'n', uid: 'u', resourceVersion: '1', createdAtMs: 0, labels: Object.fromEntries(there), annotations },
    ...{
      owned: {
        labels: ours,
        annotations: new Set([...(listIsOurs ? [LIST] : []), ...(origins === undefined ? [] : [ORIGINS])]),
      },
      inherited: new Set(),
    },
  };
  const ownership = { ownedLabels: ours, sharedLabels: new Set(given.others.filter((each) => ours.has(each))) };
  const seen = snapshot({ ...node, ...ownership, pool: 'gold', poolLabelSet: set });
  const evaluated = { ...seen, readiness: new Map(), ageMs: 0 };
  const askSkipped: AskSkipped = (ref, wanted) =>
    wanted !== undefined && given.unwritable.includes(ref.key) ? 'denied' : undefined;
  return planNode(node, intentOf({ labelers, consequences: [] }, evaluated), askSkipped);
}

/** What the API server makes of the first request of a plan. */
function carryOut(state: State, plan: NodePlan, { others }: Scene): State {
  const next = { ...state, labels: new Map(state.labels), ours: new Set(state.ours) };
  if (plan.withdrawal) {
    for (const gone of plan.withdrawal.labels) {
      next.labels.delete(gone);
      next.ours.delete(gone);
    }
    return plan.withdrawal.annotations.includes(LIST) ? { ...next, list: undefined, listIsOurs: false } : next;
  }
  const set = plan.set?.labels ?? {};
  for (const released of state.ours) {
    if (released in set) continue;
    next.ours.delete(released);
    if (!others.includes(released)) next.labels.delete(released);
  }
  for (const [each, value] of Object.entries(set)) {
    next.labels.set(each, value);
    next.ours.add(each);
  }
  next.origins = plan.set?.annotations[ORIGINS];
  const list = plan.set?.annotations[LIST];
  if (list !== undefined) return { ...next, list, listIsOurs: true };
  return state.listIsOurs ? { ...next, list: undefined, listIsOurs: false } : next;
}

/** Plans and writes until there is nothing to do. */
function settle(given: Scene): { state: State; plans: NodePlan[] } {
  let state = begin(given);
  const plans: NodePlan[] = [];
  for (;;) {
    const plan = planOf(state, given);
    if (!isToWrite(plan)) return { state, plans };
    plans.push(plan);
    expect(plans.length, JSON.stringify(plans)).toBeLessThan(5);
    state = carryOut(state, plan, given);
  }
}

function facts(given: Scene) {
  const listed = parseManagedLabels(given.listText) ?? new Set<string>();
  const { accepted } = sortPoolLabels({ pool: 'p', labels: given.wanted ?? {} }, reserved);
  const before = begin(given);
  const isOurs = (each: string) => listed.has(each) || (before.ours.has(each) && !given.others.includes(each));
  /** Present with another value than is wanted, or unwanted, and not listed as ours. */
  const foreign = [...before.labels.keys()].filter(
    (each) => !isOurs(each) && before.labels.get(each) !== accepted.get(each),
  );
  return { listed, accepted, before, foreign };
}

/** We applied what is listed, and nothing else. */
const asListed = scene.map((given) => ({ ...given, ours: [...facts(given).listed] }));

test('no plan contains or changes a key of another writer', () => {
  fc.assert(
    fc.property(scene, (given) => {
      const { before, foreign } = facts(given);
      const { state, plans } = settle(given);
      for (const each of foreign) expect(state.labels.get(each)).toBe(before.labels.get(each));
      for (const { set, withdrawal } of plans) {
        const touched = [...Object.keys(set?.labels ?? {}), ...(withdrawal?.labels ?? [])];
        expect(touched.filter((each) => foreign.includes(each))).toEqual([]);
      }
    }),
  );
});

test('where ownership is as it was left, a withdrawal and a set are enough, and after them nothing is left to do', () => {
  fc.assert(
    fc.property(asListed, (given) => {
      const { plans } = settle(given);
      expect(plans.filter(({ withdrawal }) => withdrawal).length).toBeLessThan(2);
      expect(plans.length).toBeLessThan(3);
    }),
  );
});

test('every label that is accepted and in no conflict is there', () => {
  fc.assert(
    fc.property(scene, (given) => {
      const { accepted, foreign } = facts(given);
      const { state } = settle(given);
      for (const [each, value] of accepted) if (!foreign.includes(each)) expect(state.labels.get(each)).toBe(value);
    }),
  );
});

test('every listed label that is not wanted is gone, and what is untouchable stays', () => {
  fc.assert(
    fc.property(scene, (given) => {
      const { listed, accepted, before } = facts(given);
      const { state } = settle(given);
      for (const each of listed) {
        if (accepted.has(each)) continue;
        if (!registry.isUntouchable('label', each)) expect(state.labels.has(each)).toBe(false);
        else if (!before.ours.has(each)) expect(state.labels.get(each)).toBe(before.labels.get(each));
      }
    }),
  );
});

test('the list names what is ours and nothing else, sorted, and is absent where nothing is', () => {
  fc.assert(
    fc.property(asListed, (given) => {
      const { listed, accepted, before } = facts(given);
      const { state } = settle(given);
      const isOurs = (each: string) => listed.has(each) || !before.labels.has(each);
      const mine = [...accepted.keys()].filter(isOurs);
      expect(state.list).toBe(mine.length === 0 ? undefined : formatManagedLabels(mine));
    }),
  );
});

test('what cannot be set is not listed, unless it was, or rollcall applied it as it is wanted, and it is there', () => {
  const refusing = fc
    .record({ given: scene, unwritable: keys })
    .map(({ given, unwritable }) => ({ ...given, unwritable }));
  fc.assert(
    fc.property(refusing, (given) => {
      const { listed, before, accepted } = facts(given);
      const isAsWanted = (each: string) => before.ours.has(each) && before.labels.get(each) === accepted.get(each);
      const { state } = settle(given);
      const names = [...(parseManagedLabels(state.list) ?? [])];
      expect(names.filter((each) => !state.labels.has(each))).toEqual([]);
      const added = names.filter((each) => given.unwritable.includes(each) && !listed.has(each));
      expect(added.filter((each) => !isAsWanted(each))).toEqual([]);
    }),
  );
});
