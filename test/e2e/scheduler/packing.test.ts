import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, type PodObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';

// A real kube-scheduler with deploy/scheduler/packing.yaml, and a coordinator that it does not ask.

const PODS = '/api/v1/namespaces/default/pods';
const PACKING = path.resolve(import.meta.dirname, '../../../deploy/scheduler/packing.yaml');

let cluster: EmbeddedCluster;
let rig: Rig;
beforeAll(async () => {
  cluster = await embeddedCluster({}, { scheduler: { configYaml: await readFile(PACKING, 'utf8') } });
  rig = await Rig.start({ cluster, nodes: 3 });
  await rig.allReady();
  await createNode(cluster.api, 'bare');
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
});

/** Needs ws-daemon, by its label, and 5 of the 16 CPUs of a node. */
async function pod(name: string): Promise<void> {
  const matchExpressions = [{ key: rig.readyLabel('ws-daemon'), operator: 'Exists' }];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  const spec = {
    schedulerName: 'packing-scheduler',
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
    containers: [{ name: 'main', image: 'none', resources: { requests: { cpu: '5', memory: '64Mi' } } }],
  };
  await createPod(cluster.api, { namespace: 'default', name, spec });
}

async function nodeOf(name: string): Promise<string> {
  const read = async () => (await cluster.api.get<PodObject>(`${PODS}/${name}`)).spec.nodeName;
  return (await waitFor(`${name} to have a node`, read, { timeoutMs: 20_000, everyMs: 10 })) ?? '';
}

test('pods fill one ready node after the other, and wait for one that is ready', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `pod-${index}`);
  const nodes: string[] = [];
  for (const name of names) {
    await pod(name);
    nodes.push(await nodeOf(name));
  }
  const [first, , , second] = nodes;
  expect(nodes).toEqual([first, first, first, second, second, second]);
  expect(nodes).not.toContain('bare');
  const third = rig.nodes.find(({ name }) => !nodes.includes(name));
  await third?.kill('ws-daemon');
  await rig.history.until(third?.name ?? '', rig.readyLabel('ws-daemon'), undefined);
  await pod('late');
  const isRefused = async () => {
    const { status } = await cluster.api.get<PodObject>(`${PODS}/late`);
    return status.conditions?.some(({ type, status: value }) => type === 'PodScheduled' && value === 'False');
  };
  await waitFor('the pod to be refused', isRefused, { timeoutMs: 20_000 });
  await third?.revive('ws-daemon');
  expect(await nodeOf('late')).toBe(third?.name);
});
