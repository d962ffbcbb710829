import {
  ANNOTATIONS,
  ANY_OBJECT,
  LABELS,
  NAME_OR_NONE,
  OBJECTS,
  ON_REAL_NODES,
  PATH,
  PODS_OR_SHARE,
  RESOURCES,
  TOLERATIONS,
} from './kubernetes.ts';
import { AGENT_CHART_OPTIONS } from './options.ts';
import { POD_VALUES, probeValues } from './pod-values.ts';
import { configuration, count, flag, leaf, section, text } from './value.ts';

const COMMAND = {
  type: 'array',
  minItems: 1,
  items: { type: 'string' },
} as const;

/** With which flags of V8 the agent runs. */
export const AGENT_V8_FLAGS: readonly string[] = [
  '--jitless',
  '--optimize-for-size',
  '--max-semi-space-size=1',
  '--max-old-space-size=32',
];

/** How the image starts it. */
const AGENT_COMMAND = ['/nodejs/bin/node', ...AGENT_V8_FLAGS, '/app/agent/main.js'];

export const AGENT_VALUES = section('The agent, on every node.', {
  enabled: flag(
    'Install agents. With false, the coordinator takes no reports, sets no labels of hardware and facts, and does not accept a NodeService with a check that needs an agent.',
    true,
  ),
  command: leaf('Command of the container. The flags of V8 reduce its memory.', COMMAND, AGENT_COMMAND),
  config: configuration(
    'AgentConfiguration. Without any setting, the agent needs no configuration file, and no parser in its memory.',
    AGENT_CHART_OPTIONS,
  ),
  port: count('Port of /healthz, /readyz and /metrics.', 8086, 1, 65_535),
  deviceTree: flag(
    "Mount the node's /sys, read-only, which is required to read its device tree. Not allowed at the Pod Security level restricted.",
    false,
  ),
  probePaths: leaf(
    'Directories of the node below which agents may probe Unix sockets and files; keep them narrow. Agents then run as uid 0, without any capability, unless supplementalGroups is set, and need the Pod Security level privileged.',
    { type: 'array', uniqueItems: true, items: { type: 'string', pattern: `^${PATH}$` } },
    [],
  ),
  supplementalGroups: leaf(
    'Numbers of groups by which agents may use the sockets and files below probePaths, so that they do not run as uid 0. A group needs write permission to connect to a socket.',
    { type: 'array', items: { type: 'integer', minimum: 0, maximum: 2_147_483_647 } },
    [],
  ),
  featuresDir: leaf(
    "Directory of the node with NFD's feature files, such as /etc/kubernetes/node-feature-discovery/features.d, for the terms nfd:local.… of rules. Needs the Pod Security level privileged.",
    { type: 'string', pattern: `^(${PATH})?$` },
    '',
  ),
  hostNetwork: flag(
    "Use the node's network, so that agents see hot-plugged devices at once. Not allowed at the Pod Security level restricted.",
    false,
  ),
  tokenExpirationSeconds: count('Lifetime of the token for reports, in seconds.', 3600, 600, 86_400),
  rollingUpdate: section(
    'Number of agents that are replaced at once. Empty: 10 % with maxSurge, or one by one with hostNetwork. One of the two must be 0; an empty one counts as 0 if the other is set.',
    {
      maxSurge: leaf('Number or percentage of nodes that may have two agents.', PODS_OR_SHARE, ''),
      maxUnavailable: leaf('Number or percentage of nodes that may have no agent.', PODS_OR_SHARE, ''),
    },
  ),
  updateStrategy: leaf('Replaces rollingUpdate, as in a DaemonSet, such as {type: OnDelete}.', ANY_OBJECT, {}),
  resources: leaf('Resources of the container.', RESOURCES, {
    requests: { cpu: '10m', memory: '80Mi' },
    limits: { cpu: '500m', memory: '160Mi' },
  }),
  priorityClassName: text('Name of an existing PriorityClass; empty: the one of priorityClass.', '', {
    pattern: NAME_OR_NONE,
  }),
  nodeSelector: leaf('Nodes that get an agent.', LABELS, { 'kubernetes.io/os': 'linux' }),
  tolerations: leaf(
    'Taints that agents tolerate in addition to every taint with the effect NoSchedule; by default all.',
    TOLERATIONS,
    [{ operator: 'Exists' }],
  ),
  affinity: leaf('Affinity of the pods; by default they avoid virtual nodes.', ANY_OBJECT, ON_REAL_NODES),
  daemonSetAnnotations: leaf('Annotations of the DaemonSet.', ANNOTATIONS, {}),
  podLabels: leaf('Additional labels of the pods.', LABELS, {}),
  podAnnotations: leaf('Annotations of the pods.', ANNOTATIONS, {}),
  ...POD_VALUES,
  ...probeValues(
    { periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 60 },
    { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 2 },
  ),
  terminationGracePeriodSeconds: count('Time for the last report when the agent stops, in seconds.', 15, 1, 300),
  extraArgs: leaf('Additional arguments of the program.', { type: 'array', items: { type: 'string' } }, []),
  extraEnv: leaf('Additional environment variables, as in a container of Kubernetes.', OBJECTS, []),
  extraVolumes: leaf('Additional volumes.', OBJECTS, []),
  extraVolumeMounts: leaf('Additional volume mounts.', OBJECTS, []),
});
