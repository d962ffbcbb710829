import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { KubeClient, KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import { createKubeClient } from '@rollcall/coordinator/kube/https-client.ts';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import { EventRecorder } from '@rollcall/coordinator/subscribers/events/event-recorder.ts';
import { Evictor } from '@rollcall/coordinator/subscribers/eviction/evictor.ts';
import type { NodeState } from '@rollcall/coordinator/subscribers/eviction/misplaced-pods.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createPod, type PodObject, type PodOptions } from '../../control-plane/cluster.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

/** What rollcall withdrew, in every test. */
export const withdrawn = { 'accelerators/edgetpu': 'true' };
export const labelGone: NodeState = { labels: { 'kubernetes.io/os': 'linux' }, withdrawn };
export const labelBack: NodeState = { labels: { ...labelGone.labels, ...withdrawn }, withdrawn: {} };

export type Replica = {
  evictor: Evictor;
  /** Resolves when no request is under way. */
  settled(): Promise<void>;
  /** Answers such as `create 201`, in order. */
  answers: string[];
  /** The samples of a metric of evictions. */
  metric(name: string): Promise<string[]>;
  stop(): Promise<void>;
};

export type ReplicaOptions = {
  stateOf: (node: string) => NodeState | undefined;
  perSecond?: number;
  /** Defaults to the machine's. */
  clock?: Clock;
  remainingMs?: () => number;
  /** Is called before each eviction is sent, with the name of its pod. */
  beforeEviction?: (pod: string) => Promise<void> | void;
};

/** The evictor and the recorder of Events as a coordinator has them, with the rights of one. */
export function startReplica(kubeconfig: string, options: ReplicaOptions): Replica {
  const { stateOf, perSecond = 100, clock = systemClock } = options;
  const { remainingMs = () => 10_000, beforeEviction = () => {} } = options;
  const answers: string[] = [];
  const client = createKubeClient(fileAccess({ kubeconfig, master: '' }), {
    userAgent: 'rollcall-coordinator/test',
    maxSockets: 8,
    clock,
    onAnswer: (verb, code) => answers.push(`${verb} ${code}`),
  });
  const hooked: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      const [, pod] = /\/pods\/([^/]+)\/eviction$/.exec(request.path) ?? [];
      if (pod !== undefined) await beforeEviction(pod);
      return client.request<T>(request);
    },
    stream: (request, onObject) => client.stream(request, onObject),
    close: () => client.close(),
  };
  const controller = new AbortController();
  const registry = new Registry();
  const common = {
    client: hooked,
    requests: new LeaderRequests({ client: hooked, fence: { remainingMs }, signal: controller.signal }),
    clock,
    random: Math.random,
    signal: controller.signal,
    logger: silentLogger(),
    registry,
  };
  const recorder = new EventRecorder({ ...common, instance: 'rollcall-coordinator-0', mustYield: () => false });
  const record = recorder.record.bind(recorder);
  const evictor = new Evictor({ ...common, record, stateOf, perSecond, dryRun: false, delayMs: 0 });
  return {
    evictor,
    settled: () => common.requests.settled(),
    answers,
    async metric(name) {
      const text = await registry.getSingleMetricAsString(`rollcall_coordinator_${name}`);
      return text.split('\n').filter((line) => !line.startsWith('#') && line !== '');
    },
    async stop() {
      controller.abort();
      await common.requests.settled();
      client.close();
    },
  };
}

type WrittenPod = PodOptions & { annotations?: Record<string, string>; ownerReferences?: object[] };

/** A running pod that selects the label that was withdrawn, unless its spec says something else. */
export async function createMisplaced({ api }: ControlPlane, options: WrittenPod): Promise<PodObject> {
  const { annotations, ownerReferences, ...rest } = options;
  const pod = await createPod(api, { ready: true, ...rest, spec: { nodeSelector: withdrawn, ...options.spec } });
  if (!annotations && !ownerReferences) return pod;
  const metadata = { ...(annotations ? { annotations } : {}), ...(ownerReferences ? { ownerReferences } : {}) };
  return api.patch<PodObject>(`/api/v1/namespaces/${options.namespace}/pods/${options.name}`, { metadata });
}

/** Names of the pods on a node that are not being deleted. */
export async function staying({ api }: ControlPlane, node: string): Promise<string[]> {
  const pods = await api.list<PodObject>(`/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`);
  return pods
    .filter(({ metadata }) => metadata['deletionTimestamp'] === undefined)
    .map(({ metadata }) => metadata.name);
}

/** A budget for the pods with this label, in the state in which the disruption controller would leave it. */
export async function createBudget(
  { api }: ControlPlane,
  budget: { namespace: string; name: string; app: string; allowed: number },
): Promise<void> {
  const { namespace, name, app, allowed } = budget;
  const created = await api.post<KubeObject>(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
    metadata: { name, namespace },
    spec: { minAvailable: 1, selector: { matchLabels: { app } } },
  });
  await allowDisruptions({ api }, { namespace, name, allowed, generation: Number(created.metadata['generation']) });
}

export async function allowDisruptions(
  { api }: Pick<ControlPlane, 'api'>,
  budget: { namespace: string; name: string; allowed: number; generation?: number },
): Promise<void> {
  const { namespace, name, allowed, generation = 1 } = budget;
  await api.patch(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}/status`, {
    status: {
      disruptionsAllowed: allowed,
      observedGeneration: generation,
      currentHealthy: 1 + allowed,
      desiredHealthy: 1,
      expectedPods: 1 + allowed,
    },
  });
}

/** The Events of a kind, as `<pod> <message>`. */
export async function eventsOf({ api }: ControlPlane, namespace: string, reason: string): Promise<string[]> {
  type StoredEvent = KubeObject & { reason: string; message: string; involvedObject: { name: string } };
  const events = await api.list<StoredEvent>(`/api/v1/namespaces/${namespace}/events`);
  return events
    .filter((event) => event.reason === reason)
    .map(({ involvedObject, message }) => `${involvedObject.name} ${message}`)
    .sort();
}
