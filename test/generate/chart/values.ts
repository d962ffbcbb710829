import { DASHBOARD_LABELS } from '../monitoring/dashboard.ts';
import { SCRAPE_INTERVAL } from '../monitoring/pod-monitors.ts';
import { AGENT_VALUES } from './agent-values.ts';
import { COORDINATOR_VALUES } from './coordinator-values.ts';
import { ANY_OBJECT, NAMES, OBJECTS, STRING_MAP } from './kubernetes.ts';
import { GITPOD_OPTIONS } from './options.ts';
import { configuration, count, flag, type Leaf, leaf, section, text } from './value.ts';

function hidden(help: string, type: string): Leaf {
  return { ...leaf(help, type === 'object' ? ANY_OBJECT : { type }, undefined), hidden: true };
}

/** Every value of the chart. Its values.yaml, its schema and the table in its README are made from this. */
export const CHART_VALUES = section('Values of the chart rollcall.', {
  image: section('The image, which holds both programs.', {
    registry: text('Registry that the image is pulled from; empty leaves it to the nodes.', ''),
    repository: text('Name of the image.', 'rollcall', { minLength: 1 }),
    tag: text('Tag of the image; empty for the version of the chart.', ''),
    digest: text('Digest of the image, such as sha256:…; goes before the tag.', '', {
      pattern: '^(sha256:[0-9a-f]{64})?$',
    }),
    pullPolicy: text('When it is pulled.', 'IfNotPresent', { enum: ['Always', 'IfNotPresent', 'Never'] }),
    pullSecrets: leaf('Secrets with the credentials for the registry, as objects with a name.', NAMES, []),
  }),
  gitpod: configuration('Where the components of Gitpod are; for both programs.', GITPOD_OPTIONS),
  agent: AGENT_VALUES,
  coordinator: COORDINATOR_VALUES,
  tls: section('The certificate by which agents know the coordinator.', {
    secretName: text(
      'Secret with tls.crt, tls.key and ca.crt, for rollcall-coordinator.NAMESPACE.svc, as cert-manager makes it; empty: the coordinator makes and rotates its own.',
      '',
    ),
    caConfigMapName: text(
      'ConfigMap with the CA of that Secret (key ca.crt), where the Secret itself is not for the agents to mount.',
      '',
    ),
  }),
  rules: section('Which labels of a node follow from others.', {
    accelerators: flag('Rule files of known accelerators, which give labels accelerators/….', true),
    files: leaf(
      'Further rule files, by the prefix of the labels and then by their name: {example.com: {camera: "usb-*_046d_*"}}.',
      {
        type: 'object',
        additionalProperties: STRING_MAP,
        propertyNames: { pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' },
      },
      {},
    ),
    configMaps: leaf(
      'ConfigMaps with further rule files, each by the prefix of the labels: {example.com: my-rules}.',
      { ...STRING_MAP, propertyNames: { pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' } },
      {},
    ),
    allowedPrefixes: leaf(
      'What labels of rules may begin with besides the prefixes above, for the coordinator and the fence.',
      { type: 'array', items: { type: 'string', pattern: '^[A-Za-z0-9./_-]+$' } },
      [],
    ),
  }),
  policies: section('What the API server itself does. It needs the CRD in crds/.', {
    poolLabels: section('Nodes are created with the labels of their pool.', {
      enabled: flag('Install it, on Kubernetes 1.36 and later.', true),
    }),
    startupTaint: section('Nodes are created with the startup taint.', {
      enabled: flag('Install it, on Kubernetes 1.36 and later. Needs coordinator.config.startupGateRequires.', false),
      objectSelector: leaf(
        'Which nodes, as a label selector for the Node as it is created; empty: those with rollcall.dev/startup-gate=true.',
        ANY_OBJECT,
        {},
      ),
    }),
    fence: section('The API server holds the coordinator to its own keys.', {
      enabled: flag('Install it.', true),
    }),
  }),
  scheduler: section('The scheduler extender.', {
    enabled: flag('Listen for questions of a kube-scheduler.', false),
    port: count('Port of the coordinator and its Service for them.', 8888, 1, 65_535),
    configMap: section('A configuration for a kube-scheduler of its own, in the ConfigMap rollcall-scheduler.', {
      enabled: flag('Install it. Needs scheduler.enabled.', false),
    }),
  }),
  networkPolicy: section('Who may reach the pods.', {
    enabled: flag('Install NetworkPolicies: agents to the coordinator, scrapers to the metrics.', false),
    scrapers: leaf('Who may read metrics, as a list of NetworkPolicyPeers; empty for everybody.', OBJECTS, []),
  }),
  monitoring: section('What watches the pods.', {
    podMonitor: section('What Prometheus scrapes, for its operator.', {
      enabled: flag('Install PodMonitors.', false),
      interval: text('Time between two scrapes; the alerts are for a minute at most.', SCRAPE_INTERVAL, {
        pattern: '^[1-9][0-9]*(ms|s|m)$',
      }),
      labels: leaf('Further labels, such as those that its Prometheus selects by.', STRING_MAP, {}),
    }),
    prometheusRule: section('Alerts, for the operator of Prometheus.', {
      enabled: flag('Install a PrometheusRule.', false),
      labels: leaf('Further labels, such as those that its Prometheus selects by.', STRING_MAP, {}),
    }),
    dashboard: section('The dashboard of Grafana.', {
      enabled: flag('Install it in a ConfigMap.', false),
      labels: leaf("Labels by which the sidecar of Grafana's chart finds it.", STRING_MAP, DASHBOARD_LABELS),
    }),
  }),
  priorityClass: section('How important the pods are.', {
    create: flag('Make a PriorityClass for the pods that have none of their own.', true),
    value: count(
      'Its value; the largest that is not kept for Kubernetes itself. No upgrade changes it: delete the PriorityClass before.',
      1_000_000_000,
      0,
      1_000_000_000,
    ),
  }),
  uninstall: section('What helm uninstall does besides.', {
    prune: flag('Take everything that rollcall has set off the nodes.', true),
  }),
  listenAddress: text('Address that the programs listen on; :: where pods have IPv6 addresses only.', '0.0.0.0', {
    pattern: '^[0-9a-fA-F.:]+$',
  }),
  runAsUser: leaf(
    'User and group of the containers; null leaves it to the cluster.',
    { type: ['integer', 'null'] },
    65_532,
  ),
  commonLabels: leaf('Further labels of every object.', STRING_MAP, {}),
  global: hidden('What a chart that has this one as a dependency shares with it; not used.', 'object'),
  enabled: hidden('For the condition of a chart that has this one as a dependency; not used.', 'boolean'),
});
