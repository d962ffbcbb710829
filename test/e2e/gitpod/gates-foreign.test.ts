import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../control-plane/api-client.ts';
import { type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { startPolicy } from '../apply/policy.ts';
import { FACADE_TAINT, NodeStates, type Taint, taintKeys, WORKSPACE_NODE, WS_TAINT } from './node-states.ts';
import { firstPod } from './service-pods.ts';

const OURS = [WS_TAINT, FACADE_TAINT];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
const HOLD = 'rollcall.dev/scale-down-hold';
const SCALE_DOWN_DISABLED = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

let embedded: EmbeddedRig;
let rig: Rig;
let states: NodeStates;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ fence: 'no fence', nodes: 0, coordinatorArgs: ['--readiness-gate=both'] });
  rig = embedded.rig;
  states = new NodeStates(embedded.controlPlane.api);
  for (let index = 0; index < 3; index += 1) await rig.addNode({ labels: WORKSPACE_NODE });
  for (const { name } of rig.nodes) await states.until(name, 'to be ready', isReady);
});
afterAll(async () => {
  states?.stop();
  await embedded?.stop();
});

const api = () => embedded.controlPlane.api;
const isReady = (state: { labels: Readonly<Record<string, string>>; taints: readonly Taint[] }) =>
  WS_DAEMON_READY in state.labels && REGISTRY_FACADE_READY in state.labels && ours(state.taints).length === 0;
const ours = (taints: readonly Taint[]) => taints.filter(({ key }) => OURS.includes(key));
const foreign = (taints: readonly Taint[]) => JSON.stringify(taints.filter(({ key }) => !OURS.includes(key)));

/** The foreign taints after each edit, by the resource version of the edit. */
const written = new Map<string, string>();
afterEach(() => written.clear());

type Edit = (taints: readonly Taint[]) => readonly Taint[];

/** Changes the taints of a Node as another client, with optimistic locking, as `kubectl edit` does. */
async function edit(name: string, change: Edit): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  for (;;) {
    const node = await api().get<NodeObject>(path);
    const taints = [...change(node.spec.taints ?? [])];
    try {
      const answer = await api().put(path, { ...node, spec: { ...node.spec, taints } });
      written.set(answer.metadata.resourceVersion ?? '', foreign(taints));
      return;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  }
}

/** No write of ours changed what others have there, nor its order. */
function expectForeignKept(seen: ReturnType<NodeStates['of']>): void {
  for (const [index, { version, taints }] of seen.entries()) {
    const before = foreign(seen[index - 1]?.taints ?? taints);
    expect(foreign(taints), `version ${version}`).toBe(written.get(version) ?? before);
  }
}

let taintsMade = 0;
const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const anEffect = () => pick(EFFECTS);
const without = (taints: readonly Taint[], index: number) => taints.filter((_, each) => each !== index);
const anIndex = (taints: readonly Taint[]) => Math.floor(Math.random() * (taints.length + 1));

function withOne(taints: readonly Taint[], taint: Taint): readonly Taint[] {
  if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return taints;
  return taints.toSpliced(anIndex(taints), 0, taint);
}

const EDITS: Readonly<Record<string, Edit>> = {
  'adds one of theirs': (taints) => withOne(taints, { key: `example.com/t${++taintsMade}`, effect: anEffect() }),
  'removes any': (taints) => without(taints, anIndex(taints)),
  'turns the order around': (taints) => taints.toReversed(),
  'removes ours': (taints) => taints.filter(({ key }) => !OURS.includes(key)),
  'adds one of ours': (taints) => withOne(taints, { key: pick(OURS), value: 'true', effect: anEffect() }),
  'gives ours another effect': (taints) =>
    taints
      .map((taint) => (OURS.includes(taint.key) ? { ...taint, effect: anEffect() } : taint))
      .filter((taint, index, all) => index === all.findIndex((each) => each.key === taint.key)),
};

/** Exactly these keys of ours, none of them twice. */
async function untilOurs(name: string, keys: readonly string[]): Promise<void> {
  const wanted = keys.toSorted().join();
  const has = (taints: readonly Taint[]) => [...new Set(ours(taints).map(({ key }) => key))].toSorted().join();
  await states.until(name, `to have of ours "${wanted}"`, ({ taints }) => has(taints) === wanted);
}

describe('taints of others', () => {
  test('stay as they are and in order through any history of theirs and of ours', async () => {
    const { name } = rig.node(0);
    const since = states.mark(name);
    const history: string[] = [];
    let broken = false;
    for (let step = 1; step <= 60; step += 1) {
      const deed = pick(Object.keys(EDITS));
      history.push(deed);
      await edit(name, (taints) => EDITS[deed]?.(taints) ?? taints);
      if (step % 15 > 0) continue;
      broken = !broken;
      await setPodReady(api(), 'default', firstPod(rig.node(0), 'ws-daemon'), !broken);
      history.push(`the pod becomes ${broken ? 'not ready' : 'ready'}`);
      await untilOurs(name, broken ? [WS_TAINT] : []).catch((cause: unknown) => {
        throw new Error(`wrong after ${history.join(', ')}`, { cause });
      });
    }
    expectForeignKept(since());
    await states.until(name, 'to be ready', isReady);
  });

  test('are not lost while several change the list at once, and ours are right in the end', async () => {
    const { name } = rig.node(1);
    const leader = await rig.leader();
    const since = states.mark(name);
    const outcomes = (outcome: string) =>
      leader.metric('rollcall_coordinator_patches_total', { kind: 'taints', outcome });
    let busy = true;
    const writers = Array.from({ length: 2 }, async () => {
      while (busy) await edit(name, EDITS[pick(Object.keys(EDITS))] as Edit);
    });
    // They take part of what is ours away as well, and so what is ours is contested: it is written less and less often.
    const enough = async () => (await outcomes('applied')) >= 10 && written.size >= 60 && (await outcomes('stale')) > 0;
    try {
      await waitFor('many writes of theirs and of ours, some of them too late', enough, { timeoutMs: 60_000 });
      await setPodReady(api(), 'default', firstPod(rig.node(1), 'ws-daemon'), false);
      await states.until(name, 'to lose the label in the midst of it', ({ labels }) => !(WS_DAEMON_READY in labels));
    } finally {
      busy = false;
      await Promise.all(writers);
    }
    await untilOurs(name, [WS_TAINT]);
    expectForeignKept(since());
  });
});

describe('while a policy refuses our taints on one node', () => {
  let policy: Awaited<ReturnType<typeof startPolicy>>;
  let refused: SimulatedNode;
  beforeAll(async () => {
    refused = rig.node(2);
    const count = (object: string) =>
      `(has(${object}.spec.taints) ? ${object}.spec.taints.filter(t, t.key.startsWith('gitpod.io/')).size() : 0)`;
    const cluster = { controlPlane: embedded.controlPlane, kubeconfig: rig.cluster.coordinatorKubeconfig };
    policy = await startPolicy(cluster, {
      reason: 'Forbidden',
      expression: `object.metadata.name != '${refused.name}' || (${count('object')} <= ${count('oldObject')} && !('marker' in object.metadata.labels))`,
      message: 'no taints here',
      refused: { labels: { marker: 'x' } },
      on: refused.name,
    });
  });

  test('its labels and annotations go on, and so do the other nodes', async () => {
    await refused.kill('ws-daemon');
    await states.until(refused.name, 'to lose a label', ({ labels }) => !(WS_DAEMON_READY in labels));
    await api().patch(`/api/v1/nodes/${refused.name}`, { metadata: { annotations: { [HOLD]: 'true' } } });
    await states.until(
      refused.name,
      'to get an annotation',
      (state) => state.annotations[SCALE_DOWN_DISABLED] === 'true',
    );
    await refused.kill('registry-facade');
    await states.until(refused.name, 'to lose a label', ({ labels }) => !(REGISTRY_FACADE_READY in labels));
    await refused.revive('registry-facade');
    await states.until(refused.name, 'to get a label', ({ labels }) => REGISTRY_FACADE_READY in labels);
    await rig.node(0).kill('registry-facade');
    await states.until(rig.node(0).name, 'to get a taint', (state) => taintKeys(state).includes(FACADE_TAINT));
    expect(ours(states.last(refused.name)?.taints ?? [])).toEqual([]);
    const { keys } = await (await rig.leader()).explain(refused.name);
    expect(keys.find(({ key }) => key === WS_TAINT)?.skipped).toMatchObject({ cause: 'denied' });
  });

  test('the taint comes when the policy goes', async () => {
    await policy.remove();
    await states.until(refused.name, 'to get the taint', (state) => taintKeys(state).includes(WS_TAINT));
    await refused.revive('ws-daemon');
    await states.until(refused.name, 'to be ready', isReady);
  });
});
