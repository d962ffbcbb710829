import type { Taint, Toleration } from '@rollcall/common/tolerations.ts';

/** The parts of Kubernetes objects that the coordinator looks at. */

export type ManagedFieldsEntry = {
  manager?: string;
  operation?: 'Apply' | 'Update';
  subresource?: string;
  /** RFC 3339. */
  time?: string;
  fieldsV1?: Record<string, unknown>;
};

export type ObjectMeta = {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: { kind: string; name?: string; uid?: string; controller?: boolean }[];
  managedFields?: ManagedFieldsEntry[];
};

export type { Taint, Toleration };

export type KubeObject = { apiVersion?: string; kind?: string; metadata: ObjectMeta };

/** A requirement of a node selector; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt. */
export type NodeRequirement = { key: string; operator: string; values?: string[] };

export type NodeSelectorTerm = { matchExpressions?: NodeRequirement[]; matchFields?: NodeRequirement[] };

export type NodeSelector = { nodeSelectorTerms?: NodeSelectorTerm[] };

/** The requirements of a pod on its node. */
export type NodeDemands = {
  nodeSelector?: Record<string, string>;
  affinity?: {
    nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector };
  };
};

export type PodSpec = NodeDemands & {
  nodeName?: string;
  hostNetwork?: boolean;
  serviceAccountName?: string;
  tolerations?: Toleration[];
};

type ContainerStatus = { state?: { waiting?: { reason?: string } } };

export type Pod = KubeObject & {
  spec?: PodSpec;
  status?: {
    phase?: string;
    reason?: string;
    startTime?: string;
    podIP?: string;
    hostIP?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
};

export type DaemonSet = KubeObject & { spec?: { template?: { spec?: PodSpec } } };

export type NodeCondition = {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  /** RFC 3339. */
  lastTransitionTime?: string | null;
  /** RFC 3339. */
  lastHeartbeatTime?: string | null;
};

export type Node = KubeObject & {
  spec?: { taints?: Taint[] };
  status?: { allocatable?: Record<string, string>; conditions?: NodeCondition[]; declaredFeatures?: string[] };
};

/** Gitpod's custom resource, as far as it says where a workspace is. */
export type Workspace = KubeObject & { status?: { runtime?: { nodeName?: string } | null } };

/** A NodePoolLabels, or Banzai's NodePoolLabelSet, which has the same form: the labels of the nodes of a pool. */
export type NodePoolLabelSet = KubeObject & {
  spec?: { pool?: string; labels?: Record<string, string> };
  status?: unknown;
};

/**
 * The part of a NodeService that is read; the CRD has the schema, which may be another version than this program knows.
 */
export type NodeService = KubeObject & { spec?: Record<string, unknown>; status?: unknown };

/** Pods that keep their nodes; as with NodeServices, the CRD has the schema. */
export type NodeHold = KubeObject & { spec?: Record<string, unknown>; status?: unknown };

/** The CSI drivers of a node; `storageHealth` is alpha in Kubernetes 1.37 (feature gate CSIVolumeHealth). */
export type CsiNode = KubeObject & {
  spec?: { drivers?: { name: string }[] };
  status?: { storageHealth?: { name: string; healthConditions?: StorageHealthCondition[] }[] };
};

/** Something adverse about the storage behind a driver, as the driver reports it on this node. */
export type StorageHealthCondition = { status: string; reason?: string; message?: string };

/** One of three ways in which a ResourceSlice, or a device in it, reaches nodes. */
export type SliceReach = { nodeName?: string; nodeSelector?: NodeSelector; allNodes?: boolean };

/** Amounts by the name of the counter. */
export type Counters = Record<string, { value: string }>;

export type SliceDevice = SliceReach & {
  taints?: { effect: string }[];
  consumesCounters?: { counterSet: string; counters?: Counters }[];
};

/** The devices that a driver offers for dynamic resource allocation (resource.k8s.io/v1). */
export type ResourceSlice = KubeObject & {
  spec: SliceReach & {
    driver: string;
    /** Each device says which nodes it reaches. */
    perDeviceNodeSelection?: boolean;
    pool: { name: string; generation: number; resourceSliceCount: number };
    /** Kubernetes 1.34 writes null for none. */
    devices?: SliceDevice[] | null;
    sharedCounters?: { name: string; counters?: Counters }[];
  };
};

/** The features that NFD, or another client in its place, found on a node (nfd.k8s-sigs.io/v1alpha1). */
export type NodeFeature = KubeObject & {
  spec?: {
    features?: {
      flags?: Record<string, { elements?: Record<string, unknown> }>;
      attributes?: Record<string, { elements?: Record<string, string> }>;
      instances?: Record<string, { elements?: unknown[] }>;
    };
  };
};

/** The Status object that the API server answers errors with. */
export type KubeStatus = {
  kind?: 'Status';
  status?: string;
  message?: string;
  reason?: string;
  code?: number;
  details?: {
    name?: string;
    kind?: string;
    retryAfterSeconds?: number;
    causes?: { reason?: string; message?: string; field?: string }[];
  };
};

/**
 * Whether resource version `a` came before `b`: they may be compared as numbers within one resource (KEP-5504), but are
 * too large for a float.
 */
export function isOlderVersion(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}
