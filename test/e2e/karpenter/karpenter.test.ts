import { DO_NOT_DISRUPT, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPod, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { NODE_HOLDS } from '../holds/hold-stage.ts';
import { NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { KarpenterStage } from './karpenter-stage.ts';

// A real Karpenter, whose KWOK provider makes Nodes, and a real kube-scheduler.

const DRIVER = { app: 'driver' };

let stage: KarpenterStage;
beforeAll(async () => {
  stage = await KarpenterStage.start(['--startup-gate-requires=driver']);
  const pods = { namespace: 'default', selector: { matchLabels: DRIVER } };
  await stage.api.post(NODE_SERVICES, nodeService('driver', { checks: [{ name: 'pod', pods }] }));
});
afterAll(() => stage?.stop());

/** The pod of a DaemonSet, which a controller would make on a new node. */
async function startDriver(node: string): Promise<void> {
  const owners = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'driver', uid: 'x', controller: true }];
  const name = `driver-${node}`.slice(0, 60);
  await createPod(stage.api, { namespace: 'default', name, nodeName: node, labels: DRIVER, ready: true, owners });
}

const newNodes = async (known: readonly string[]) =>
  (await stage.api.list<NodeObject>('/api/v1/nodes')).filter(({ metadata }) => !known.includes(metadata.name));

/** A node that Karpenter has made for a pod, behind the gate. */
async function gatedNode(known: readonly string[]): Promise<string> {
  const find = async () => {
    const [node] = await newNodes(known);
    return node?.spec.taints?.some(({ key }) => key === STARTUP_TAINT) ? node.metadata.name : undefined;
  };
  const node = await waitFor('a node behind the gate', find, { timeoutMs: 90_000 }).catch(async (cause: unknown) => {
    throw new Error(`There was no node behind the gate; Karpenter said\n${await stage.log()}`, { cause });
  });
  return node ?? '';
}

test('a node is made for a pod, its gate is opened when the service is ready, and no second one is made', async () => {
  await stage.pod('first');
  const node = await gatedNode([]);
  const isRegistered = async () => (await stage.claimIs(node, 'Registered')) === 'True';
  await waitFor('the node to be registered', isRegistered, { timeoutMs: 30_000 });
  const { keys } = await (await stage.rig.leader()).explain(node);
  expect(keys.find(({ key }) => key === STARTUP_TAINT)).toMatchObject({ stance: 'keep' });
  expect(await stage.claimIs(node, 'Initialized')).not.toBe('True');
  await startDriver(node);
  expect(await stage.nodeOf('first')).toBe(node);
  const isInitialized = async () => (await stage.claimIs(node, 'Initialized')) === 'True';
  await waitFor('the node to be initialized', isInitialized, { timeoutMs: 30_000 });
  expect(await stage.taintsOf(node)).not.toContain(STARTUP_TAINT);
  expect(await newNodes([node])).toEqual([]);
  expect(await stage.claims()).toHaveLength(1);
}, 180_000);

test('a node with a held pod is not consolidated while the pod is ending, as others are, and is once it has ended', async () => {
  await stage.api.post(NODE_HOLDS, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeHold',
    metadata: { name: 'backup' },
    spec: { pods: { namespace: 'default', selector: { matchLabels: { backup: 'true' } } } },
  });
  const known = (await newNodes([])).map(({ metadata }) => metadata.name);
  const nodes: string[] = [];
  for (const [pod, labels] of [['held', { backup: 'true' }] as const, ['other', {}] as const]) {
    await stage.pod(pod, labels);
    const node = await gatedNode([...known, ...nodes]);
    await startDriver(node);
    expect(await stage.nodeOf(pod)).toBe(node);
    nodes.push(node);
  }
  const [held = '', other = ''] = nodes;
  await waitFor('the annotation', async () => {
    const { annotations = {} } = (await stage.api.get(`/api/v1/nodes/${held}`)).metadata;
    return annotations[DO_NOT_DISRUPT] === 'true';
  });
  // Karpenter treats a node on which all pods are terminating as empty.
  for (const pod of ['held', 'other']) await stage.beginToEnd(pod);
  await waitFor('the other node to be consolidated', () => stage.isGoing(other), { timeoutMs: 120_000 }).catch(
    async (cause: unknown) => {
      throw new Error(`It was not; Karpenter said\n${await stage.log()}`, { cause });
    },
  );
  // Nothing else keeps it: Karpenter would consolidate it as well, and goes over all empty nodes at once.
  expect(await stage.claimIs(held, 'Consolidatable')).toBe('True');
  expect(await stage.isGoing(held)).toBe(false);
  await stage.end('held');
  await waitFor('the node to be consolidated', () => stage.isGoing(held), { timeoutMs: 120_000 });
}, 400_000);
