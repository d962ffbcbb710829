import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { ApiClient, ApiError } from '../control-plane/api-client.ts';
import { removeDirOnExit } from '../control-plane/child.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { installAccess, ownNamespace, removeAccess } from '../control-plane/rbac.ts';
import type { RigCluster } from '../rig/cluster.ts';
import type { Screen } from './screen.ts';

/** Prefix of the Nodes that the demo creates in a cluster that is not its own. */
export const NODE_PREFIX = 'rollcall-demo-';

/**
 * The cluster of a kubeconfig. Says what it will write before it writes, refuses a cluster in which rollcall may
 * already run, and removes what it made when it is stopped.
 */
export async function outsideCluster(kubeconfig: string, screen: Screen): Promise<RigCluster> {
  const api = connect(kubeconfig);
  await refuseWhereInstalled(api);
  screen.log(`using the cluster at ${api.url} (${kubeconfig}), not an embedded one`);
  screen.log(
    `it gets, until the end: the namespace ${ownNamespace} with roles of the same name, and five Nodes ${NODE_PREFIX}*`,
  );
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-outside-'));
  removeDirOnExit(dir);
  const kubeconfigFor = async (token: string) => {
    const path = join(dir, 'coordinator.kubeconfig');
    await writeKubeconfig(path, api.url, api.ca, { token });
    return path;
  };
  const stop = async () => {
    await removeNodes(api);
    await removeAccess(api);
    await rm(dir, { recursive: true, force: true });
    api.close();
  };
  try {
    const { coordinatorKubeconfig } = await installAccess({ api, kubeconfigFor });
    const lookAround = `kubectl --kubeconfig ${kubeconfig} get nodes --show-labels`;
    return { api, coordinatorKubeconfig, lookAround, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Connects as the kubeconfig's current context says, by token or client certificate; the demo can use no other way. */
function connect(path: string): ApiClient {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (!cluster || !user) throw new Error(`--kubeconfig: ${path} has no current context with a cluster and a user`);
  const cert = readPem(user.certData, user.certFile);
  const key = readPem(user.keyData, user.keyFile);
  if (!user.token && !(cert && key)) {
    throw new Error(`--kubeconfig: user ${user.name} has neither a token nor a client certificate`);
  }
  return new ApiClient({
    url: cluster.server,
    ca: readPem(cluster.caData, cluster.caFile) ?? '',
    ...(user.token ? { token: user.token } : {}),
    ...(cert && key ? { clientCert: { cert, key } } : {}),
  });
}

function readPem(base64: string | undefined, file: string | undefined): string | undefined {
  if (base64) return Buffer.from(base64, 'base64').toString();
  return file ? readFileSync(file, 'utf8') : undefined;
}

async function refuseWhereInstalled(api: ApiClient): Promise<void> {
  try {
    await api.get(`/api/v1/namespaces/${ownNamespace}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return;
    throw error;
  }
  throw new Error(
    `--kubeconfig: ${api.url} has a namespace ${ownNamespace} already; the demo does not interfere with it`,
  );
}

async function removeNodes(api: ApiClient): Promise<void> {
  for (const { metadata } of await api.list('/api/v1/nodes')) {
    if (!metadata.name.startsWith(NODE_PREFIX)) continue;
    await api.delete(`/api/v1/namespaces/${ownNamespace}/pods?fieldSelector=spec.nodeName%3D${metadata.name}`);
    await api.delete(`/api/v1/nodes/${metadata.name}`);
  }
}
