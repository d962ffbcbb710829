import { ANY_OBJECT, OBJECTS, PODS_OR_SHARE, RESOURCES, STRING_MAP, TOLERATIONS } from './kubernetes.ts';
import { COORDINATOR_CHART_OPTIONS } from './options.ts';
import { configuration, count, flag, leaf, section, text } from './value.ts';

export const COORDINATOR_VALUES = section('The coordinator. One replica leads, the others are ready to.', {
  command: leaf('How the image starts it.', { type: 'array', minItems: 1, items: { type: 'string' } }, [
    '/nodejs/bin/node',
    '/app/coordinator/main.js',
  ]),
  config: configuration('CoordinatorConfiguration.', COORDINATOR_CHART_OPTIONS),
  replicas: count('How many there are.', 2, 0, 9),
  podDisruptionBudget: section('How many may be drained at once.', {
    enabled: flag('Install a PodDisruptionBudget.', true),
    maxUnavailable: leaf('How many, as a number or a share.', { ...PODS_OR_SHARE, pattern: '^[0-9]+%$' }, 1),
  }),
  resources: leaf('Resources of its container.', RESOURCES, {
    requests: { cpu: '100m', memory: '128Mi' },
    limits: { cpu: '2', memory: '1Gi' },
  }),
  priorityClassName: text('A PriorityClass that is there already; empty: the one of priorityClass.', ''),
  nodeSelector: leaf('Nodes that it may run on.', STRING_MAP, { 'kubernetes.io/os': 'linux' }),
  tolerations: leaf('Taints that it tolerates besides every taint with the effect NoSchedule.', TOLERATIONS, []),
  affinity: leaf('Affinity of the pods; empty: on no virtual node, and away from workspaces.', ANY_OBJECT, {}),
  awayFromWorkspaces: text('Where affinity is empty, whether it may run beside the workspaces of users.', 'preferred', {
    enum: ['preferred', 'required'],
  }),
  flowControl: section('What the API server does first.', {
    enabled: flag('Install a FlowSchema and a priority level for its Lease and TokenReviews.', true),
  }),
  topologySpreadConstraints: leaf(
    'How the replicas spread; empty: over nodes and zones, where that is possible.',
    OBJECTS,
    [],
  ),
  podLabels: leaf('Further labels of the pods.', STRING_MAP, {}),
  podAnnotations: leaf('Annotations of the pods.', STRING_MAP, {}),
  serviceAccountAnnotations: leaf('Annotations of the service account.', STRING_MAP, {}),
  serviceAnnotations: leaf('Annotations of the Service.', STRING_MAP, {}),
  terminationGracePeriodSeconds: count('Time to finish writes and to give the Lease back.', 15, 1, 300),
  extraEnv: leaf('Further environment variables, as Kubernetes has them.', OBJECTS, []),
  extraVolumes: leaf('Further volumes.', OBJECTS, []),
  extraVolumeMounts: leaf('Where they are mounted.', OBJECTS, []),
});
