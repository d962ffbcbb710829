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
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  managedFields?: ManagedFieldsEntry[];
};

export type KubeObject = { apiVersion?: string; kind?: string; metadata: ObjectMeta };

export type Pod = KubeObject & {
  spec?: { nodeName?: string; serviceAccountName?: string };
  status?: {
    podIP?: string;
    hostIP?: string;
    conditions?: { type: string; status: string; reason?: string; lastTransitionTime?: string }[];
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
