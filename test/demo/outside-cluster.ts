import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileAccess, loadKubeConfig } from '@rollcall/coordinator/kube/kube-config.ts';
import { ApiClient, ApiError } from '../control-plane/api-client.ts';
import { removeDirOnExit } from '../control-plane/child.ts';
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
  const { api, close } = await connect(kubeconfig);
  await refuseWhereInstalled(api).catch((error: unknown) => {
    close();
    throw error;
  });
  screen.log(`using the cluster at ${api.url} (${kubeconfig}), not an embedded one`);
  screen.log(
    `it gets, until the end: the namespace ${ownNamespace} with roles of the same name, and five Nodes ${NODE_PREFIX}*`,
  );
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-outside-'));
  removeDirOnExit(dir);
  const kubeconfigFor = async (token: string) => {
    const path = join(dir, 'coordinator.kubeconfig');
    await writeFile(path, withToken(kubeconfig, token), { mode: 0o600 });
    return path;
  };
  const stop = async () => {
    await removeNodes(api);
    await removeAccess(api);
    await rm(dir, { recursive: true, force: true });
    close();
  };
  try {
    const { coordinatorKubeconfig } = await installAccess({ api, kubeconfigFor });
    return { api, coordinatorKubeconfig, kubectlPath: 'kubectl', kubeconfig: resolve(kubeconfig), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The cluster as the kubeconfig has it (CA, proxy, whether its certificate is verified), with another user. */
function withToken(kubeconfig: string, token: string): string {
  const config = loadKubeConfig({ kubeconfig, master: '' });
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${kubeconfig} names no cluster`);
  config.loadFromClusterAndUser(cluster, { name: 'coordinator', token });
  return config.exportConfig();
}

/** How often it is seen to that the token is one that counts; a plugin is asked when its own has expired. */
const RENEW_EVERY_MS = 30_000;

type Connection = { api: ApiClient; close: () => void };

/**
 * Connects by the kubeconfig's current context, in every way that kubectl supports, including credential plugins
 * (`exec`) such as the plugins of EKS, GKE and AKS.
 */
async function connect(path: string): Promise<Connection> {
  const access = fileAccess({ kubeconfig: path, master: '' });
  const ask = async () => (await access.options()) as RequestOptions & { headers: Record<string, string> };
  const { ca, cert, key, headers, rejectUnauthorized, servername } = await ask();
  const tokenIn = (header: string | undefined) => header?.replace(/^Bearer /, '');
  let token = tokenIn(headers['Authorization']);
  const renewing = setInterval(() => {
    ask().then(
      (options) => {
        token = tokenIn(options.headers['Authorization']);
      },
      // The token that is there may be good for a while.
      () => {},
    );
  }, RENEW_EVERY_MS);
  const api = new ApiClient({
    url: access.server,
    ca: String(ca ?? ''),
    verification: { rejectUnauthorized, servername },
    ...(token === undefined ? {} : { token: () => token ?? '' }),
    ...(cert && key ? { clientCert: { cert: String(cert), key: String(key) } } : {}),
  });
  const close = () => {
    clearInterval(renewing);
    api.close();
  };
  return { api, close };
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
