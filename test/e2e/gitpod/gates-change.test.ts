import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import {
  FACADE_TAINT,
  isOpen,
  type NodeState,
  NodeStates,
  taintKeys,
  WORKSPACE_NODE,
  WS_TAINT,
} from './node-states.ts';

type Gate = 'label' | 'taint' | 'both';
type Shown = { labels: readonly string[]; taints: readonly string[] };

const LABELS = [REGISTRY_FACADE_READY, WS_DAEMON_READY];
const TAINTS = [FACADE_TAINT, WS_TAINT];
const NOTHING: Shown = { labels: [], taints: [] };
const OPEN: Shown = { labels: LABELS, taints: [] };
const FOREIGN = { key: 'example.com/dedicated', value: 'db', effect: 'NoSchedule' } as const;

let embedded: EmbeddedRig;
let rig: Rig;
let states: NodeStates;
/** The expected state of every node, by gate. */
let expected: Record<Gate, Record<string, Shown>>;
beforeAll(async () => {
  // Two, so that the agents know both addresses; then one takes the place of the other.
  embedded = await startEmbeddedRig({ nodes: 1, coordinators: 2, coordinatorArgs: ['--stale-after-seconds=6'] });
  rig = embedded.rig;
  states = new NodeStates(embedded.controlPlane.api);
  await rig.addNode({ labels: WORKSPACE_NODE });
  const taints = [FOREIGN];
  await createNode(embedded.controlPlane.api, 'broken', { labels: WORKSPACE_NODE, taints });
  await createNode(embedded.controlPlane.api, 'bare', { taints });
  await rig.allReady();
  const leader = await rig.leader();
  for (const each of [...rig.coordinators]) if (each !== leader) await rig.endCoordinator(each, 'SIGTERM');
  const [plain, workspaces] = rig.nodes.map(({ name }) => name) as [string, string];
  const same = { [workspaces]: OPEN, bare: NOTHING };
  expected = {
    label: { ...same, [plain]: OPEN, broken: NOTHING },
    taint: { ...same, [plain]: NOTHING, broken: { labels: LABELS, taints: TAINTS } },
    both: { ...same, [plain]: OPEN, broken: { labels: [], taints: TAINTS } },
  };
});
afterAll(async () => {
  states?.stop();
  await embedded?.stop();
});

function shown(state: NodeState): Shown {
  return {
    labels: LABELS.filter((key) => state.labels[key] === 'true'),
    taints: TAINTS.filter((key) => taintKeys(state).includes(key)),
  };
}

async function untilAllShow(gate: Gate): Promise<void> {
  for (const [name, wanted] of Object.entries(expected[gate])) {
    await states.until(name, `to show ${JSON.stringify(wanted)}`, (state) => {
      return JSON.stringify(shown(state)) === JSON.stringify(wanted);
    });
    const others = states.last(name)?.taints.filter(({ key }) => !TAINTS.includes(key));
    expect(others).toEqual(name === 'bare' || name === 'broken' ? [FOREIGN] : []);
  }
}

/** Another coordinator takes over from the one that leads, and hears all agents. */
async function succeed(...args: string[]): Promise<Coordinator> {
  const old = await rig.leader();
  const next = await rig.addCoordinator(args);
  await next.ready();
  await rig.endCoordinator(old, 'SIGTERM');
  expect(await rig.leader()).toBe(next);
  const heard = () => next.metric('rollcall_coordinator_reports_total', { result: 'full' });
  await waitFor('all agents', async () => (await heard()) >= rig.nodes.length, { timeoutMs: 20_000 });
  return next;
}

test('a dry run writes no taint, and says that it would', async () => {
  await untilAllShow('label');
  const patches = await embedded.nodePatches();
  const dry = await succeed('--readiness-gate=taint', '--dry-run');
  const wouldWrite = () => dry.metric('rollcall_coordinator_patches_total', { kind: 'taints', outcome: 'dry-run' });
  await waitFor('a taint that was left out', async () => (await wouldWrite()) > 0);
  expect((await dry.explain('broken')).pending?.taints?.add).toHaveLength(2);
  expect(await embedded.nodePatches()).toBe(patches);
  await untilAllShow('label');
});

describe.each(['taint', 'both', 'label'] as const)('a coordinator with the gate %s', (gate) => {
  test('finds what the gate before it left, and makes it its own without a flap', async () => {
    const [, { name: workspaces = '' } = {}] = rig.nodes;
    const marks = { workspaces: states.mark(workspaces), broken: states.mark('broken') };
    await succeed(`--readiness-gate=${gate}`);
    await untilAllShow(gate);
    for (const service of ['ws-daemon', 'registry-facade'] as const) {
      expect(marks.workspaces().every((state) => isOpen(state, service))).toBe(true);
      expect(marks.broken().some((state) => isOpen(state, service))).toBe(false);
    }
  });

  test('writes nothing when another with the same gate takes over', async () => {
    const patches = await embedded.nodePatches();
    const next = await succeed(`--readiness-gate=${gate}`);
    for (const name of Object.keys(expected[gate])) {
      await expect.poll(async () => (await next.explain(name)).pending).toBeUndefined();
    }
    expect(await embedded.nodePatches()).toBe(patches);
    await untilAllShow(gate);
  });
});

test('pruning removes labels and taints alike, and nothing of others', async () => {
  await untilAllShow('label');
  const taints = [WS_TAINT, FOREIGN.key, FACADE_TAINT].map((key) => ({ ...FOREIGN, key }));
  await embedded.controlPlane.api.patch('/api/v1/nodes/broken', { spec: { taints } });
  await states.until('broken', 'to have taints of ours again', (state) => shown(state).taints.length === 2);
  await rig.prune();
  for (const name of Object.keys(expected.label)) {
    const state = await states.until(
      name,
      'to be clean',
      (each) => JSON.stringify(shown(each)) === JSON.stringify(NOTHING),
    );
    expect(state.taints).toEqual(name === 'bare' || name === 'broken' ? [FOREIGN] : []);
  }
  const nodes = await embedded.controlPlane.kubectl(['get', 'nodes', '-o', 'json', '--show-managed-fields']);
  expect(nodes).not.toMatch(/"f:gitpod.io\/(ws-daemon|registry-facade)_ready/);
});
