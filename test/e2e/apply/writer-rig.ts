import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { entryKey, type IntentEntry, type NodeIntent } from '@rollcall/coordinator/decide/intent/intent.ts';
import type { ContestedKey, NodePlan } from '@rollcall/coordinator/decide/intent/plan.ts';
import { planNode } from '@rollcall/coordinator/decide/intent/plan-node.ts';
import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import { createKubeClient } from '@rollcall/coordinator/kube/https-client.ts';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import type { KubeObject } from '@rollcall/coordinator/kube/objects.ts';
import { createIntern } from '@rollcall/coordinator/state/intern.ts';
import { NodeStore } from '@rollcall/coordinator/state/node-store.ts';
import { observeNode } from '@rollcall/coordinator/state/observed-node.ts';
import { NodeWriter } from '@rollcall/coordinator/write/node-writer.ts';
import { SkippedKeys } from '@rollcall/coordinator/write/skipped-keys.ts';
import { WriteQueue } from '@rollcall/coordinator/write/write-queue.ts';
import { createNode, type NodeObject, type NodeOptions } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { installAccess } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';

/** A control plane with the coordinator's rights installed. */
export type Cluster = { controlPlane: ControlPlane; kubeconfig: string };

export async function startCluster(options: Parameters<typeof startControlPlane>[0] = {}): Promise<Cluster> {
  const controlPlane = await startControlPlane(options);
  const { coordinatorKubeconfig } = await installAccess(controlPlane);
  return { controlPlane, kubeconfig: coordinatorKubeconfig };
}

/** A client that remembers what was sent to Nodes. */
export type RecordingClient = KubeClient & { sent: KubeRequest[] };

function recordingClient(client: KubeClient): RecordingClient {
  const sent: KubeRequest[] = [];
  return {
    sent,
    request: (request) => {
      sent.push(request);
      return client.request(request);
    },
    stream: (request, onObject) => client.stream(request, onObject),
    close: () => client.close(),
  };
}

/** A client with the coordinator's token, by way of `server` where it is another than the API server itself. */
export function coordinatorClient(cluster: Cluster, server = ''): RecordingClient {
  const access = fileAccess({ kubeconfig: cluster.kubeconfig, master: server });
  return recordingClient(createKubeClient(access, { userAgent: 'rollcall', maxSockets: 192, clock: systemClock }));
}

export type WriterRigOptions = {
  client: RecordingClient;
  remainingMs?: () => number;
  dryRun?: boolean;
  /** Defaults to the machine's. */
  clock?: Clock;
};

/** The writer with the real planner and store before it, and a watch that delivers changes. */
export type WriterRig = {
  writeQueue: Pick<WriteQueue, 'add' | 'stop'>;
  requests: LeaderRequests;
  skipped: SkippedKeys;
  /** Reports about keys that do not stay. */
  toldContested: readonly ContestedKey[];
  registry: Registry;
  /** Says what is wanted on a Node from now on, and looks at it. */
  want(name: string, entries: readonly Wish[]): void;
  /** Whether the Node is, as far as the store knows, as it is wanted. */
  holds(name: string): boolean;
  until(name: string): Promise<void>;
  /** Waits until the store knows the Node with this value of a label. */
  sees(name: string, key: string, value: string): Promise<void>;
  stop(): Promise<void>;
};

export type Wish = Pick<IntentEntry, 'kind' | 'key' | 'value' | 'stance' | 'ownership' | 'sinceMs' | 'origin' | 'news'>;

export function label(key: string, value: string, more: Partial<Wish> = {}): Wish {
  return { kind: 'label', key, value, stance: 'present', ownership: 'shared', ...more };
}

export function annotation(key: string, value: string, more: Partial<Wish> = {}): Wish {
  return { ...label(key, value, more), kind: 'annotation' };
}

export function startWriterRig(cluster: Cluster, options: WriterRigOptions): WriterRig {
  const { client, remainingMs = () => 10_000, dryRun = false, clock = systemClock } = options;
  const intents = new Map<string, NodeIntent>();
  const intern = createIntern<string>();
  const ofInterest = new Set<string>([KEYS_ANNOTATION]);
  const observe = (node: KubeObject) => observeNode(node, intern, ofInterest);
  const skipped = new SkippedKeys(clock);
  const toldContested: ContestedKey[] = [];
  const registry = new Registry();
  const requests = new LeaderRequests({ client, fence: { remainingMs }, signal: new AbortController().signal });
  const store: NodeStore = new NodeStore(({ name, next }) => (next ? writeQueue.add(name) : writeQueue.forget(name)));
  const prepare = (name: string) => {
    const node = store.get(name);
    const intent = intents.get(name);
    if (!node || !intent) return undefined;
    const { ask, leftOut } = skipped.asking(node);
    return { node, leftOut, ...planNode(node, intent, ask) };
  };
  const writeQueue = new WriteQueue<NodePlan & { leftOut: ReadonlySet<string> }>({
    observed: (name) => store.get(name),
    writer: new NodeWriter(requests),
    skipped,
    registry,
    dryRun,
    clock,
    random: Math.random,
    logger: silentLogger(),
  });
  writeQueue.serve({
    prepare,
    sent: () => () => {},
    rested: ({ node, leftOut }) => skipped.settle(node, leftOut),
    written: (node) => store.written(observe(node)),
    contested: (_node, keys) => toldContested.push(...keys),
    skipped: () => {},
  });
  const stopWatch = watchNodes(cluster.controlPlane.api, ({ type, object }) => {
    if (type === 'DELETED') store.remove(object.metadata.name);
    else if (type !== 'BOOKMARK') store.upsert(observe(object as KubeObject));
  });
  const holds = (name: string) => {
    const { node, leftOut: _leftOut, ...parts } = prepare(name) ?? {};
    return node !== undefined && Object.keys(parts).length === 0;
  };
  return {
    writeQueue,
    requests,
    skipped,
    toldContested,
    registry,
    holds,
    want(name, entries) {
      for (const entry of entries) if (entry.kind === 'annotation') ofInterest.add(entry.key);
      const full = entries.map(
        (entry): IntentEntry => ({ ...entry, reason: 'the test', cause: 'evidence', labeler: 'test', overruled: [] }),
      );
      intents.set(name, new Map(full.map((entry) => [entryKey(entry), entry])));
      const urgent = entries.some(({ stance, ownership }) => stance === 'absent' && ownership === 'exclusive');
      writeQueue.add(name, { priority: urgent ? 'urgent' : 'normal', dirtySinceMs: clock.monotonic() });
    },
    until: async (name) => {
      await waitFor(`${name} to be as wanted`, () => holds(name), { timeoutMs: 30_000 });
    },
    sees: async (name, key, value) => {
      await waitFor(`the watch to tell of ${key}=${value}`, () => store.get(name)?.labels[key] === value);
    },
    async stop() {
      stopWatch();
      await writeQueue.stop();
      client.close();
    },
  };
}

export function newNode(cluster: Cluster, name: string, options: NodeOptions = {}): Promise<NodeObject> {
  return createNode(cluster.controlPlane.api, name, options);
}

export function readNode(cluster: Cluster, name: string): Promise<NodeObject> {
  return cluster.controlPlane.api.get<NodeObject>(`/api/v1/nodes/${name}`);
}

/** Applies as another field manager. */
export async function applyAs(
  cluster: Cluster,
  manager: string,
  name: string,
  metadata: object,
  force = false,
): Promise<void> {
  await cluster.controlPlane.api.patch(
    `/api/v1/nodes/${name}?fieldManager=${manager}&force=${force}`,
    { apiVersion: 'v1', kind: 'Node', metadata: { name, ...metadata } },
    'application/apply-patch+yaml',
  );
}
