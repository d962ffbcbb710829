import { type NodeObject, removeNotReadyTaint, setNodeReady, setPodReady } from '../control-plane/cluster.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { BETA, GAMMA, NODE_POOL_LABEL_SETS, NODE_SERVICES, poolLabelSet } from './objects.ts';
import { createAlpha, PATIENCE_MS, type Run } from './run.ts';
import type { Scenario, Step } from './scenario.ts';

const BETA_READY = 'service.rollcall.dev/beta=true';
const ALPHA_READY = ['condition service.rollcall.dev/Alpha=True', 'service.rollcall.dev/alpha=true'];
const ALPHA_DOWN = ['condition service.rollcall.dev/Alpha=False', 'taint readiness.k8s.io/alpha:NoSchedule'];
const POOL = ['team=media', 'tier=gold'];

const READY = [...ALPHA_READY, BETA_READY, ...POOL];
const DOWN = [...ALPHA_DOWN, BETA_READY, ...POOL];
const ALL_READY = { a: READY, b: READY };

/** Two nodes of a pool, on which both services are ready. */
async function createObjects({ api }: Run): Promise<void> {
  await createAlpha(api);
  await api.post(NODE_SERVICES, BETA);
  await api.post(NODE_POOL_LABEL_SETS, poolLabelSet('blue', { team: 'media', tier: 'gold' }));
}

async function createAll(run: Run): Promise<void> {
  await createObjects(run);
  for (const node of ['a', 'b']) {
    await run.addNode(node);
    await run.populate(node);
  }
}

const SETTLED: Step = {
  name: 'all is ready',
  act: async (run) => {
    await createAll(run);
    await run.start('coordinator-1');
  },
  ours: ALL_READY,
};

async function isInPool({ api }: Run, node: string): Promise<boolean> {
  const { metadata } = await api.get(`/api/v1/nodes/${node}`);
  return metadata.labels?.['tier'] === 'gold';
}

async function isTainted({ api }: Run, node: string): Promise<boolean> {
  const { spec } = await api.get<NodeObject>(`/api/v1/nodes/${node}`);
  return spec.taints?.some(({ key }) => key === 'readiness.k8s.io/alpha') === true;
}

async function replacePod(run: Run, node: string): Promise<void> {
  await run.removePod(`alpha-${node}`);
  await run.addPod(`alpha-${node}`, node, { ready: false });
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'start',
    setup: { name: 'there is no leader', act: createAll, ours: both([]), unled: true },
    steps: [{ name: 'a coordinator starts', act: (run) => run.start('coordinator-1'), ours: ALL_READY }],
  },
  {
    name: 'service',
    setup: SETTLED,
    steps: [
      {
        name: 'a service dies',
        act: async (run) => run.agents.get('a')?.see('alpha', false),
        ours: { a: DOWN, b: READY },
      },
      { name: 'it returns', act: async (run) => run.agents.get('a')?.see('alpha', true), ours: ALL_READY },
    ],
  },
  {
    name: 'pool',
    setup: SETTLED,
    steps: [
      {
        name: 'labels of a pool change',
        act: ({ api }) => {
          const labels = { team: null, tier: 'silver', zone: 'north' };
          return api.patch(`${NODE_POOL_LABEL_SETS}/blue`, { spec: { labels } });
        },
        ours: both([...ALPHA_READY, BETA_READY, 'tier=silver', 'zone=north']),
      },
    ],
  },
  {
    name: 'delete',
    setup: SETTLED,
    steps: [
      {
        name: 'a NodeService is deleted',
        act: ({ api }) => api.delete(`${NODE_SERVICES}/alpha`),
        ours: both([BETA_READY, ...POOL]),
      },
    ],
  },
  {
    name: 'rolling-update',
    setup: SETTLED,
    steps: [
      { name: 'the pod on a is replaced', act: (run) => replacePod(run, 'a'), ours: { a: DOWN, b: READY } },
      {
        name: 'the next on a is ready, and that on b is replaced',
        act: async (run) => {
          await setPodReady(run.api, 'default', 'alpha-a', true);
          await replacePod(run, 'b');
        },
        ours: { a: READY, b: DOWN },
      },
      {
        name: 'the next on b is ready',
        act: ({ api }) => setPodReady(api, 'default', 'alpha-b', true),
        ours: ALL_READY,
      },
    ],
  },
  {
    name: 'failover',
    setup: {
      name: 'one leads, and one stands by',
      act: async (run) => {
        await SETTLED.act(run);
        await run.led();
        const standby = await run.start('coordinator-2');
        await standby.ready();
      },
      ours: ALL_READY,
    },
    steps: [
      {
        name: 'the leader dies, and a service with it',
        act: async (run) => {
          await run.end('coordinator-1', 'SIGKILL');
          run.agents.get('b')?.see('alpha', false);
          await run.start('coordinator-1');
        },
        ours: { a: READY, b: DOWN },
      },
      {
        name: 'the next is told to leave',
        act: async (run) => {
          run.agents.get('b')?.see('alpha', true);
          await run.end('coordinator-2', 'SIGTERM');
        },
        ours: ALL_READY,
      },
    ],
  },
  {
    name: 'uninstall',
    setup: SETTLED,
    steps: [
      {
        name: 'the coordinator is told to leave',
        act: (run) => run.end('coordinator-1', 'SIGTERM'),
        ours: ALL_READY,
        unled: true,
      },
      { name: 'everything is pruned', act: (run) => run.prune(), ours: both([]), unled: true },
    ],
  },
  {
    name: 'refused',
    setup: SETTLED,
    steps: [
      {
        name: 'a NodeService is created whose pods on one node do not tolerate its taint',
        act: async (run) => {
          await run.addPod('gamma-a', 'a', { app: 'gamma', tolerations: [], ready: false });
          await run.api.post(NODE_SERVICES, GAMMA);
        },
        ours: ALL_READY,
      },
      { name: 'it is deleted', act: ({ api }) => api.delete(`${NODE_SERVICES}/gamma`), ours: ALL_READY },
    ],
  },
  {
    name: 'recreate',
    hasNewNodes: true,
    setup: SETTLED,
    steps: [
      { name: 'a node goes', act: (run) => run.removeNode('a'), ours: { b: READY } },
      {
        name: 'it comes back as another',
        act: async (run) => {
          await run.addNode('a', { ready: false });
          // The writer that changed the list of taints last owns it: here always the one that removes the API server's taint.
          await waitFor('its taint', () => isTainted(run, 'a'), { timeoutMs: PATIENCE_MS });
          await removeNotReadyTaint(run.api, await run.api.get<NodeObject>('/api/v1/nodes/a'));
          await setNodeReady(run.api, 'a', true);
          // Which of the two comes first would decide how often the Node is written.
          await waitFor('the labels of its pool', () => isInPool(run, 'a'), { timeoutMs: PATIENCE_MS });
          await run.startAgent('a');
        },
        ours: { a: DOWN, b: READY },
      },
      { name: 'the pod of its service comes', act: (run) => run.addPod('alpha-a', 'a'), ours: ALL_READY },
    ],
  },
];

function both(ours: readonly string[]): Record<string, readonly string[]> {
  return { a: ours, b: ours };
}
