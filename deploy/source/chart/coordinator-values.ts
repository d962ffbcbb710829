import {
  ANNOTATIONS,
  ANY_OBJECT,
  LABELS,
  NAME_OR_NONE,
  OBJECTS,
  PODS_OR_SHARE,
  RESOURCES,
  TOLERATIONS,
} from './kubernetes.ts';
import { COORDINATOR_CHART_OPTIONS } from './options.ts';
import { POD_VALUES, probeValues } from './pod-values.ts';
import { configuration, count, flag, leaf, section, text } from './value.ts';

/** With which flags of V8 the coordinator runs. */
export const COORDINATOR_V8_FLAGS: readonly string[] = ['--max-semi-space-size=4'];

/** How the image starts it. */
const COORDINATOR_COMMAND = ['/nodejs/bin/node', ...COORDINATOR_V8_FLAGS, '/app/coordinator/main.js'];

export const COORDINATOR_VALUES = section('The coordinator. One replica leads, the others are standbys.', {
  command: leaf(
    'Command of the container. The flag of V8 reduces its memory.',
    { type: 'array', minItems: 1, items: { type: 'string' } },
    COORDINATOR_COMMAND,
  ),
  config: configuration('CoordinatorConfiguration.', COORDINATOR_CHART_OPTIONS),
  replicas: count('Number of replicas.', 2, 0, 9),
  updateStrategy: leaf(
    'Strategy of the Deployment; empty: one new pod at a time, before an old one stops.',
    ANY_OBJECT,
    {},
  ),
  podDisruptionBudget: section('Number of replicas that may be drained at once.', {
    enabled: flag('Install a PodDisruptionBudget.', true),
    maxUnavailable: leaf('Number or percentage of replicas.', { ...PODS_OR_SHARE, pattern: '^[0-9]+%$' }, 1),
    minAvailable: leaf(
      'Number or percentage of replicas that must stay, instead of maxUnavailable.',
      PODS_OR_SHARE,
      '',
    ),
    unhealthyPodEvictionPolicy: text('Whether replicas that are not ready may always be evicted.', 'AlwaysAllow', {
      enum: ['AlwaysAllow', 'IfHealthyBudget'],
    }),
  }),
  resources: leaf('Resources of the container.', RESOURCES, {
    requests: { cpu: '100m', memory: '128Mi' },
    limits: { cpu: '2', memory: '1Gi' },
  }),
  priorityClassName: text('Name of an existing PriorityClass; empty: the one of priorityClass.', '', {
    pattern: NAME_OR_NONE,
  }),
  nodeSelector: leaf('Nodes on which the coordinator may run.', LABELS, { 'kubernetes.io/os': 'linux' }),
  tolerations: leaf(
    'Taints that the coordinator tolerates in addition to every taint with the effect NoSchedule.',
    TOLERATIONS,
    [],
  ),
  affinity: leaf(
    'Affinity of the pods; empty: they avoid virtual nodes, and nodes for workspaces; null: none.',
    ANY_OBJECT,
    {},
  ),
  awayFromWorkspaces: text(
    'If affinity is empty: whether the coordinator should or must avoid nodes for workspaces.',
    'preferred',
    {
      enum: ['preferred', 'required'],
    },
  ),
  flowControl: section('Priority of requests at the API server.', {
    enabled: flag('Install a FlowSchema and a priority level for its Lease and TokenReviews.', true),
  }),
  topologySpreadConstraints: leaf('Spread of the replicas; empty: over nodes and zones if possible.', OBJECTS, []),
  deploymentAnnotations: leaf('Annotations of the Deployment.', ANNOTATIONS, {}),
  podLabels: leaf('Additional labels of the pods.', LABELS, {}),
  podAnnotations: leaf('Annotations of the pods.', ANNOTATIONS, {}),
  serviceAnnotations: leaf('Annotations of the Service.', ANNOTATIONS, {}),
  serviceIpFamilyPolicy: text('IP family policy of the Service; empty: that of the cluster.', '', {
    enum: ['', 'SingleStack', 'PreferDualStack', 'RequireDualStack'],
  }),
  serviceIpFamilies: leaf(
    'IP families of the Service; empty: those of the cluster.',
    { type: 'array', items: { enum: ['IPv4', 'IPv6'] } },
    [],
  ),
  ...POD_VALUES,
  ...probeValues(
    { periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 120 },
    { periodSeconds: 3, timeoutSeconds: 5, failureThreshold: 2 },
  ),
  terminationGracePeriodSeconds: count('Time to finish writes and to release the Lease, in seconds.', 15, 1, 300),
  extraArgs: leaf('Additional arguments of the program.', { type: 'array', items: { type: 'string' } }, []),
  extraEnv: leaf('Additional environment variables, as in a container of Kubernetes.', OBJECTS, []),
  extraVolumes: leaf('Additional volumes, such as the CA for registryFacadeCaFile.', OBJECTS, []),
  extraVolumeMounts: leaf('Additional volume mounts.', OBJECTS, []),
});
