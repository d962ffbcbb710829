import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, type PodObject } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { WORKSPACE_NODE } from '../gitpod/node-states.ts';

// A step of packages/docs/how-to/migrate.md: a kube-scheduler that was configured for Gitpod's scheduler-extender asks
// the coordinator, and nothing but the address is changed. What it asks afterwards is tested in ../scheduler.

const PODS = '/api/v1/namespaces/default/pods';

/** The relevant part of the configuration of Gitpod's extender: whole Nodes are sent, and no failure is ignored. */
const config = (port: number) => `profiles:
  - schedulerName: gitpod-scheduler
    plugins:
      score:
        disabled:
          - name: NodeResourcesBalancedAllocation
extenders:
  - urlPrefix: http://127.0.0.1:${port}/scheduler
    filterVerb: predicates/gitpod
    weight: 1
    enableHTTPS: false
    nodeCacheCapable: false
`;

let cluster: EmbeddedCluster;
let rig: Rig;
beforeAll(async () => {
  const port = await freePort();
  cluster = await embeddedCluster({}, { scheduler: { configYaml: config(port) } });
  rig = await Rig.start({ cluster, nodes: 0, coordinatorArgs: [`--scheduler-listen=127.0.0.1:${port}`] });
  for (let index = 0; index < 2; index += 1) await rig.addNode({ labels: WORKSPACE_NODE });
  await rig.allReady();
  await createNode(cluster.api, 'bare', { labels: WORKSPACE_NODE });
  await createNode(cluster.api, 'plain', {});
});
afterAll(async () => {
  await rig?.stop();
  await cluster?.stop();
});

async function pod(name: string, labels: Record<string, string>, spec: object = {}): Promise<void> {
  const fields = { schedulerName: 'gitpod-scheduler', ...spec };
  await createPod(cluster.api, { namespace: 'default', name, labels, spec: fields });
}

const read = (name: string) => cluster.api.get<PodObject>(`${PODS}/${name}`);

const WORKSPACE = { component: 'workspace', workspaceType: 'regular' };
const onPlain = { nodeSelector: { 'kubernetes.io/hostname': 'plain' } };

test('workspaces go only to nodes with the labels, and other pods anywhere', async () => {
  const names = ['ws-1', 'ws-2', 'ws-3', 'ws-4'];
  for (const name of names) await pod(name, WORKSPACE);
  for (const name of names) {
    const node = await waitFor(`a node for ${name}`, async () => (await read(name)).spec.nodeName, {
      timeoutMs: 20_000,
    });
    expect(rig.nodes.map((each) => each.name)).toContain(node);
  }
  await pod('other', {}, onPlain);
  await waitFor('a node for another pod', async () => (await read('other')).spec.nodeName === 'plain');
});

test('a workspace that no node is for waits, and is told why', async () => {
  await pod('ws-plain', WORKSPACE, onPlain);
  const message = async () => JSON.stringify((await read('ws-plain')).status.conditions ?? []);
  await waitFor('the reason', async () => (await message()).includes('cannot schedule pod'), { timeoutMs: 20_000 });
});
