import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { startStandIn } from '../../stand-ins/stand-in.ts';
import { reportCondition, taintsOf } from '../incidents/monitor.ts';
import { ConditionHistory } from './condition-history.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const STALE_AFTER_SECONDS = 3;
const TPU = 'device.rollcall.dev/edgetpu';
const SLICES = '/apis/resource.k8s.io/v1/resourceslices';
const APP = { app: 'daemon' };

let embedded: EmbeddedRig;
let api: ApiClient;
let history: ConditionHistory;
let host: Host;
let rules: string;
/** A node with an agent and an accelerator. */
let node: SimulatedNode;

beforeAll(async () => {
  host = await unpackHost('coral-usb');
  rules = await mkdtemp(path.join(tmpdir(), 'rollcall-label-dir-'));
  await writeFile(path.join(rules, 'no-tpu'), `!${TPU}\n`);
  await writeFile(path.join(rules, 'zoned'), 'example.com/zone\n');
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES, labelPrefixes: ['no-tpu', 'zoned'] },
    coordinatorArgs: [
      `--services-allowed-prefixes=${PREFIXES}`,
      '--gitpod=false',
      `--stale-after-seconds=${STALE_AFTER_SECONDS}`,
      '--startup-gate-requires=behind-tpu',
      `--label-dir=${rules}`,
    ],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  history = new ConditionHistory(api);
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
  // Where all are silent, a guard keeps that from being held against any.
  for (let more = 0; more < 2; more += 1) await embedded.rig.addNode();
  await embedded.rig.history.until(node.name, TPU, 'true');
});

afterAll(async () => {
  history?.stop();
  await embedded?.stop();
  await host?.remove();
  if (rules) await rm(rules, { recursive: true });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const keysOf = (name: string) => ({ label: `example.com/${name}`, condition: `example.com/${name}-ready` });
const create = (name: string, spec: object) =>
  api.post(NODE_SERVICES, nodeService(name, { publish: keysOf(name), ...spec }));
const patchSpec = (name: string, spec: object) =>
  api.patch(`${NODE_SERVICES}/${name}`, { spec }, 'application/merge-patch+json');
const labelled = (on: string, name: string, value: string | undefined) =>
  embedded.rig.history.until(on, keysOf(name).label, value, 30_000);
const says = (on: string, name: string, status: string) => history.until(on, keysOf(name).condition, status);
const reasonOf = (on: string, name: string) => history.of(on, keysOf(name).condition)?.reason;
const podsCheck = (name = 'pod', labels: Record<string, string> = APP) => ({
  name,
  pods: { namespace: 'default', selector: { matchLabels: labels } },
});

async function nodeWithPod(name: string): Promise<NodeObject> {
  const created = await createNode(api, name);
  await createPod(api, { namespace: 'default', name: `daemon-${name}`, nodeName: name, labels: APP, ready: true });
  return created;
}

test('a writer that restarts the time of a condition, without another status, changes nothing', async () => {
  const finding = { type: 'KernelHealthy', status: 'True', reason: 'Seen', message: 'well' } as const;
  for (const name of ['kernel-1', 'kernel-2', 'kernel-3']) {
    await createNode(api, name);
    await reportCondition(api, name, finding);
  }
  const nodeSelector = {
    matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['kernel-1', 'kernel-2', 'kernel-3'] }],
  };
  await create('kernel', {
    nodeSelector,
    checks: [{ name: 'kernel', condition: { type: 'KernelHealthy', for: '4s' } }],
  });
  await labelled('kernel-1', 'kernel', 'true');
  await labelled('kernel-3', 'kernel', 'true');
  await pause(1100);
  const fromMs = performance.now();
  for (const name of ['kernel-1', 'kernel-2', 'kernel-3']) await reportCondition(api, name, finding);
  await pause(2000);
  expect(embedded.rig.history.since(fromMs, keysOf('kernel').label)).toEqual([]);
  expect(history.since(fromMs, keysOf('kernel').condition)).toEqual([]);
});

test('a device counts only while an agent is heard; its label stays', async () => {
  await create('tpu', {
    nodeSelector: { matchLabels: { [TPU]: 'true' } },
    checks: [{ name: 'tpu', device: { name: 'edgetpu' } }],
  });
  await labelled(node.name, 'tpu', 'true');
  await node.agent?.kill('SIGKILL');
  await says(node.name, 'tpu', 'Unknown');
  await labelled(node.name, 'tpu', undefined);
  await api.delete(`/api/v1/namespaces/rollcall/pods/${node.agentPod?.name}`, { gracePeriodSeconds: 0 });
  await pause(1000);
  expect(history.of(node.name, keysOf('tpu').condition)?.status).toBe('Unknown');
  expect(embedded.rig.history.labels(node.name)[TPU]).toBe('true');
});

describe('on a new node that no agent has spoken for', () => {
  test('a rule does not take what an agent has not said for absent, nor does the gate open', async () => {
    await create('behind-tpu', {
      nodeSelector: { matchLabels: { [TPU]: 'true' } },
      checks: [{ name: 'never', csiNode: { driver: 'none' } }],
    });
    await waitFor('the service', async () => (await conditionOf(api, 'behind-tpu', 'Ready')).startsWith('True'));
    await createNode(api, 'unspoken', { taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' }] });
    await pause(STALE_AFTER_SECONDS * 1000 + 3000);
    expect(embedded.rig.history.labels('unspoken')['no-tpu']).toBeUndefined();
    expect(await taintsOf(api, 'unspoken')).toEqual([`${STARTUP_TAINT}:NoSchedule`]);
    const told = await embedded.rig.addNode();
    await embedded.rig.history.until(told.name, 'no-tpu', 'true');
    expect(embedded.rig.history.labels(node.name)['no-tpu']).toBeUndefined();
  });

  test('the gate opens once the agent has said that the service is not for the node', async () => {
    const name = `node-${embedded.rig.nodes.length + 1}`;
    await embedded.rig.addNode();
    await api.patch(
      `/api/v1/nodes/${name}`,
      { spec: { taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' }] } },
      'application/merge-patch+json',
    );
    await waitFor('the end of the taint', async () => (await taintsOf(api, name)).length === 0);
  });
});

test('a probe of the node itself is made although the pods that another check may replace are not there', async () => {
  const other = embedded.rig.node(1);
  const http = await startStandIn('http-service', { host: other.address });
  try {
    await api.patch(
      `/api/v1/nodes/${other.name}`,
      { metadata: { labels: { mirror: 'a' } } },
      'application/merge-patch+json',
    );
    await reportCondition(api, other.name, { type: 'MirrorSeen', status: 'True', reason: 'Seen', message: '' });
    await create('mirror', {
      nodeSelector: { matchLabels: { mirror: 'a' } },
      checks: [
        {
          name: 'any',
          anyOf: [podsCheck('pod', { app: 'nowhere' }), { name: 'seen', condition: { type: 'MirrorSeen' } }],
        },
        { name: 'port', tcp: { port: http.port, host: 'Node' }, period: '200ms' },
      ],
    });
    await labelled(other.name, 'mirror', 'true');
    await http.kill('SIGKILL');
    await says(other.name, 'mirror', 'False');
    expect(reasonOf(other.name, 'mirror')).toBe('ServiceNotReady');
  } finally {
    await http.stop();
  }
});

describe('a startup deadline', () => {
  test('that is set later makes no node late that was ready before', async () => {
    await nodeWithPod('was-ready');
    await createNode(api, 'never-ready');
    const nodeSelector = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['was-ready', 'never-ready'] }],
    };
    await create('late', { nodeSelector, checks: [podsCheck()] });
    await says('was-ready', 'late', 'True');
    await setPodReady(api, 'default', 'daemon-was-ready', false);
    await says('was-ready', 'late', 'False');
    // The memory is on the Node: another leader has it, too.
    await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGKILL');
    await embedded.rig.addCoordinator();
    await patchSpec('late', { startupDeadline: '1s' });
    await waitFor('the late node', () => reasonOf('never-ready', 'late') === 'StartupDeadlineExceeded', {
      timeoutMs: 60_000,
    });
    expect(reasonOf('was-ready', 'late')).toBe('ServiceNotReady');
  });

  test('is exceeded on a node to which no agent ever came', async () => {
    await createNode(api, 'agentless');
    const nodeSelector = { matchLabels: { 'kubernetes.io/hostname': 'agentless' } };
    await create('unasked', { nodeSelector, startupDeadline: '5s', checks: [{ name: 'port', tcp: { port: 1 } }] });
    await says('agentless', 'unasked', 'False');
    expect(reasonOf('agentless', 'unasked')).toBe('StartupDeadlineExceeded');
  });
});

test('a service of mode Startup that is edited says with which generation it was ready', async () => {
  await nodeWithPod('starting');
  const nodeSelector = { matchLabels: { 'kubernetes.io/hostname': 'starting' } };
  await create('starting', { nodeSelector, mode: 'Startup', checks: [podsCheck()] });
  await labelled('starting', 'starting', 'true');
  await patchSpec('starting', { checks: [{ name: 'never', csiNode: { driver: 'none' } }] });
  const reason = async () => {
    const { services } = await (await embedded.rig.leader()).explain('starting');
    return services.find(({ name }) => name === 'starting')?.reason ?? '';
  };
  await waitFor('the reason', async () =>
    (await reason()).endsWith('with generation 1, and generation 2 was not checked there'),
  );
  expect(embedded.rig.history.labels('starting')[keysOf('starting').label]).toBe('true');
  const { metadata } = await api.get<NodeObject>('/api/v1/nodes/starting');
  const note = JSON.parse(metadata.annotations?.['rollcall.dev/services-started'] ?? '{}');
  expect(Object.values(note.services)).toEqual([expect.stringMatching(/:1$/)]);
});

test('two checks of pods and a port without a name are refused with the names', async () => {
  const checks = [podsCheck('a'), podsCheck('b', { app: 'b' }), { name: 'port', tcp: { port: 80 } }];
  await create('unclear', { checks });
  await waitFor('the refusal', async () => (await conditionOf(api, 'unclear', 'Ready')).startsWith('False'));
  expect(await conditionOf(api, 'unclear', 'Ready')).toBe(
    'False UnclearPods: The check port does not say which pods it asks, and there are 2 checks of pods: set "of" to a or b',
  );
  await patchSpec('unclear', { checks: [...checks.slice(0, 2), { name: 'port', of: 'b', tcp: { port: 80 } }] });
  await waitFor('it to be in force', async () => (await conditionOf(api, 'unclear', 'Ready')).startsWith('True'));
});

test('a rule that no NodeFeature can decide is a problem, and its label goes', async () => {
  await createNode(api, 'zoned', { labels: { 'example.com/zone': 'a' } });
  await embedded.rig.history.until('zoned', 'zoned', 'true');
  await writeFile(path.join(rules, 'zoned'), 'nfd:pci.device.device = 09c4\n');
  await embedded.rig.history.until('zoned', 'zoned', undefined);
  const leader = await embedded.rig.leader();
  const { problems } = (await leader.console<{ problems: { problem: string }[] }>('/v1/rules')) ?? { problems: [] };
  expect(problems.map(({ problem }) => problem)).toEqual([
    expect.stringContaining('NFD lists pci.device as instances'),
  ]);
});

test('a ResourceSlice that an earlier Node of the name owns does not count', async () => {
  const { metadata } = await createNode(api, 'sliced');
  const nodeSelector = { matchLabels: { 'kubernetes.io/hostname': 'sliced' } };
  const slice = (name: string, uid: string) => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'sliced', uid, controller: true }] },
    spec: {
      driver: 'gpu.example.com',
      nodeName: 'sliced',
      pool: { name: name, generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'gpu-0' }],
    },
  });
  await api.post(SLICES, slice('old', '00000000-0000-0000-0000-000000000000'));
  await create('offered', { nodeSelector, checks: [{ name: 'gpus', dra: { driver: 'gpu.example.com' } }] });
  await says('sliced', 'offered', 'False');
  await api.post(SLICES, slice('new', metadata.uid ?? ''));
  await says('sliced', 'offered', 'True');
});
