import type { Taint, Toleration } from '@rollcall/common/tolerations.ts';

/** Kubernetes objects, as far as they are looked at here. */

type Metadata = {
  name: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
};

export type NodeObject = {
  metadata: Metadata & { managedFields?: { manager?: string }[] };
  spec?: { taints?: Taint[] };
};

export type PodSpec = {
  containers?: { name: string; image?: string; args?: string[] }[];
  tolerations?: Toleration[];
  nodeSelector?: Record<string, string>;
  affinity?: {
    nodeAffinity?: {
      requiredDuringSchedulingIgnoredDuringExecution?: {
        nodeSelectorTerms?: { matchExpressions?: { key: string }[] }[];
      };
    };
  };
  nodeName?: string;
  volumes?: { configMap?: { name?: string } }[];
};

export type PodObject = {
  metadata: Metadata & { deletionTimestamp?: string };
  spec?: PodSpec;
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
};

export type Workload = {
  metadata: Metadata;
  spec?: { replicas?: number; template?: { metadata?: Metadata; spec?: PodSpec } };
  status?: { readyReplicas?: number; desiredNumberScheduled?: number; numberReady?: number };
};

export type Policy = {
  metadata: Metadata;
  spec?: {
    matchConditions?: { name: string; expression: string }[];
    variables?: { name: string; expression: string }[];
  };
};

export type PolicyBinding = { metadata: Metadata; spec?: { policyName?: string } };

type Condition = { type: string; status: string; reason?: string; message?: string };

/** A check of a NodeService, as far as it needs rights. */
export type NodeServiceCheck = {
  pods?: { namespace?: string };
  condition?: { reporter?: { namespace?: string } };
  dra?: object;
  anyOf?: NodeServiceCheck[];
};

export type NodeService = {
  metadata: Metadata;
  spec?: { checks?: NodeServiceCheck[]; publish?: { label?: string; taint?: Taint } };
  status?: { conditions?: Condition[] };
};

/** A NodePoolLabels, or a NodePoolLabelSet. */
export type PoolObject = { metadata: { name: string; namespace?: string }; spec?: { pool?: string } };

/** A NodePool of Karpenter. */
export type KarpenterPool = {
  metadata: { name: string };
  spec?: { template?: { spec?: { startupTaints?: { key: string }[]; expireAfter?: string } } };
};

export type NetworkPolicy = {
  metadata: Metadata;
  spec?: {
    podSelector?: { matchLabels?: Record<string, string>; matchExpressions?: Requirement[] };
    policyTypes?: string[];
    ingress?: NetworkRule[];
    egress?: NetworkRule[];
  };
};

export type Requirement = { key: string; operator: string; values?: string[] };

type NetworkRule = { ports?: { port?: number | string; endPort?: number; protocol?: string }[] };

export type ConfigMap = { metadata: Metadata; data?: Record<string, string> };
