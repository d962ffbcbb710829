import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createPod, createServiceAccount, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { NODE_SERVICES } from '../services/node-services.ts';
import { KarpenterStage } from './karpenter-stage.ts';

// The recipe for Karpenter, with a real Karpenter, whose KWOK provider makes Nodes, and a real kube-scheduler.

const RECIPE = path.resolve(import.meta.dirname, '../../../deploy/recipes/karpenter.yaml');
const [service, pool] = parseAllDocuments(readFileSync(RECIPE, 'utf8')).map((document) => document.toJS()) as [
  KubeObject & { spec: { publish: { taint: { key: string } } } },
  { spec: { template: { spec: { startupTaints: { key: string }[] } } } },
];
const TAINT = service.spec.publish.taint.key;
let stage: KarpenterStage;
beforeAll(async () => {
  stage = await KarpenterStage.start(['--gitpod=false'], pool.spec.template.spec.startupTaints);
  await createServiceAccount(stage.api, 'kube-system', 'default');
  await stage.api.post(`${NODE_SERVICES}?fieldValidation=Strict`, service);
});
afterAll(() => stage?.stop());

const nodes = () => stage.api.list<NodeObject>('/api/v1/nodes');

test('a node begins with the taint, no second one is made while it waits, and it is initialized when the driver serves', async () => {
  await stage.pod('first');
  const found = waitFor('a node', async () => (await nodes())[0]?.metadata.name, { timeoutMs: 90_000 });
  const node = (await found.catch(async (cause: unknown) => {
    throw new Error(`There was no node; Karpenter said\n${await stage.log()}`, { cause });
  })) as string;
  const isRegistered = async () => (await stage.claimIs(node, 'Registered')) === 'True';
  await waitFor('the node to be registered', isRegistered, { timeoutMs: 30_000 });
  expect(await stage.taintsOf(node)).toContain(TAINT);
  // The second pod shows that Karpenter has looked again meanwhile.
  await stage.pod('second');
  await waitFor('a node for the second pod', async () => (await nodes()).length === 2, { timeoutMs: 90_000 });
  expect(await stage.claims()).toHaveLength(2);
  expect(await stage.claimIs(node, 'Initialized')).not.toBe('True');
  for (const { metadata } of await nodes())
    await createPod(stage.api, {
      namespace: 'kube-system',
      name: `efs-${metadata.name}`.slice(0, 60),
      nodeName: metadata.name,
      labels: { app: 'efs-csi-node' },
      ready: true,
      spec: { tolerations: [{ operator: 'Exists' }] },
    });
  const isInitialized = async () => (await stage.claimIs(node, 'Initialized')) === 'True';
  await waitFor('the node to be initialized', isInitialized, { timeoutMs: 60_000 });
  expect(await stage.taintsOf(node)).not.toContain(TAINT);
  expect(await stage.nodeOf('first')).toBeTruthy();
  expect(await stage.claims()).toHaveLength(2);
}, 300_000);
