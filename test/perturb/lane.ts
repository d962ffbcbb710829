import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ApiClient, type KubeObject } from '../control-plane/api-client.ts';
import { removeDirOnExit } from '../control-plane/child.ts';
import { applyManifest, createServiceAccount } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { anotherApiServer } from '../control-plane/launch.ts';
import { freePort } from '../control-plane/ports.ts';
import { createOwnObjects, installAccess } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { watch } from '../control-plane/watch.ts';
import { type CoordinatorPorts, coordinatorPorts } from '../rig/coordinator.ts';
import { installFence } from '../rig/fence.ts';
import { EtcdLink } from './etcd-link.ts';
import { NODE_POOL_LABEL_SETS, NODE_SERVICES } from './objects.ts';
import { opened, type Stops, stopAll } from './stops.ts';

const CRDS = resolve(import.meta.dirname, '../../deploy/crds');
const OWN = '/api/v1/namespaces/rollcall';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases';
/** Everything that a run leaves. */
const COLLECTIONS = [
  NODE_SERVICES,
  NODE_POOL_LABEL_SETS,
  '/api/v1/nodes',
  '/api/v1/namespaces/default/pods',
  '/api/v1/namespaces/default/events',
  `${OWN}/pods`,
  `${OWN}/events`,
  `${OWN}/secrets`,
  LEASES,
];

/** Where a coordinator listens, and where its gateway does. */
export type Berth = { ports: CoordinatorPorts; gatewayPort: number };

/** A cluster with two API servers on one etcd, of which one can be made to be behind. One run at a time. */
export class Lane {
  readonly controlPlane: ControlPlane;
  /** Never behind. */
  readonly api: ApiClient;
  readonly coordinatorKubeconfig: string;
  /** The API server that can be made to be behind, by `link`. */
  readonly behindUrl: string;
  readonly link: EtcdLink;
  /** Directory of the agents. */
  readonly dir: string;
  readonly berths: readonly Berth[];
  readonly #stops: Stops;

  private constructor(parts: Omit<Lane, 'api' | 'reset' | 'stop' | 'caFile'>, stops: Stops) {
    this.controlPlane = parts.controlPlane;
    this.api = parts.controlPlane.api;
    this.coordinatorKubeconfig = parts.coordinatorKubeconfig;
    this.behindUrl = parts.behindUrl;
    this.link = parts.link;
    this.dir = parts.dir;
    this.berths = parts.berths;
    this.#stops = stops;
  }

  static open(): Promise<Lane> {
    return opened((stops) => open(stops, (parts) => new Lane(parts, stops)));
  }

  get caFile(): string {
    return join(this.dir, 'ca.crt');
  }

  /** Restores the state before the first run. */
  async reset(): Promise<void> {
    const nothing = JSON.stringify({ data: null });
    await this.api.exchange(
      'PATCH',
      `${OWN}/configmaps/rollcall-coordinator-ca`,
      nothing,
      'application/merge-patch+json',
    );
    for (const path of COLLECTIONS) await this.api.exchange('DELETE', `${path}?gracePeriodSeconds=0`);
    await waitFor('the cluster to be empty', async () => {
      const left = await Promise.all(COLLECTIONS.map((path) => this.api.list(path)));
      return left.every((objects) => objects.length === 0);
    });
    await createOwnObjects(this.api);
  }

  stop(): Promise<void> {
    return stopAll(this.#stops);
  }
}

type Parts = Omit<Lane, 'api' | 'reset' | 'stop' | 'caFile'>;

async function open(stops: Stops, make: (parts: Parts) => Lane): Promise<Lane> {
  const controlPlane = await startControlPlane();
  stops.push(() => controlPlane.stop());
  const { api } = controlPlane;
  await createServiceAccount(api, 'default', 'default');
  const { coordinatorKubeconfig } = await installAccess(controlPlane);
  await installFence(controlPlane);
  for (const name of ['nodeservices', 'nodepoollabelsets']) {
    await applyManifest(controlPlane, await readFile(join(CRDS, `${name}.yaml`), 'utf8'));
  }
  const link = new EtcdLink(controlPlane.etcdPort);
  stops.push(() => link.stop());
  const etcdPort = await freePort();
  await link.listen(etcdPort);
  const behind = anotherApiServer(controlPlane, { etcdPort, port: await freePort() });
  stops.push(() => behind.component.kill('SIGKILL'));
  await behind.component.start();
  const behindApi = new ApiClient({ url: behind.url, ca: controlPlane.ca, token: controlPlane.adminToken });
  stops.push(() => behindApi.close());
  for (const each of [api, behindApi]) {
    for (const path of [NODE_SERVICES, NODE_POOL_LABEL_SETS]) {
      await waitFor(`${path} to be served`, () => each.list(path), { timeoutMs: 60_000 });
    }
  }
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-perturb-'));
  removeDirOnExit(dir);
  stops.push(() => rm(dir, { recursive: true, force: true }));
  stops.push(keepCaFile(api, join(dir, 'ca.crt')));
  const berths = [await newBerth(), await newBerth()];
  return make({ controlPlane, coordinatorKubeconfig, behindUrl: behind.url, link, dir, berths });
}

async function newBerth(): Promise<Berth> {
  const ports = await coordinatorPorts();
  return { ports, gatewayPort: await freePort() };
}

/** Keeps the published CA where agents read it, as the kubelet does with a mounted ConfigMap. */
function keepCaFile(api: ApiClient, file: string): () => void {
  return watch(api, `${OWN}/configmaps`, ({ type, object }) => {
    if (object.metadata.name !== 'rollcall-coordinator-ca' || type === 'DELETED') return;
    const { data } = object as KubeObject & { data?: Record<string, string> };
    void writeFile(file, data?.['ca.crt'] ?? '');
  });
}
