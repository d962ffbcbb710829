import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { gated, publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import type { ReadinessGate, Service } from '../../model/services.ts';
import { listedOf } from '../../state/node-keys.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { leftOverKeys } from '../labelers/left-over-keys.ts';
import { readinessLabeler } from '../labelers/readiness.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import { intentOf } from './intent.ts';
import type { NodePlan } from './plan.ts';
import { apply, observed } from './plan-node.test-fixtures.ts';
import { planNode, prunePlan } from './plan-node.ts';

const NOTE = 'rollcall.dev/keys';
const listOf = (labels: readonly string[], taints: readonly string[], origin = 'gitpod') =>
  JSON.stringify(
    Object.fromEntries([
      ...labels.map((key) => [`label:${key}`, origin]),
      ...taints.map((key) => [`taint:${key}`, origin]),
    ]),
  );
const CACHE = serviceOf('cache', { publish: publishing('example.com/cache', 'example.com/no-cache') });
const OTHER = serviceOf('other', { publish: publishing('example.com/other', 'example.com/no-other') });
const [NO_CACHE, NO_OTHER] = ['example.com/no-cache', 'example.com/no-other'];
const FOREIGN = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };
const WORKSPACES = { 'gitpod.io/workload_workspace_regular': 'true' };

type Config = { services: readonly Service[]; gate: ReadinessGate; ready: readonly string[] };

function planFor(node: ObservedNode, { gate, ready, ...config }: Config): NodePlan | undefined {
  const services = config.services.map((each) => gated(each, gate));
  const keys = registryOf({ watchedServices: services });
  const labelers = [readinessLabeler({ services: () => services, withheldTaint: () => undefined })];
  const consequences = (['before-rules', 'after-rules'] as const).map((stage) => leftOverKeys(keys, stage));
  const stateOf = ({ name }: Service) => (ready.includes(name) ? 'ready' : 'not-ready');
  const readiness = new Map(
    services.map((each): [string, ServiceReadiness] => [
      each.name,
      { state: stateOf(each), reason: 'r', cause: 'agent', sinceMs: 0 },
    ]),
  );
  const evaluated = { ...snapshot({ ...node, ownedLabels: node.owned.labels }), readiness, ageMs: 0 };
  return planNode(node, intentOf({ labelers, consequences }, evaluated), () => undefined);
}

/** Plans and writes until there is nothing to do. A taint is never there without being listed. */
function settle(before: ObservedNode, config: Config, plans: NodePlan[] = []): ObservedNode {
  let node = before;
  for (let round = 0; round < 5; round += 1) {
    const plan = planFor(node, config);
    if (!plan) return node;
    plans.push(plan);
    node = apply(node, plan);
    const listed = listedOf(node, 'taint');
    expect(plan.taints?.add.filter(({ key }) => !listed.has(key)) ?? []).toEqual([]);
  }
  throw new Error(`It does not settle: ${JSON.stringify(plans)}`);
}

const fresh: ObservedNode = { ...observed(WORKSPACES), taints: [FOREIGN] };
const both: Config = { services: [CACHE, OTHER], gate: 'both', ready: [] };
const tainted = settle(fresh, both);

function taintsOf(node: ObservedNode): string[] {
  return (node.taints ?? []).map(({ key }) => key);
}

describe('what a node has because of services', () => {
  test('is listed in the request that brings a taint', () => {
    const plan = planFor(fresh, both);
    expect(plan?.taints?.keys).toEqual({ before: undefined, after: listOf([], [NO_CACHE, NO_OTHER]) });
    expect(taintsOf(tainted)).toEqual([FOREIGN.key, NO_CACHE, NO_OTHER]);
  });

  test('is listed in the request that brings a label and not before, with the taints that are there', () => {
    const plan = planFor(fresh, { ...both, ready: ['other'] });
    expect(plan?.taints?.keys?.after).toBe(listOf([], [NO_CACHE]));
    expect(plan?.set?.annotations).toEqual({ [NOTE]: listOf(['example.com/other'], []) });
    const next = planFor(tainted, { ...both, ready: ['other'] });
    expect(next?.taints?.keys?.after).toBe(listOf([], [NO_CACHE]));
    // A taint that another request removes is listed until it is gone.
    expect(next?.set?.annotations).toEqual({ [NOTE]: listOf(['example.com/other'], [NO_CACHE, NO_OTHER]) });
  });

  test('costs no request where a label is listed that its service has lost', () => {
    const { key, value, effect } = CACHE.publish.taint ?? FOREIGN;
    const annotations = { [NOTE]: listOf(['example.com/cache'], [NO_CACHE]) };
    const node = { ...fresh, annotations, taints: [{ key, value, effect }] };
    expect(planFor(node, { ...both, services: [CACHE] })).toBeUndefined();
  });

  test('is corrected where it lists a taint that is absent and that no claim wants', () => {
    const node = { ...fresh, annotations: { [NOTE]: listOf([], ['example.com/gone']) } };
    expect(planFor(node, { ...both, services: [] })).toMatchObject({ withdrawal: { annotations: [NOTE] } });
  });

  test('stays listed until it is gone, also where an apply removes the last label', () => {
    const labels = { ...WORKSPACES, 'example.com/cache': 'true', r: 'true' };
    const text = JSON.stringify({ 'label:example.com/cache': 'gitpod', 'label:r': 'rule' });
    const owned = { labels: new Set(['example.com/cache', 'r']), annotations: new Set([NOTE]) };
    const config: Config = { services: [], gate: 'label', ready: [] };
    const plan = planFor({ ...fresh, labels, owned, annotations: { [NOTE]: text } }, config);
    expect(plan?.withdrawal).toEqual({ labels: ['example.com/cache'], annotations: [] });
  });

  test('is listed in the one request that brings labels alone', () => {
    const plans: NodePlan[] = [];
    const node = settle(fresh, { ...both, ready: ['cache', 'other'] }, plans);
    expect(node.annotations).toEqual({ [NOTE]: listOf(['example.com/cache', 'example.com/other'], []) });
    expect(plans.map(({ taints, set }) => [taints, set !== undefined])).toEqual([[undefined, true]]);
  });

  test('is no longer listed as a taint when the taint goes', () => {
    const plans: NodePlan[] = [];
    const node = settle(tainted, { ...both, ready: ['cache', 'other'] }, plans);
    expect(plans.filter(({ taints }) => taints)).toHaveLength(1);
    expect(node.annotations[NOTE]).toBe(listOf(['example.com/cache', 'example.com/other'], []));
  });

  test('is listed for a taint that is not, or where the list was deleted or garbled', () => {
    for (const annotations of [{}, { [NOTE]: '["x"' }, { [NOTE]: '{"taint:x":1}' }]) {
      const node = settle({ ...tainted, annotations }, both);
      expect(node.annotations[NOTE]).toBe(tainted.annotations[NOTE]);
    }
  });

  test('is taken over from the lists of earlier versions, which go once it is listed', () => {
    const earlier = {
      'rollcall.dev/service-keys': `{"taints":["${NO_CACHE}"]}`,
      'rollcall.dev/implied-labels': '["r"]',
    };
    const plans: NodePlan[] = [];
    const before = { ...tainted, labels: { ...WORKSPACES, r: '' }, annotations: earlier };
    const node = settle(before, { ...both, services: [OTHER] }, plans);
    expect(taintsOf(node)).toEqual([FOREIGN.key, NO_OTHER]);
    expect(node.annotations).toEqual({ [NOTE]: listOf([], [NO_OTHER]) });
    const removing = plans.findIndex(({ withdrawal }) => withdrawal?.annotations.includes('rollcall.dev/service-keys'));
    expect(removing).toBe(plans.length - 1);
  });
});

describe('a service that is none any more', () => {
  test('leaves no taint and no label behind, and nothing of others goes', () => {
    const labeled = settle(tainted, { ...both, ready: ['cache'] });
    expect(labeled.labels).toHaveProperty(['example.com/cache']);
    for (const before of [tainted, labeled]) {
      const node = settle(before, { ...both, services: [OTHER] });
      expect(taintsOf(node)).toEqual([FOREIGN.key, NO_OTHER]);
      expect(node.labels).toEqual(WORKSPACES);
      expect(node.annotations[NOTE]).toBe(listOf([], [NO_OTHER]));
    }
  });

  test('leaves no list behind when it was the last', () => {
    const node = settle(tainted, { ...both, services: [] });
    expect(taintsOf(node)).toEqual([FOREIGN.key]);
    expect(node.annotations).toEqual({});
  });

  test('loses a label that others applied as well', () => {
    const labeled = settle(tainted, { ...both, ready: ['cache'] });
    const plan = planFor(
      { ...labeled, owned: { labels: new Set(), annotations: new Set() } },
      { ...both, services: [] },
    );
    expect(plan?.withdrawal?.labels).toEqual(['example.com/cache']);
  });

  test('stays listed while taints are not known', () => {
    const { taints: _, ...unseen } = tainted;
    const config: Config = { services: [], gate: 'label', ready: [] };
    expect(planFor(unseen, config)).toBeUndefined();
    expect(settle(tainted, config).annotations).toEqual({});
  });

  test('leaves nothing behind where pruning does not know it either', () => {
    let node = settle(tainted, { ...both, ready: ['cache'] });
    for (let plan = prunePlan(node, registryOf()); plan; plan = prunePlan(node, registryOf())) node = apply(node, plan);
    expect({ taints: taintsOf(node), labels: node.labels, annotations: node.annotations }).toEqual({
      taints: [FOREIGN.key],
      labels: WORKSPACES,
      annotations: {},
    });
  });

  test('is listed while it is there, and not any longer, also when it is pruned', () => {
    const taints = [{ key: NO_CACHE, effect: 'NoSchedule' }];
    const annotations = { [NOTE]: listOf(['example.com/cache'], [NO_CACHE]) };
    const node = { ...observed({ 'example.com/cache': 'true' }), annotations, taints };
    const first = prunePlan(node, registryOf());
    expect(first?.taints?.keys?.after).toBe(listOf(['example.com/cache'], []));
    const second = first && prunePlan(apply(node, first), registryOf());
    expect(second?.withdrawal?.annotations).toEqual([NOTE]);
  });
});

test('a list that names what is not ours to name removes none of it, and is put right', () => {
  const keys = ['kubernetes.io/hostname', 'fact.rollcall.dev/os'];
  const labels = Object.fromEntries(keys.map((key) => [key, 'x']));
  const taints = [{ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' }];
  const node = settle(
    { ...observed(labels), taints, annotations: { [NOTE]: listOf(keys, ['node.kubernetes.io/unreachable']) } },
    { services: [], gate: 'label', ready: [] },
  );
  expect(node).toMatchObject({ labels, taints, annotations: {} });
});

test('whatever services come and go under whatever gate: no taint is ever there unlisted, and none stays for no reason', () => {
  const config = fc.record({
    services: fc.subarray([CACHE, OTHER]),
    gate: fc.constantFrom<ReadinessGate>('label', 'taint', 'both'),
    ready: fc.subarray(['cache', 'other']),
  });
  fc.assert(
    fc.property(fc.array(config, { minLength: 1, maxLength: 6 }), (history) => {
      let node = fresh;
      for (const each of history) {
        const plans: NodePlan[] = [];
        node = settle(node, each, plans);
        expect(plans.length, JSON.stringify(plans)).toBeLessThan(4);
        const isShown = ({ name }: Service) => each.gate !== 'label' && !each.ready.includes(name);
        const wanted = each.services.filter(isShown).map(({ publish }) => publish.taint?.key ?? '');
        expect(taintsOf(node).sort()).toEqual([FOREIGN.key, ...wanted].sort());
        expect([...listedOf(node, 'taint')]).toEqual(wanted.sort());
      }
    }),
  );
});
