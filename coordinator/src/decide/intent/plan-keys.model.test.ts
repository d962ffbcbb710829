import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { gated, publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import type { ReadinessGate, Service } from '../../model/services.ts';
import { listedOf } from '../../state/node-keys.ts';
import type { ObservedNode, Taint } from '../../state/observed-node.ts';
import { impliedLabels } from '../labelers/implied-labels.ts';
import type { Claim } from '../labelers/labeler.ts';
import { leftOverKeys } from '../labelers/left-over-keys.ts';
import { readinessLabeler } from '../labelers/readiness.ts';
import { rulesOf } from '../labelers/rules.test-fixtures.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import { intentOf } from './intent.ts';
import type { AskSkipped, NodePlan, NodeSet, TaintChange } from './plan.ts';
import { isToWrite, observed } from './plan-node.test-fixtures.ts';
import { planNode } from './plan-node.ts';

const CACHE = serviceOf('cache', { publish: publishing('cache', 'no-cache') });
const OTHER = serviceOf('other', { publish: publishing('other', 'no-other') });
const [RULE, DEVICE, WORKSPACES] = ['rule', 'device', 'gitpod.io/workload_workspace_regular'];
const LABELS = ['cache', 'other', RULE, DEVICE];
const THEIRS = 'theirs';

type Config = {
  services: readonly Service[];
  gate: ReadinessGate;
  ready: readonly string[];
  others: readonly string[];
};
type Owner = 'us' | 'person';

const NOTHING: Config = { services: [], gate: 'both', ready: [], others: [] };

/** One Node as the API server has it, what the coordinator has seen of it, and a person who edits its labels. */
class World {
  config = NOTHING;
  labels = new Map<string, { value: string; owners: Set<Owner> }>([
    [WORKSPACES, { value: 'true', owners: new Set(['person']) }],
  ]);
  list: { text: string; isApplied: boolean } | undefined;
  taints: readonly Taint[] = [];
  /** Labels that the person set where the Node did not list them. */
  readonly theirs = new Set<string>();
  /** Labels that the coordinator set since it lists them. */
  readonly mine = new Set<string>();
  readonly #foreign = new Set<string>();
  #version = 0;
  #seen = this.#node();

  get listed(): ReadonlySet<string> {
    return listedOf(this.#node(), 'label');
  }

  watch(): void {
    this.#seen = this.#node();
    for (const key of this.#foreign) if (!this.labels.has(key)) this.#foreign.delete(key);
  }

  personSets(key: string): void {
    if (this.labels.get(key)?.value === THEIRS) return;
    this.#version += 1;
    if (!this.listed.has(key)) this.theirs.add(key);
    this.labels.set(key, { value: THEIRS, owners: new Set(['person']) });
  }

  personRemoves(key: string): void {
    this.#version += 1;
    this.theirs.delete(key);
    this.labels.delete(key);
  }

  /** Sends one request, as a turn of the writer does; returns whether there was something to write. */
  write(): boolean {
    const plan = this.#plan();
    if (!isToWrite(plan)) return false;
    const before = new Map(this.labels);
    const wasListed = this.listed;
    if (this.#send(plan)) this.watch();
    this.#check(before, wasListed);
    return true;
  }

  #send({ node, withdrawal, set, taints }: NodePlan): boolean {
    if (taints && taints.add.length > 0) return this.#changeTaints(taints);
    if (withdrawal) {
      for (const key of withdrawal.labels) this.labels.delete(key);
      if (withdrawal.annotations.includes(KEYS_ANNOTATION)) this.list = undefined;
      return this.#wrote();
    }
    if (set) return this.#apply(set, node.resourceVersion);
    return taints ? this.#changeTaints(taints) : true;
  }

  #changeTaints({ add, remove, observed: seen, keys }: TaintChange): boolean {
    const isStale = keys && keys.before !== this.list?.text;
    if (isStale || JSON.stringify(seen) !== JSON.stringify(this.taints)) return false;
    this.taints = [...this.taints.filter(({ key }) => !remove.includes(key)), ...add];
    if (keys) this.list = keys.after === undefined ? undefined : { text: keys.after, isApplied: false };
    return this.#wrote();
  }

  #apply({ labels, annotations, force }: NodeSet, version: string): boolean {
    if (force && version !== `${this.#version}`) return false;
    const text = annotations[KEYS_ANNOTATION];
    const isTheirs = ([key, value]: [string, string]) => {
      const there = this.labels.get(key);
      return there !== undefined && there.value !== value && there.owners.has('person');
    };
    const conflicts = force ? [] : Object.entries(labels).filter(isTheirs);
    for (const [key] of conflicts) this.#foreign.add(key);
    const isListTheirs = text !== undefined && this.list && !this.list.isApplied && this.list.text !== text;
    if (conflicts.length > 0 || (isListTheirs && !force)) return false;
    for (const [key, { owners }] of this.labels) {
      if (!owners.delete('us') || key in labels) continue;
      if (owners.size === 0) this.labels.delete(key);
    }
    for (const [key, value] of Object.entries(labels)) {
      const there = this.labels.get(key);
      const owners: Set<Owner> = there?.value === value ? there.owners : new Set();
      this.labels.set(key, { value, owners: owners.add('us') });
      this.mine.add(key);
    }
    if (text !== undefined) this.list = { text, isApplied: true };
    else if (this.list?.isApplied) this.list = undefined;
    expect(Object.keys(labels).filter((key) => !this.listed.has(key))).toEqual([]);
    return this.#wrote();
  }

  #wrote(): true {
    this.#version += 1;
    return true;
  }

  #check(before: World['labels'], wasListed: ReadonlySet<string>): void {
    const isOfService = (key: string) => this.config.services.some(({ publish }) => publish.label === key);
    for (const key of this.theirs) {
      // The labels of a service belong to it, whatever writer set them.
      if (this.labels.get(key)?.value !== THEIRS && isOfService(key)) this.theirs.delete(key);
      else expect([key, this.labels.get(key)?.value]).toEqual([key, THEIRS]);
    }
    for (const key of this.mine) if (!this.listed.has(key)) this.mine.delete(key);
    expect([...this.listed].filter((key) => !this.mine.has(key))).toEqual([]);
    expect([...this.listed].filter((key) => this.theirs.has(key))).toEqual([]);
    const isOursAlone = ({ owners }: { owners: Set<Owner> }) => owners.size === 1 && owners.has('us');
    const unlisted = [...this.labels].filter(([key, label]) => isOursAlone(label) && !this.listed.has(key));
    // What stays for another request stays listed.
    expect(unlisted.filter(([key]) => wasListed.has(key) && before.has(key))).toEqual([]);
    const listedTaints = listedOf(this.#node(), 'taint');
    expect(this.taints.filter(({ key }) => wasListed.has(key) && !listedTaints.has(key))).toEqual([]);
  }

  #plan(): NodePlan | undefined {
    const { gate, ready, others } = this.config;
    const services = this.config.services.map((each) => gated(each, gate));
    const keys = registryOf({ watchedServices: services });
    const device: Claim = {
      ...{ kind: 'label', key: DEVICE, value: 'true', stance: others.includes(DEVICE) ? 'present' : 'absent' },
      ...{ ownership: 'shared', origin: 'device', reason: 'r', cause: 'evidence' },
    };
    const implied = others.includes(RULE) ? { [RULE]: { value: 'true', reason: 'r' } } : {};
    const labelers = [
      readinessLabeler({ services: () => services, withheldTaint: () => undefined }),
      { name: 'device-labels', claims: () => [device] },
    ];
    const consequences = [
      leftOverKeys(keys, 'before-rules'),
      impliedLabels(
        () => rulesOf(Object.keys(implied), { implied }),
        keys,
        () => services,
      ),
      leftOverKeys(keys, 'after-rules'),
    ];
    const readiness = services.map(({ name }): [string, ServiceReadiness] => {
      const state = ready.includes(name) ? 'ready' : 'not-ready';
      return [name, { state, reason: 'r', cause: 'agent', sinceMs: 0 }];
    });
    const node = this.#seen;
    const { labels: ownedLabels } = node.owned;
    const seen = snapshot({ ...node, ownedLabels, sharedLabels: node.shared ?? new Set() });
    const evaluated = { ...seen, readiness: new Map(readiness), ageMs: 0 };
    const ask: AskSkipped = ({ key }, wanted) =>
      wanted !== undefined && this.#foreign.has(key) ? 'foreign' : undefined;
    return planNode(node, intentOf({ labelers, consequences }, evaluated), ask);
  }

  #node(): ObservedNode {
    const labels = Object.fromEntries([...this.labels].map(([key, { value }]) => [key, value]));
    const of = (isSo: (owners: Set<Owner>) => boolean) =>
      new Set([...this.labels].flatMap(([key, { owners }]) => (isSo(owners) ? [key] : [])));
    return {
      ...observed(labels),
      resourceVersion: `${this.#version}`,
      annotations: this.list ? { [KEYS_ANNOTATION]: this.list.text } : {},
      owned: {
        labels: of((owners) => owners.has('us')),
        annotations: new Set(this.list?.isApplied ? [KEYS_ANNOTATION] : []),
      },
      shared: of((owners) => owners.size > 1),
      taints: this.taints,
    };
  }
}

const config: fc.Arbitrary<Config> = fc.record({
  services: fc.subarray([CACHE, OTHER]),
  gate: fc.constantFrom<ReadinessGate>('label', 'taint', 'both'),
  ready: fc.subarray(['cache', 'other']),
  others: fc.subarray([RULE, DEVICE]),
});
const label = fc.constantFrom(...LABELS);
const deed: fc.Arbitrary<(world: World) => void> = fc.oneof(
  { weight: 6, arbitrary: fc.constant((world: World) => void world.write()) },
  { weight: 2, arbitrary: fc.constant((world: World) => world.watch()) },
  { weight: 2, arbitrary: config.map((each) => (world: World) => void Object.assign(world, { config: each })) },
  { weight: 2, arbitrary: label.map((key) => (world: World) => world.personSets(key)) },
  { weight: 1, arbitrary: label.map((key) => (world: World) => world.personRemoves(key)) },
);

function settle(world: World): void {
  for (let round = 0; round < 20; round += 1) {
    world.watch();
    if (!world.write()) return;
  }
  throw new Error('It does not settle');
}

test('whatever a person does between two requests: no list names what the person set, and nothing of theirs is changed', () => {
  fc.assert(
    fc.property(fc.array(deed, { minLength: 4, maxLength: 30 }), (history) => {
      const world = new World();
      for (const each of history) each(world);
      settle(world);
      world.config = NOTHING;
      settle(world);
      expect([world.list, world.taints]).toEqual([undefined, []]);
      expect([...world.labels.values()].filter(({ owners }) => owners.has('us'))).toEqual([]);
      expect([...world.labels.keys()]).toEqual(expect.arrayContaining([...world.theirs]));
    }),
    { numRuns: 2000 },
  );
});
