// A node whose pods cannot reach the API server by its Service keeps the taint of the service, and so gets no pods;
// where most nodes cannot, the check is unknown on all of them, what is published stays, and an Event names the fault.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { openTcpLink, type TcpLink } from '../kube/tcp-link.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// Started on first use: a rig, four agents, and one more.
vi.setConfig({ testTimeout: 60_000 });

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const GUARDED = 'rollcall_coordinator_guarded_nodes';
const LABEL = 'example.com/network';
const TAINT = 'example.com/no-network';
/** One period, one time-out, and 2 s. */
const COUNTED_MS = 3200;

/** `datapath`: the way of its pods to the Service of the API server. */
type NetworkedNode = { name: string; datapath: TcpLink };

let embedded: EmbeddedRig;
const nodes: NetworkedNode[] = [];

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`, '--gitpod=false'],
    nodes: 0,
  });
  await embedded.controlPlane.api.post(
    NODE_SERVICES,
    nodeService('network', {
      checks: [{ name: 'api', kubernetesService: {}, period: '700ms', timeout: '500ms', failureThreshold: 1 }],
      publish: { label: LABEL, taint: { key: TAINT, effect: 'NoSchedule' } },
    }),
  );
  await Promise.all([0, 1, 2, 3].map(() => addNode()));
  for (const { name } of nodes) await embedded.rig.history.until(name, LABEL, 'true');
});

afterAll(async () => {
  await embedded?.stop();
  await Promise.all(nodes.map(({ datapath }) => datapath.close()));
});

/** A node whose agent is in the pod network, as it would be told by its kubelet. */
async function addNode({ broken = false } = {}): Promise<NetworkedNode> {
  const datapath = await openTcpLink(embedded.controlPlane.url);
  if (broken) datapath.block();
  const { name } = await embedded.rig.addNode({
    agentArgs: ['--host-ip=198.51.100.1'],
    agentProcess: {
      env: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: new URL(datapath.url).port },
    },
  });
  const node = { name, datapath };
  nodes.push(node);
  return node;
}

async function taints(node: string): Promise<string[]> {
  const { spec } = (await embedded.controlPlane.api.get(`/api/v1/nodes/${node}`)) as unknown as {
    spec: { taints?: { key: string }[] };
  };
  return (spec.taints ?? []).map(({ key }) => key);
}

const labelIs = (node: string, value: string | undefined) => embedded.rig.history.until(node, LABEL, value);

async function eventOf(reason: string): Promise<string | undefined> {
  const events = await embedded.controlPlane.api.list<KubeObject & Record<'reason' | 'message', string>>(
    '/api/v1/events',
  );
  return events.find((event) => event.reason === reason)?.message;
}

test('a node on which pods do not reach the API server yet is kept free, although its network plugin is Ready', async () => {
  const { name, datapath } = await addNode({ broken: true });
  await waitFor('the taint', async () => (await taints(name)).includes(TAINT), { timeoutMs: 20_000 });
  expect(embedded.rig.history.labels(name)[LABEL]).toBeUndefined();
  const leader = await embedded.rig.leader();
  const reason = async () => (await leader.explain(name)).services[0]?.reason;
  await waitFor('the reason', async () => (await reason())?.includes('did not answer'), { timeoutMs: 20_000 });
  expect(await taints(name)).toContain(TAINT);
  datapath.unblock();
  await labelIs(name, 'true');
  await waitFor('no taint', async () => !(await taints(name)).includes(TAINT));
});

test('a node whose datapath breaks later is not ready, and the others are', async () => {
  const [node] = nodes;
  if (!node) throw new Error('There is no node');
  const { name, datapath } = node;
  const fromMs = performance.now();
  datapath.block();
  await labelIs(name, undefined);
  await waitFor('the taint', async () => (await taints(name)).includes(TAINT));
  datapath.unblock();
  await labelIs(name, 'true');
  expect(embedded.rig.history.since(fromMs, LABEL).filter((change) => change.node !== name)).toEqual([]);
});

test('what breaks on most nodes at once is held against none, and told', async () => {
  const fromMs = performance.now();
  const broken = nodes.slice(0, 3);
  for (const { datapath } of broken) datapath.block();
  const leader = await embedded.rig.leader();
  await waitFor('the guard', async () => (await leader.metric(GUARDED, { subject: 'target' })) === 3, {
    timeoutMs: 20_000,
  });
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS * 2));
  expect(embedded.rig.history.since(fromMs, LABEL)).toEqual([]);
  for (const { name } of broken) {
    expect(await taints(name)).not.toContain(TAINT);
    expect((await leader.explain(name)).services[0]?.reason).toContain('(guard: target)');
  }
  expect(await waitFor('the Event', () => eventOf('GuardActive'))).toContain('network/api fails on most nodes');
  for (const { datapath } of broken) datapath.unblock();
  await waitFor('the end of the guard', () => eventOf('GuardCleared'), { timeoutMs: 20_000 });
  expect(embedded.rig.history.since(fromMs, LABEL)).toEqual([]);
});
