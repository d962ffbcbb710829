import { createPod, createServiceAccount, type PodObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { POOL, type PoolCluster, register } from './pool-cluster.ts';

/** Pods that run where nothing else is asked for, by how they look at nodes with `tier=gold`. */
export type Outcome = {
  /** Pods that avoid such nodes, and ended on a node of the pool that has the label. */
  onAWrongNode: number;
  /** Pods that need such a node, and got one. */
  onAGoldenNode: number;
};

const podsPath = '/api/v1/namespaces/default/pods';
const placesPerNode = 2;
/** What a labeler needs at the least that has a queue, and a network before it. */
const labelerMs = 20;

/** The status that a running kubelet sends. */
function statusWith(places: number): object {
  const room = { cpu: '16', memory: '64Gi', pods: `${places}`, 'ephemeral-storage': '100Gi' };
  return { capacity: room, allocatable: room, conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] };
}

/** Two nodes that are full. Without any, the scheduler would not keep pods ready for the next one. */
export async function createFullNodes({ api }: PoolCluster): Promise<void> {
  for (const tier of ['gold', 'plain']) await register(api, `full-${tier}`, { tier }, { status: statusWith(0) });
}

/** Pods that wait: some that need `tier=gold`, and twice as many that must not run there. */
export async function createWaitingPods({ api }: PoolCluster, nodes: number): Promise<void> {
  await createServiceAccount(api, 'default', 'default');
  const pod = (name: string, operator: string) => {
    const matchExpressions = [{ key: 'tier', operator, values: ['gold'] }];
    const required = { nodeSelectorTerms: [{ matchExpressions }] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    // The pods tolerate every taint, so they are bound to a node as soon as it exists.
    const spec = { affinity, tolerations: [{ operator: 'Exists' }] };
    return createPod(api, { namespace: 'default', name, spec });
  };
  for (let index = 0; index < nodes; index++) {
    await Promise.all([
      pod(`needs-gold-${index}`, 'In'),
      pod(`avoids-gold-${index}-a`, 'NotIn'),
      pod(`avoids-gold-${index}-b`, 'NotIn'),
    ]);
  }
  const waits = ({ status: { conditions = [] } }: PodObject) => conditions.some(({ type }) => type === 'PodScheduled');
  await waitFor('every pod to wait', async () => (await api.list<PodObject>(podsPath)).every(waits), {
    timeoutMs: 120_000,
    everyMs: 250,
  });
}

/** Creates nodes one after the other, of the pools `gold` and `plain` in turn, and says where the pods ended. */
export async function fillNodes({ api }: PoolCluster, nodes: number): Promise<Outcome> {
  for (let index = 0; index < nodes; index++) {
    const pool = index % 2 === 0 ? 'gold' : 'plain';
    await register(api, `${pool}-${index}`, { [POOL]: pool }, { status: statusWith(placesPerNode) });
  }
  const placed = async () => {
    const pods = await api.list<PodObject>(podsPath);
    return pods.filter(({ spec }) => spec.nodeName !== undefined);
  };
  const pods = await waitFor(
    'every node to be full',
    async () => {
      const there = await placed();
      return there.length === nodes * placesPerNode ? there : undefined;
    },
    { timeoutMs: 300_000, everyMs: 250 },
  );
  const onGold = pods.filter(({ spec }) => spec.nodeName?.startsWith('gold-'));
  const avoiding = onGold.filter(({ metadata }) => metadata.name.startsWith('avoids-')).length;
  return { onAWrongNode: avoiding, onAGoldenNode: onGold.length - avoiding };
}

/** Labels nodes a moment after they are seen. Returns the function that stops it. */
export function startLateLabeler({ api, coordinator }: PoolCluster): () => void {
  const timers = new Set<NodeJS.Timeout>();
  const stop = watchNodes(api, ({ type, object: { metadata } }) => {
    if (type !== 'ADDED' || metadata.labels?.[POOL] !== 'gold' || metadata.labels['tier'] !== undefined) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      // A node that is gone by now needs no label.
      coordinator.patch(`/api/v1/nodes/${metadata.name}`, { metadata: { labels: { tier: 'gold' } } }).catch(() => {});
    }, labelerMs);
    timers.add(timer);
  });
  return () => {
    stop();
    for (const timer of timers) clearTimeout(timer);
  };
}

/** Removes every pod and node. */
export async function clearStage({ api }: PoolCluster): Promise<void> {
  await api.delete(podsPath, { gracePeriodSeconds: 0 });
  await api.delete('/api/v1/nodes');
  await waitFor('nothing to be left', async () => (await api.list(podsPath)).length === 0);
}
