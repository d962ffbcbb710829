import { setTimeout as sleep } from 'node:timers/promises';
import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import type { FullReport, Heartbeat, ReportContent } from '@rollcall/common/report.ts';
import { FIELD_MANAGER, REGISTRY_FACADE, WS_DAEMON } from '@rollcall/common/well-known.ts';
import { createReplica } from '@rollcall/coordinator/app/replica.ts';
import { createReplicaContext } from '@rollcall/coordinator/app/replica-context.ts';
import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { Node, Pod } from '@rollcall/coordinator/kube/objects.ts';
import { realDependencies } from '@rollcall/coordinator/kube/runtime-dependencies.ts';
import { loadConfig, loadEnvironment } from '@rollcall/coordinator/model/config.ts';
import { listPoolLabels } from '@rollcall/coordinator/state/fleet.test-fixtures.ts';
import { observePod } from '@rollcall/coordinator/state/observed-pod.ts';
import type { ObservedNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import type { Election } from '@rollcall/coordinator/term/election.ts';
import { contentOf } from './fleet-agent.ts';
import { nodeManifest, SERVICES_NAMESPACE, servicePod } from './fleet-objects.ts';

const SERVICES = [REGISTRY_FACADE, WS_DAEMON];
/** What is computed in so many milliseconds where nothing is to be done, at most, in microseconds. */
const IDLE_MS = 100;
const IDLE_MICROS = 10_000;
const POOL_LABEL = 'cloud.google.com/gke-nodepool';

/** What a coordinator is made of, but for its listeners, its watches and the wire to the API server, in this process. */
export type GrowthFleet = Awaited<ReturnType<typeof createGrowthFleet>>;

/**
 * A leader with so many nodes, in pools of so many. What it writes is taken as an API server would, without a
 * request: what is left is what the coordinator itself computes.
 */
export async function createGrowthFleet(nodes: number, poolSize: number) {
  const sources = { argv: [], env: { POD_NAMESPACE: 'rollcall' }, readFile: () => '' };
  const environment = loadEnvironment(sources);
  const loaded = await loadConfig(sources, environment);
  if (loaded.action === 'print') throw new Error('There is no configuration');
  const access = { server: 'https://127.0.0.1:1', viaProxy: false, options: async () => ({ headers: {} }), renew() {} };
  const life = new Lifecycle(silentLogger());
  const store = new MetadataStore();
  const base = createReplicaContext({ config: loaded.values, environment, access }, silentLogger(), life, {
    ...realDependencies(access),
    connect: () => store,
  });
  base.leadershipState.joined(SOLE);
  const replica = await createReplica(base);
  const { controller, fleet, writer } = replica;
  base.leadershipState.begin().decide();
  controller.beginTerm();

  const pods = fleet.servicePods.handlers(SERVICES_NAMESPACE);
  const names = Array.from({ length: nodes }, (_, index) => `fleet-${index + 1}`);
  const poolOf = (index: number) => `pool-${Math.floor(index / poolSize)}`;
  names.forEach((name, index) => void store.add(name, poolOf(index)));
  const observe = (name: string) => fleet.observe(structuredClone(store.get(name)));
  fleet.nodeHandlers.onReplace(names.map(observe));
  const podOn = (service: string, name: string, ready: boolean) => observePod(podObject(service, name, ready));
  pods.onReplace(names.flatMap((name) => SERVICES.map((service) => podOn(service, name, true))));
  replica.serviceRegistry.all.handlers().onReplace([]);
  listPoolLabels(fleet);
  fleet.workspaces.handlers().onReplace([]);

  const sequences = new Map<string, number>();
  const header = (name: string, digest: string): Heartbeat => {
    const sequence = (sequences.get(name) ?? 0) + 1;
    sequences.set(name, sequence);
    return { node: name, boot: `boot-${name}`, sequence, digest };
  };
  const accept = (report: FullReport | Heartbeat) =>
    fleet.accept(report, { node: report.node, nodeUid: `uid-${report.node}`, issuedAtSeconds: 1 });
  // The pods of all nodes have one address, so that all agents are assigned the same checks.
  const { services = [] } = accept(header(names[0] ?? '', 'none')).reply;
  const checks = new Map(services.map(({ name, digest }) => [name, digest]));
  const contents: Record<'true' | 'false', ReportContent> = {
    true: contentOf(checks, new Set()),
    false: contentOf(checks, new Set(SERVICES)),
  };

  return {
    names,
    poolOf,
    /** Full report, as it comes out of JSON. */
    report: (name: string, ready: boolean) =>
      accept({ ...header(name, `${ready}`), ...structuredClone(contents[`${ready}`]) } as FullReport),
    heartbeat: (name: string) => accept(header(name, 'true')),
    /** An event of the watch of Nodes; with other labels than before where one is given. */
    nodeEvent(name: string, label?: string) {
      store.touch(name, label);
      fleet.nodeHandlers.onUpsert(observe(name));
    },
    /** Takes in a list of the watch of Nodes, each with another label than before. */
    nodesListed(label: string) {
      for (const name of names) store.touch(name, label);
      const listed = names.map(observe);
      return () => fleet.nodeHandlers.onReplace(listed);
    },
    /** Takes in a list of the pods of all nodes. */
    podsListed(ready: boolean) {
      const listed = names.flatMap((name) => SERVICES.map((service) => podOn(service, name, ready)));
      return () => pods.onReplace(listed);
    },
    beginTerm: () => controller.beginTerm(),
    podEvent: (name: string, ready: boolean) => pods.onUpsert(podOn(WS_DAEMON, name, ready)),
    poolEvent: (pool: string, labels: Record<string, string>) =>
      fleet.poolLabelSets.handlers('NodePoolLabels').onUpsert({
        kind: 'NodePoolLabels',
        ...{ uid: `uid-${pool}`, name: pool, namespace: 'rollcall', generation: store.writes + 1 },
        ...{ createdAt: '2026-01-01T00:00:00Z', pool, labels, status: undefined },
      }),
    serviceEvent: (object: ObservedNodeService) => replica.serviceRegistry.all.handlers().onUpsert(object),
    tick: () => replica.tick(),
    get writes() {
      return store.writes;
    },
    /** Resolves when nothing is left to look at or to write. */
    async settled(): Promise<void> {
      for (let quiet = 0; quiet < 3; quiet += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        if (writer.waiting > 0 || writer.busyMs() > 0) quiet = 0;
      }
    },
    /** Resolves when what follows was done as well: this process has next to nothing to compute. */
    async idle(): Promise<void> {
      for (let used = Number.POSITIVE_INFINITY; used > IDLE_MICROS; ) {
        const before = process.cpuUsage();
        await sleep(IDLE_MS);
        const { user, system } = process.cpuUsage(before);
        used = user + system;
      }
    },
    stop: () => life.stop(),
  };
}

const SOLE: Election = {
  run: async () => {},
  silentMs: () => 0,
  isLeading: () => true,
  remainingMs: () => 10_000,
  release: async () => {},
};

function podObject(service: string, node: string, ready: boolean): Pod {
  const { labels, name, namespace } = servicePod(service, node, '10.0.0.1');
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      namespace,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels,
    },
    spec: { nodeName: node },
    status: {
      podIP: '10.0.0.1',
      hostIP: '10.0.0.1',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  } as Pod;
}

type Metadata = Node['metadata'];

/** The metadata of Nodes, as an API server keeps it when one field manager writes labels and annotations. */
class MetadataStore implements KubeClient {
  readonly #nodes = new Map<string, { metadata: Metadata }>();
  #version = 1;
  writes = 0;

  add(name: string, pool: string): void {
    const { metadata } = nodeManifest(name, '10.0.0.1') as { metadata: Metadata };
    const labels = { ...metadata.labels, [POOL_LABEL]: pool };
    const creationTimestamp = '2026-01-01T00:00:00Z';
    this.#nodes.set(name, {
      metadata: { ...metadata, labels, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp },
    });
  }

  get(name: string): Node {
    const node = this.#nodes.get(name);
    if (!node) throw new Error(`There is no node ${name}`);
    return node;
  }

  /** Changes the Node as another client. */
  touch(name: string, label?: string): void {
    const { metadata } = this.get(name);
    this.#version += 1;
    metadata.resourceVersion = `${this.#version}`;
    if (label !== undefined) metadata.labels = { ...metadata.labels, 'example.com/changing': label };
  }

  async request<T>({ method, path, contentType = '', body }: KubeRequest): Promise<T> {
    // An answer comes with a turn of the loop, and not before.
    await new Promise((resolve) => setImmediate(resolve));
    const name = path.split('/')[4] ?? '';
    if (method !== 'PATCH' || !path.startsWith('/api/v1/nodes/')) return {} as T;
    const { metadata } = this.get(name);
    const sent = (body as { metadata: Pick<Metadata, 'labels' | 'annotations'> }).metadata;
    this.writes += 1;
    this.touch(name);
    if (contentType.startsWith('application/merge')) remove(metadata, sent);
    else apply(metadata, sent);
    return structuredClone({ metadata }) as T;
  }

  async stream(): Promise<void> {}
  close(): void {}
}

/** `null` removes a key. */
function remove(metadata: Metadata, sent: Pick<Metadata, 'labels' | 'annotations'>): void {
  const gone = new Set([...Object.keys(sent.labels ?? {}), ...Object.keys(sent.annotations ?? {})]);
  const without = (map: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(map).filter(([key]) => !gone.has(key)));
  const kept = ownedBy(metadata).filter((key) => !gone.has(key));
  metadata.labels = without(metadata.labels);
  metadata.annotations = without(metadata.annotations);
  own(metadata, kept);
}

/** What was owned and is not sent goes. */
function apply(metadata: Metadata, sent: Pick<Metadata, 'labels' | 'annotations'>): void {
  const before = Object.fromEntries(ownedBy(metadata).map((key) => [key, null]));
  remove(metadata, { labels: before } as unknown as Pick<Metadata, 'labels'>);
  metadata.labels = { ...metadata.labels, ...sent.labels };
  metadata.annotations = { ...metadata.annotations, ...sent.annotations };
  own(metadata, [...Object.keys(sent.labels ?? {}), ...Object.keys(sent.annotations ?? {})]);
}

function ownedBy({ managedFields = [] }: Metadata): string[] {
  const fields = managedFields[0]?.fieldsV1?.['f:metadata'] as Record<string, Record<string, unknown>> | undefined;
  return Object.values(fields ?? {}).flatMap((keys) => Object.keys(keys).map((key) => key.slice(2)));
}

function own(metadata: Metadata, keys: readonly string[]): void {
  const fieldsOf = (map: Record<string, string> = {}) =>
    Object.fromEntries(keys.filter((key) => key in map).map((key) => [`f:${key}`, {}]));
  const fieldsV1 = {
    'f:metadata': { 'f:labels': fieldsOf(metadata.labels), 'f:annotations': fieldsOf(metadata.annotations) },
  };
  metadata.managedFields = [{ manager: FIELD_MANAGER, operation: 'Apply', fieldsV1 }];
}
