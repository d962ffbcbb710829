import { join } from 'node:path';
import { imageCacheDir } from '../../deploy/image/cached-input.ts';
import { find, renderObjects } from '../chart/render.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import { type NodeObject, removeNotReadyTaint } from '../control-plane/cluster.ts';
import { serverFilesIn } from '../control-plane/component-args.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { installAccess } from '../control-plane/rbac.ts';
import { applyNodeServiceCrd } from '../e2e/services/node-services.ts';
import { ensureHelm } from '../helm/helm.ts';
import type { RealNode } from '../real-node/node.ts';
import { applyStandIn } from '../real-node/product/gitpod-pods.ts';
import { buildProductImage, registry, repository } from '../real-node/product/product-image.ts';
import { startRealCluster } from '../real-node/real-cluster.ts';
import { embeddedCluster } from '../rig/cluster.ts';
import { installFence } from '../rig/fence.ts';

const TAG = 'soak';
/** Label of real nodes: only they run pods of the agent and of a service. */
export const REAL_LABEL = 'soak.example.com/real';
export const WEB_PORT = 9000;
const TOKEN_SECONDS = 600;

/** A process of the control plane. */
type Part = { kill(signal: NodeJS.Signals): Promise<void>; restart(): Promise<void> };

/** A cluster with rollcall's accounts, rights, fence and CRD, and without rollcall. */
export type SoakCluster = {
  api: ApiClient;
  etcd: Part;
  apiServer: Part;
  coordinatorKubeconfig: string;
  signingKeyFile: string;
  /** Address on which coordinators are reached by all nodes. */
  host: string;
  realNodes: readonly RealNode[];
  /** Starts the agents of real nodes, and a service that runs in pods there. */
  startPods(coordinatorUrls: readonly string[]): Promise<void>;
  stop(): Promise<void>;
};

/** Etcd and an API server on loopback. */
export async function withoutRealNodes(): Promise<SoakCluster> {
  const { controlPlane, coordinatorKubeconfig, stop } = await embeddedCluster();
  await applyNodeServiceCrd(controlPlane);
  return {
    api: controlPlane.api,
    etcd: { kill: (signal) => controlPlane.killEtcd(signal), restart: () => controlPlane.restartEtcd() },
    apiServer: { kill: (signal) => controlPlane.killApiServer(signal), restart: () => controlPlane.restartApiServer() },
    coordinatorKubeconfig,
    signingKeyFile: serverFilesIn(controlPlane.dir).signingKey,
    host: '127.0.0.1',
    realNodes: [],
    startPods: async () => {},
    stop,
  };
}

/**
 * The same with two real nodes. No controller checks whether kubelets are alive, since all other nodes have none.
 */
export async function withRealNodes(): Promise<SoakCluster> {
  const { env } = process;
  const [helm, image] = [await ensureHelm(), await buildProductImage(imageCacheDir(env))];
  const labels = { [REAL_LABEL]: 'true' };
  const cluster = await startRealCluster({ nodes: [{ labels }, { labels }], without: ['node-lifecycle-controller'] });
  try {
    await cluster.importImage(await image.write(join(cluster.dir, 'built')), `${repository}:${TAG}`);
    const { api, dir, url, ca, hostIp: host, control, nodes } = cluster;
    for (const { name } of nodes) await removeNotReadyTaint(api, await api.get<NodeObject>(`/api/v1/nodes/${name}`));
    const { coordinatorKubeconfig } = await installAccess({
      api,
      async kubeconfigFor(token) {
        const file = join(dir, 'coordinator.kubeconfig');
        await writeKubeconfig(file, url, ca, { token });
        return file;
      },
    });
    await installFence(cluster);
    await applyNodeServiceCrd(cluster);
    return {
      ...{ api, host, coordinatorKubeconfig, realNodes: nodes, stop: () => cluster.stop() },
      ...{ etcd: control.etcd, apiServer: control.apiServer, signingKeyFile: control.signingKeyFile },
      async startPods(coordinatorUrls) {
        const config = { coordinatorUrl: coordinatorUrls };
        const agent = { config, tokenExpirationSeconds: TOKEN_SECONDS, nodeSelector: labels };
        const rendered = await renderObjects(helm, {
          image: { registry, tag: TAG },
          agent,
          priorityClass: { create: false },
        });
        for (const kind of ['ConfigMap', 'DaemonSet']) {
          const stdin = JSON.stringify(find(rendered, kind, 'rollcall-agent'));
          await cluster.kubectl(['apply', '-f', '-'], { stdin });
        }
        const web = { component: 'web', program: 'http-service', port: WEB_PORT, nodeSelector: labels };
        await applyStandIn(cluster, `${repository}:${TAG}`, web);
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
