/** The audience that agents' tokens are made for. */
export const REPORT_AUDIENCE = 'rollcall-coordinator';

/** Path of the endpoint that takes reports. */
export const REPORTS_PATH = '/v1/reports';

/** Largest report body in bytes. */
export const REPORT_BODY_BYTES_MAX = 256 * 1024;

/** Largest list of services that a coordinator sends to agents, in bytes of JSON. */
export const SERVICE_LIST_BYTES_MAX = 256 * 1024;

/** Largest reply that an agent reads, in bytes: the list of services, and room for the other fields. */
export const REPLY_BYTES_MAX = 2 * SERVICE_LIST_BYTES_MAX;

/** The shortest time between two probes of a check, in milliseconds. */
export const PROBE_PERIOD_MS_MIN = 100;

/** The longest period and the longest time-out of a check, in milliseconds. */
export const PROBE_TIME_MS_MAX = 3_600_000;

/** The field manager of everything that rollcall applies. */
export const FIELD_MANAGER = 'rollcall';

/** Annotation on the Lease: where the leader takes reports. */
export const LEADER_URL_ANNOTATION = 'rollcall.dev/leader-url';

/** Annotation on the Lease: where the leader answers kube-scheduler. */
export const LEADER_SCHEDULER_URL_ANNOTATION = 'rollcall.dev/leader-scheduler-url';

/** Annotation on the Lease: where the leader's console is, where others can reach it. */
export const LEADER_CONSOLE_URL_ANNOTATION = 'rollcall.dev/leader-console-url';

/** Annotation of a Node, changed so that kube-scheduler tries again with pods that it refused there. */
export const SCHEDULING_HINT_ANNOTATION = 'rollcall.dev/scheduling-hint';

export const WS_DAEMON = 'ws-daemon';
export const REGISTRY_FACADE = 'registry-facade';

/**
 * The label that says that a service is ready on a node. Its grammar is Gitpod's: workspace pods ask for it in their
 * node affinity.
 */
export function readyLabel(service: string, namespace: string): string {
  return `gitpod.io/${service}_ready_ns_${namespace}`;
}

/** The taint that says that a service is not ready on a node, as Gitpod's labeler writes it. */
export function notReadyTaint(service: string): string {
  return `gitpod.io/${service}-not-ready`;
}

/** Keeps pods off a new Node until its labels are there. cluster-autoscaler knows it by its prefix. */
export const STARTUP_TAINT = 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall';

/** A Node with one of these labels, whatever the value, is for workspaces. */
export const WORKSPACE_NODE_LABELS: readonly string[] = [
  'gitpod.io/workload_workspace_regular',
  'gitpod.io/workload_workspace_headless',
];

/** Keeps cluster-autoscaler from removing a Node while it is "true". */
export const SCALE_DOWN_DISABLED = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

/** Keeps Karpenter from disrupting a Node while it is "true". */
export const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt';

/** A Node with this label is Karpenter's, whatever the value. */
export const KARPENTER_POOL_LABEL = 'karpenter.sh/nodepool';

/** A person's wish, on a Node, that it is kept as if a workspace were on it. */
export const SCALE_DOWN_HOLD = 'rollcall.dev/scale-down-hold';

/** Annotation of a Node: the keys, as a JSON array, of labels that it has because of its pool. */
export const MANAGED_LABELS_ANNOTATION = 'nodepool.banzaicloud.io/managed-labels';

/** Annotation of earlier versions: labels, taints and conditions of services, as a JSON object of lists by kind. */
export const SERVICE_KEYS_ANNOTATION = 'rollcall.dev/service-keys';

/**
 * Annotation of a Node: the services of mode Startup, or with a startup deadline, that were ready on it once, and the
 * taints that it had while their service was ready there, as a JSON object of its uid (`node`), of the uids of NodeServices
 * by name (`services`) and of taints by the uid of their NodeService (`taints`).
 */
export const SERVICES_STARTED_ANNOTATION = 'rollcall.dev/services-started';

/** What the label of a NodeService that names no keys begins with. */
export const SERVICE_LABEL_PREFIX = 'service.rollcall.dev/';

/** What taints may begin with in the domains of Kubernetes: autoscalers know them. */
export const KNOWN_TAINT_PREFIXES: readonly string[] = [
  'startup-taint.cluster-autoscaler.kubernetes.io/',
  'status-taint.cluster-autoscaler.kubernetes.io/',
  'readiness.k8s.io/',
];

/** Conditions of Nodes that only kubelets and network plugins may write. */
export const KUBELET_CONDITIONS: readonly string[] = [
  'Ready',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
];

/** Conditions on which Karpenter replaces a node, where its NodeRepair is on. */
export const REPAIR_CONDITIONS: readonly string[] = [
  'NetworkingReady',
  'StorageReady',
  'AcceleratedHardwareReady',
  'ContainerRuntimeReady',
  'KernelReady',
];

/** Labels of devices, as Node Feature Discovery and k8s-dt-node-labeller write them. */
export const NFD_USB_PREFIX = 'feature.node.kubernetes.io/usb-';
export const NFD_PCI_PREFIX = 'feature.node.kubernetes.io/pci-';
export const DEVICE_TREE_PREFIX = 'beta.devicetree.org/';

/** Labels that say which known accelerators a Node has, one for each identity. */
export const DEVICE_IDENTITY_PREFIX = 'device.rollcall.dev/';

/** Labels that tell a fact about a Node's machine, one for each fact that is asked for. */
export const FACT_PREFIX = 'fact.rollcall.dev/';

/**
 * Annotation of a Node: every label, taint and condition that rollcall set on it, as a JSON object of the origin by
 * `kind:key`. Nothing else on a Node tells whose a key is once its cause is gone.
 */
export const KEYS_ANNOTATION = 'rollcall.dev/keys';

/** Annotation of earlier versions: the keys, as a JSON array, of labels that a Node has because of a rule. */
export const IMPLIED_LABELS_ANNOTATION = 'rollcall.dev/implied-labels';

/** Annotation of a Node: labels that rollcall took from it and the values that they had, as a JSON object. */
export const WITHDRAWN_LABELS_ANNOTATION = 'rollcall.dev/withdrawn-labels';

/** The field manager of Gitpod's node-labeler: what it alone wrote is ours to clean up. */
export const PREDECESSOR_FIELD_MANAGER = 'node-labeler';

/** The label by which Gitpod's components are found, on pods. */
export const COMPONENT_LABEL = 'component';

/** The account of the Job that prunes when the release is uninstalled, and its role. */
export const UNINSTALL_NAME = 'rollcall-uninstall';

/** Names of the objects that the coordinator keeps in its own namespace. */
export const TLS_SECRET_NAME = 'rollcall-coordinator-tls';
export const CA_CONFIG_MAP_NAME = 'rollcall-coordinator-ca';
export const COORDINATOR_SERVICE_NAME = 'rollcall-coordinator';
export const COORDINATOR_DEPLOYMENT_NAME = 'rollcall-coordinator';

/** DNS name of the coordinator's Service, which is also the name that its certificate is made for. */
export function coordinatorServerName(namespace: string): string {
  return `${COORDINATOR_SERVICE_NAME}.${namespace}.svc`;
}

/** What the condition `Ready` of an object says by default. */
export const PENDING_MESSAGE = 'No coordinator of rollcall has read the object yet';
