import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { createNode, createPod, createServiceAccount, setPodReady } from '../../control-plane/cluster.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { reportCondition } from '../incidents/monitor.ts';
import { applyNodeServiceCrd, NODE_SERVICES } from '../services/node-services.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../deploy/recipes');
const KERNEL = 'service.rollcall.dev/kernel';
const NPD = 'node-problem-detector';

type NodeService = KubeObject & { spec: { publish: { condition?: string; taint?: { key: string } } } };

const texts = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => readFileSync(path.join(FOLDER, file), 'utf8'));
const objects = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as NodeService));
const services = objects.filter(({ kind }) => kind === 'NodeService');
const others = objects.filter(({ kind }) => kind !== 'NodeService');

let embedded: EmbeddedRig;
let api: ApiClient;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: DEFAULT_SERVICE_PREFIXES },
    coordinatorArgs: [
      `--services-allowed-prefixes=${DEFAULT_SERVICE_PREFIXES}`,
      '--gitpod=false',
      '--stale-after-seconds=3',
    ],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  await createServiceAccount(api, 'kube-system', 'default');
  for (const name of ['first', 'second', 'third']) {
    await createNode(api, name);
    await find(name, 'False');
    const pod = { namespace: 'kube-system', name: `${NPD}-${name}`, labels: { app: NPD }, nodeName: name };
    await createPod(api, { ...pod, ready: true });
  }
});
afterAll(() => embedded?.stop());

/** Writes the condition as node-problem-detector does. */
const find = (node: string, status: 'True' | 'False') =>
  reportCondition(api, node, { type: 'KernelDeadlock', status, reason: 'TaskHung', message: 'task hung' });
const wait = (...args: string[]) => embedded.controlPlane.kubectl(['wait', '--timeout=30s', ...args]);

test('what a recipe says to another project, a NodeService of the recipes publishes', () => {
  const published = services.flatMap(({ spec: { publish } }) => [publish.condition, publish.taint?.key]);
  const asked = [...JSON.stringify(others).matchAll(/service\.rollcall\.dev\/[a-z-]+/g)].map(([type]) => type);
  expect(asked).toHaveLength(3);
  expect(asked.filter((type) => !published.includes(type))).toEqual([]);
  // Of the two taints, Karpenter's is ours to remove, and the other is written by the rule.
  expect(published).toContain('readiness.k8s.io/efs-csi');
  expect(published).not.toContain('readiness.k8s.io/ebs-csi');
});

test.each(services)('$metadata.name is in force, for which kubectl wait waits', async (service) => {
  await api.post(`${NODE_SERVICES}?fieldValidation=Strict`, service);
  await wait('--for=condition=Ready', `nodeservice/${service.metadata.name}`);
});

test('kubectl wait waits for a condition of a node, and for a service on all nodes', async () => {
  await wait(`--for=condition=${KERNEL}`, 'node', '--all');
  await wait('--for=condition=NodesReady', 'nodeservice/kernel');
  await find('first', 'True');
  await wait(`--for=condition=${KERNEL}=False`, 'node/first');
  await wait('--for=condition=NodesReady=False', 'nodeservice/kernel');
  await find('first', 'False');
  await wait(`--for=condition=${KERNEL}`, 'node/first');
});

test('a node on which node-problem-detector has died is Unknown, not False: no recipe replaces it', async () => {
  await setPodReady(api, 'kube-system', `${NPD}-second`, false);
  await wait(`--for=condition=${KERNEL}=Unknown`, 'node/second');
  const statuses = others.flatMap((object) =>
    [...JSON.stringify(object).matchAll(/"status":"(\w+)"/g)].map(([, status]) => status),
  );
  expect(statuses).toEqual(['False', 'False']);
});
