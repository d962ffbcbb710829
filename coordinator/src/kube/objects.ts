/** The parts of Kubernetes objects that the coordinator looks at. */

export type ManagedFieldsEntry = {
  manager?: string;
  operation?: 'Apply' | 'Update';
  subresource?: string;
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
  ownerReferences?: { kind: string; controller?: boolean }[];
  managedFields?: ManagedFieldsEntry[];
};

export type Taint = { key: string; value?: string; effect: string; timeAdded?: string };

export type KubeObject = { apiVersion?: string; kind?: string; metadata: ObjectMeta };

/** Of a node selector; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt. */
export type NodeRequirement = { key: string; operator: string; values?: string[] };

export type NodeSelectorTerm = { matchExpressions?: NodeRequirement[]; matchFields?: NodeRequirement[] };

/** What a pod asks of its node. */
export type NodeDemands = {
  nodeSelector?: Record<string, string>;
  affinity?: {
    nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: NodeSelectorTerm[] } };
  };
};

export type Pod = KubeObject & {
  spec?: NodeDemands & { nodeName?: string; serviceAccountName?: string };
  status?: {
    phase?: string;
    startTime?: string;
    podIP?: string;
    hostIP?: string;
    conditions?: { type: string; status: string; reason?: string; lastTransitionTime?: string }[];
  };
};

export type Node = KubeObject & { spec?: { taints?: Taint[] }; status?: { allocatable?: Record<string, string> } };

/** Gitpod's custom resource, as far as it says where a workspace is. */
export type Workspace = KubeObject & { status?: { runtime?: { nodeName?: string } | null } };

/** Banzai's custom resource: the labels of the nodes of a pool. */
export type NodePoolLabelSet = KubeObject & {
  spec?: { pool?: string; labels?: Record<string, string> };
  status?: unknown;
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
