import type { OptionTable } from '@rollcall/common/config/option.ts';
import { DEFAULT_SERVICE_PREFIXES } from '../manifests/settings.ts';
import { ALERTS } from '../monitoring/alerts.ts';
import { DASHBOARD_LABELS } from '../monitoring/dashboard.ts';
import { SCRAPE_INTERVAL } from '../monitoring/pod-monitors.ts';
import { RUNBOOKS_URL } from '../project.ts';
import { AGENT_VALUES } from './agent-values.ts';
import { COORDINATOR_VALUES } from './coordinator-values.ts';
import { ANY_OBJECT, NAMES, OBJECTS, STRING_MAP } from './kubernetes.ts';
import { GITPOD_OPTIONS } from './options.ts';
import { optionSchema } from './schema.ts';
import { NODE_HOLDS, NODE_SERVICES } from './services.ts';
import { count, flag, type Leaf, leaf, section, text } from './value.ts';

function hidden(help: string, type: string): Leaf {
  return { ...leaf(help, type === 'object' ? ANY_OBJECT : { type }, undefined), hidden: true };
}

/** Options of both programs as values of their own; without one the default of the programs holds. */
function fromOptions(options: OptionTable): Record<string, Leaf> {
  const entries = Object.entries(options);
  return Object.fromEntries(
    entries.map(([name, option]) => [name, leaf(option.help, optionSchema(name, option), option.default)]),
  );
}

/** The thresholds of the alerts that have one, by the name of the alert. */
const ALERT_THRESHOLDS = Object.fromEntries(
  ALERTS.flatMap(({ name, threshold }) =>
    threshold === undefined ? [] : [[name, leaf(threshold.help, { type: 'number' }, threshold.value)]],
  ),
);

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
  gitpod: section('Gitpod, whose two services and Workspaces are known without being written; for both programs.', {
    enabled: flag('Know them. Without Gitpod nothing of it is probed, written or watched.', true),
    ...fromOptions(GITPOD_OPTIONS),
  }),
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
  watchNamespaces: leaf(
    'Namespaces in which the coordinator may watch pods, besides those of Gitpod, of the release, and of the pods of services and holds below: those of NodeServices that are not written here. ["*"] for all of them, which coordinator.config.evict needs anyway.',
    { type: 'array', items: { type: 'string', pattern: '^([*]|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$' } },
    [],
  ),
  services: section(
    'Services on nodes, and what all NodeServices may publish.',
    {
      allowedPrefixes: leaf(
        'What the keys of every NodeService must begin with, those of conditions included, for the coordinator and the fence.',
        { type: 'array', minItems: 1, items: { type: 'string', pattern: '^[A-Za-z0-9./_-]+$' } },
        [...DEFAULT_SERVICE_PREFIXES],
      ),
    },
    NODE_SERVICES,
  ),
  holds: section('Pods that keep the node that they are on from being scaled down or consolidated.', {}, NODE_HOLDS),
  pools: section('Labels of nodes by their pool.', {
    allowedPrefixes: leaf(
      'What labels of pools must begin with, for the coordinator, the fence and the policy for new nodes; empty: any.',
      { type: 'array', items: { type: 'string', pattern: '^[A-Za-z0-9./_-]+$' } },
      [],
    ),
  }),
  crds: section('The CustomResourceDefinitions: NodeService, NodeHold, NodePoolLabelSet.', {
    install: flag('Install them with the release, and upgrade them with it.', true),
    keep: flag(
      'Leave them in the cluster when the release is uninstalled. Without them all of their objects go, too.',
      true,
    ),
  }),
  policies: section('What the API server itself does. It needs the CRDs.', {
    poolLabels: section('Nodes are created with the labels of their pool.', {
      enabled: flag('Install it. Needs Kubernetes 1.36.', false),
    }),
    startupTaint: section('Nodes are created with the startup taint.', {
      enabled: flag('Install it. Needs Kubernetes 1.36, and coordinator.config.startupGateRequires.', false),
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
    clientCertificates: flag(
      'Answer only who shows a certificate. Without, whoever reaches the port learns about nodes.',
      true,
    ),
    clientCaConfigMapName: text(
      'ConfigMap with the CAs of those certificates (key ca.crt), in the namespace of the release.',
      '',
    ),
    configMap: section('A configuration for a kube-scheduler of its own, in the ConfigMap rollcall-scheduler.', {
      enabled: flag('Install it. Needs scheduler.enabled.', false),
    }),
  }),
  networkPolicy: section('Who may reach the pods.', {
    enabled: flag('Install NetworkPolicies: agents to the coordinator, scrapers to the metrics.', true),
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
      runbookUrl: text('Where the runbooks are; their names are added.', RUNBOOKS_URL),
      thresholds: section('What the expression of an alert is compared with.', ALERT_THRESHOLDS),
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
  leaseName: text('Name of the Lease by which the coordinators elect their leader.', 'rollcall-coordinator', {
    pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$',
  }),
  listenAddress: text('Address that the programs listen on; :: is every address, of IPv4 and IPv6.', '::', {
    pattern: '^[0-9a-fA-F.:]+$',
  }),
  runAsUser: leaf(
    'User and group of the containers; null leaves it to the cluster (OpenShift), and else to the image (65532).',
    { type: ['integer', 'null'] },
    null,
  ),
  commonLabels: leaf('Further labels of every object.', STRING_MAP, {}),
  global: hidden('What a chart that has this one as a dependency shares with it; not used.', 'object'),
  enabled: hidden('For the condition of a chart that has this one as a dependency; not used.', 'boolean'),
});
