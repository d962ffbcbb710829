import { ANY_OBJECT, NOT_VIRTUAL, OBJECTS, PODS_OR_SHARE, RESOURCES, STRING_MAP, TOLERATIONS } from './kubernetes.ts';
import { AGENT_CHART_OPTIONS } from './options.ts';
import { configuration, count, flag, leaf, section, text } from './value.ts';

const COMMAND = {
  type: 'array',
  minItems: 1,
  items: { type: 'string' },
} as const;

/** How the image starts the agent. */
export const AGENT_COMMAND: readonly string[] = [
  '/nodejs/bin/node',
  '--jitless',
  '--optimize-for-size',
  '--max-semi-space-size=1',
  '--max-old-space-size=32',
  '/app/agent/main.js',
];

export const AGENT_VALUES = section('The agent, on every node.', {
  command: leaf('How the image starts it. The flags of V8 keep it small.', COMMAND, AGENT_COMMAND),
  config: configuration(
    'AgentConfiguration. An agent without any needs no configuration file, and so no parser in its memory.',
    AGENT_CHART_OPTIONS,
  ),
  port: count('Port of /healthz, /readyz and /metrics.', 8086, 1, 65_535),
  deviceTree: flag(
    "Mount the node's /sys, read-only: only so is its device tree seen. Not allowed at the Pod Security level restricted.",
    false,
  ),
  probePaths: leaf(
    'Directories of the node below which NodeServices may have Unix sockets and files probed, such as /var/lib/kubelet/plugins. They are mounted, read-only, and agents run as uid 0, without any capability: Pod Security has to be privileged in the namespace, neither restricted nor baseline.',
    { type: 'array', items: { type: 'string', pattern: '^(/[^/,]+)+$' } },
    [],
  ),
  featuresDir: leaf(
    "Directory of the node with NFD's feature files, such as /etc/kubernetes/node-feature-discovery/features.d, by which agents answer the terms nfd:local.… of rules; empty: none. It is mounted, read-only. Not allowed at the Pod Security level restricted.",
    { type: 'string', pattern: '^((/[^/]+)+)?$' },
    '',
  ),
  hostNetwork: flag(
    "Use the node's network: hot-plugged devices are seen at once. Not allowed at the Pod Security level restricted.",
    false,
  ),
  tokenExpirationSeconds: count('Lifetime of the token that goes with reports.', 3600, 600, 86_400),
  rollingUpdate: section(
    'How many agents are replaced at once; empty: 10%, the new one first; with hostNetwork one by one. One of the two has to be 0, which an empty one is beside the other.',
    {
      maxSurge: leaf('How many nodes may have two, as a number or a share such as 10%.', PODS_OR_SHARE, ''),
      maxUnavailable: leaf('How many nodes may have none, as a number or a share such as 10%.', PODS_OR_SHARE, ''),
    },
  ),
  resources: leaf('Resources of its container.', RESOURCES, {
    requests: { cpu: '10m', memory: '80Mi' },
    limits: { cpu: '500m', memory: '160Mi' },
  }),
  priorityClassName: text('A PriorityClass that is there already; empty: the one of priorityClass.', ''),
  nodeSelector: leaf('Nodes that get an agent.', STRING_MAP, { 'kubernetes.io/os': 'linux' }),
  tolerations: leaf(
    'Taints that keep no agent off, besides every taint with the effect NoSchedule; by default none does.',
    TOLERATIONS,
    [{ operator: 'Exists' }],
  ),
  affinity: leaf('Affinity of the pods; by default none of them is on a virtual node.', ANY_OBJECT, NOT_VIRTUAL),
  podLabels: leaf('Further labels of the pods.', STRING_MAP, {}),
  podAnnotations: leaf('Annotations of the pods.', STRING_MAP, {}),
  serviceAccountAnnotations: leaf('Annotations of the service account.', STRING_MAP, {}),
  terminationGracePeriodSeconds: count('Time to say that it leaves.', 15, 1, 300),
  extraEnv: leaf('Further environment variables, as Kubernetes has them.', OBJECTS, []),
  extraVolumes: leaf('Further volumes, such as the CA for registryFacadeCaFile.', OBJECTS, []),
  extraVolumeMounts: leaf('Where they are mounted.', OBJECTS, []),
});
