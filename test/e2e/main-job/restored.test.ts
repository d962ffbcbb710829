import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode, createPod, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// etcd is restored from a backup, and other writes overtake the versions that the coordinators know.

const LABEL = 'service.rollcall.dev/cache';

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 0, coordinators: 2 });
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'cache' } } };
  await embedded.controlPlane.api.post(NODE_SERVICES, nodeService('cache', { checks: [{ name: 'pod', pods }] }));
});
afterAll(() => embedded?.stop());

async function node(name: string, ready: boolean): Promise<void> {
  const { api } = embedded.controlPlane;
  await createNode(api, name);
  await createPod(api, { namespace: 'default', name, nodeName: name, ready, labels: { app: 'cache' } });
}

const setReady = (name: string, ready: boolean) => setPodReady(embedded.controlPlane.api, 'default', name, ready);
const labelled = (name: string, value: 'true' | undefined) => embedded.rig.history.until(name, LABEL, value, 30_000);

const dataDir = () => path.join(embedded.controlPlane.dir, 'etcd');
const backupDir = () => path.join(embedded.controlPlane.dir, 'backup');

/** Copies what etcd has on disk at one moment. */
async function backup(): Promise<void> {
  const { controlPlane } = embedded;
  await controlPlane.killEtcd('SIGSTOP');
  await cp(dataDir(), backupDir(), { recursive: true });
  await controlPlane.killEtcd('SIGCONT');
}

async function restore(): Promise<void> {
  const { controlPlane } = embedded;
  await controlPlane.killApiServer();
  await controlPlane.killEtcd();
  await rm(dataDir(), { recursive: true });
  await cp(backupDir(), dataDir(), { recursive: true });
  await controlPlane.restartEtcd();
  await controlPlane.restartApiServer();
}

async function leaseRenewed(): Promise<void> {
  const { api } = embedded.controlPlane;
  const versions = async () => {
    const leases = await api.list('/apis/coordination.k8s.io/v1/leases');
    return leases.map(({ metadata }) => metadata.resourceVersion).join();
  };
  const before = await versions();
  await waitFor('the Lease to be renewed', async () => (await versions()) !== before);
}

/** Each write is a version of the whole store. */
async function writeOthers(name: string, count: number): Promise<void> {
  const { api } = embedded.controlPlane;
  const all = '/api/v1/namespaces/default/configmaps';
  await api.post(all, { metadata: { name } });
  for (let written = 0; written < count; written += 1) {
    await api.patch(`${all}/${name}`, { data: { written: String(written) } });
  }
}

test('labels are right soon after etcd went back, also where nothing changes the Node', {
  timeout: 120_000,
}, async () => {
  await node('fell', true);
  await node('rose', false);
  await labelled('fell', 'true');
  await backup();
  // The Lease is what shows that the history went back: a backup is older than its last renewal.
  await leaseRenewed();
  await writeOthers('before', 200);
  await setReady('fell', false);
  await setReady('rose', true);
  await labelled('fell', undefined);
  await labelled('rose', 'true');
  await restore();
  // As kubelets do. A watch from a later version shows none of it.
  await setReady('fell', false);
  await setReady('rose', true);
  await writeOthers('after', 400);
  const { api } = embedded.controlPlane;
  const labels = async () => {
    const nodes = await Promise.all(['fell', 'rose'].map((name) => api.get(`/api/v1/nodes/${name}`)));
    return nodes.map(({ metadata }) => metadata.labels?.[LABEL]);
  };
  await expect.poll(labels, { timeout: 30_000 }).toEqual([undefined, 'true']);
});
