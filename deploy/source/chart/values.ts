import type { OptionTable } from '@rollcall/common/config/option.ts';
import { DEFAULT_SERVICE_PREFIXES } from '../manifests/settings.ts';
import { watchTerms } from '../manifests/watch-rights.ts';
import { ALERTS } from '../monitoring/alerts.ts';
import { DASHBOARD_LABELS } from '../monitoring/dashboard.ts';
import { SCRAPE_INTERVAL } from '../monitoring/pod-monitors.ts';
import { RUNBOOKS_URL } from '../project.ts';
import { AGENT_VALUES } from './agent-values.ts';
import { COORDINATOR_VALUES } from './coordinator-values.ts';
import {
  ANNOTATIONS,
  ANY_OBJECT,
  DNS_SUBDOMAIN,
  keyed,
  LABELS,
  NAME_OR_NONE,
  NAMES,
  OBJECTS,
  PREFIX,
  REGISTRY_OR_NONE,
  REPOSITORY,
  TAG_OR_NONE,
} from './kubernetes.ts';
import { DAEMON_SET_GATE, DAEMON_SET_GATE_OPTIONS, GITPOD_OPTIONS } from './options.ts';
import { optionSchema } from './schema.ts';
import { NODE_HOLDS, NODE_SERVICES } from './services.ts';
import { count, flag, type Leaf, leaf, section, text } from './value.ts';

function hidden(help: string, type: string): Leaf {
  return { ...leaf(help, type === 'object' ? ANY_OBJECT : { type }, undefined), hidden: true };
}

const KEEP_CRDS = flag(
  'Keep the CRDs in the cluster when the release is uninstalled. Deleting them deletes all of their objects.',
  true,
);
const COMMON_METADATA = {
  commonLabels: leaf('Additional labels of every object.', LABELS, {}),
  commonAnnotations: leaf('Additional annotations of every object of the release, hooks excepted.', ANNOTATIONS, {}),
};
const ENABLED = hidden('For the condition of a parent chart; not used.', 'boolean');

/** Options of both programs as values of their own; without one the default of the programs holds. */
function fromOptions(options: OptionTable): Record<string, Leaf> {
  const entries = Object.entries(options);
  return Object.fromEntries(
    entries.map(([name, option]) => [name, leaf(option.help, optionSchema(name, option), option.default)]),
  );
}

/** The options of the startup gate for DaemonSets, without what their names have in common. */
function daemonSetOptions(): Record<string, Leaf> {
  return Object.fromEntries(
    Object.entries(fromOptions(DAEMON_SET_GATE_OPTIONS)).map(([name, value]) => {
      const own = name.slice(DAEMON_SET_GATE.length);
      return [`${own.charAt(0).toLowerCase()}${own.slice(1)}`, value];
    }),
  );
}

/** The thresholds of the alerts that have one, by the name of the alert. */
const ALERT_THRESHOLDS = Object.fromEntries(
  ALERTS.flatMap(({ name, threshold }) =>
    threshold === undefined ? [] : [[name, leaf(threshold.help, { type: 'number' }, threshold.value)]],
  ),
);

const BYTE = '(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])';
const CIDR = `^${BYTE}([.]${BYTE}){3}/([12]?[0-9]|3[0-2])$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/([1-9]?[0-9]|1[01][0-9]|12[0-8])$`;

/** Rule files, by the names of their labels. */
const RULE_FILES = keyed('^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$', { type: 'string' });

const FIELDS = {
  image: section('The image, which contains both programs.', {
    registry: text('Registry of the image, without a scheme; empty: the default of the nodes.', '', {
      pattern: REGISTRY_OR_NONE,
    }),
    repository: text('Name of the image.', 'rollcall', { pattern: REPOSITORY }),
    tag: text('Tag of the image; empty: the version of the chart.', '', { pattern: TAG_OR_NONE }),
    digest: text('Digest of the image, such as sha256:…; overrides the tag.', '', {
      pattern: '^(sha256:[0-9a-f]{64})?$',
    }),
    pullPolicy: text('When it is pulled.', 'IfNotPresent', { enum: ['Always', 'IfNotPresent', 'Never'] }),
    pullSecrets: leaf('Secrets with the credentials for the registry, as objects with a name.', NAMES, []),
  }),
  gitpod: section('Built-in support for the two node services of Gitpod and its Workspaces.', {
    enabled: flag('Enable the support. With false, rollcall probes, writes and watches nothing of Gitpod.', false),
    ...fromOptions(GITPOD_OPTIONS),
  }),
  agent: AGENT_VALUES,
  coordinator: COORDINATOR_VALUES,
  tls: section('The certificate of the coordinator, which agents verify.', {
    secretName: text(
      'Secret with tls.crt, tls.key and ca.crt, for rollcall-coordinator.NAMESPACE.svc, as cert-manager creates it; empty: the coordinator creates and rotates its own certificate.',
      '',
      { pattern: NAME_OR_NONE },
    ),
    caConfigMapName: text(
      'ConfigMap with the CA of that Secret (key ca.crt), if the agents must not mount the Secret itself.',
      '',
      { pattern: NAME_OR_NONE },
    ),
  }),
  rules: section('Rules: labels of a node that imply other labels.', {
    accelerators: flag('Install the rule files of known accelerators, which create labels accelerators/….', true),
    files: leaf(
      'Additional rule files, by the prefix and then by the name of their labels: {example.com: {camera: "usb-*_046d_*"}}.',
      keyed(DNS_SUBDOMAIN, RULE_FILES),
      {},
    ),
    configMaps: leaf(
      'ConfigMaps with additional rule files, by the prefix of their labels: {example.com: my-rules}.',
      keyed(DNS_SUBDOMAIN, { type: 'string', pattern: DNS_SUBDOMAIN }),
      {},
    ),
    allowedPrefixes: leaf(
      'Prefixes that labels of rules may have in addition to those above, for the coordinator and the fence. Labels in the domains of Kubernetes, such as node-role.kubernetes.io/, must be named here.',
      { type: 'array', items: { type: 'string', pattern: PREFIX } },
      [],
    ),
  }),
  hardware: section('Labels of nodes by their hardware.', {
    labels: leaf(
      'Which labels: none; known: those of known accelerators, device.rollcall.dev/…; all: those of USB, PCI and the device tree as well.',
      { enum: ['none', 'known', 'all'] },
      'all',
    ),
  }),
  watchNamespaces: leaf(
    'Namespaces in which the coordinator may watch pods, besides those of Gitpod, of the release, and of services and holds in these values. ["*"]: all, which coordinator.config.evict needs.',
    { type: 'array', items: { type: 'string', pattern: '^([*]|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$' } },
    [],
  ),
  watchResources: leaf(
    'Resources that the coordinator may watch for rules and NodeServices that are not in these values: resourceslices (dra), nodefeatures (nfd:).',
    { type: 'array', items: { enum: Object.keys(watchTerms()) } },
    [],
  ),
  services: section(
    'NodeServices, and the keys that all NodeServices may publish.',
    {
      allowedPrefixes: leaf(
        'Prefixes that the keys and conditions of every NodeService must have, for the coordinator and the fence.',
        { type: 'array', minItems: 1, items: { type: 'string', pattern: PREFIX } },
        [...DEFAULT_SERVICE_PREFIXES],
      ),
    },
    NODE_SERVICES,
  ),
  holds: section('NodeHolds: pods that prevent autoscalers from removing their nodes.', {}, NODE_HOLDS),
  pools: section('Labels of nodes by their pool.', {
    allowedPrefixes: leaf(
      'Prefixes that labels of pools must have, for the coordinator, the fence and the policy for new nodes; empty: any.',
      { type: 'array', items: { type: 'string', pattern: PREFIX } },
      [],
    ),
  }),
  crds: section('The CustomResourceDefinitions: NodeService, NodeHold, NodePoolLabels, NodePoolLabelSet.', {
    install: flag('Install them with the release, and upgrade them with it.', true),
    keep: KEEP_CRDS,
  }),
  policies: section('Admission policies. They need the CRDs.', {
    poolLabels: section('Policy that creates Nodes with the labels of their pool.', {
      enabled: flag('Install it. Needs Kubernetes 1.36.', false),
    }),
    startupTaint: section('Policy that creates Nodes with the startup taint.', {
      enabled: flag('Install it. Needs Kubernetes 1.36, and coordinator.config.startupGateRequires.', false),
      objectSelector: leaf(
        'Label selector of the Nodes, as they are when they are created; empty: those with rollcall.dev/startup-gate=true.',
        ANY_OBJECT,
        {},
      ),
    }),
    fence: section('Policy that restricts the coordinator to its own keys.', {
      enabled: flag('Install it.', true),
    }),
  }),
  startupGate: section(
    'What new nodes wait for behind the startup taint, besides coordinator.config.startupGateRequires.',
    {
      daemonSets: section('Wait until every DaemonSet that belongs on the node has a Ready pod there.', {
        enabled: flag(
          'Wait for DaemonSets. Grants the coordinator the rights to list and watch DaemonSets, and the pods of all namespaces.',
          false,
        ),
        ...daemonSetOptions(),
      }),
    },
  ),
  scheduler: section('The scheduler extender.', {
    enabled: flag('Listen for requests of a kube-scheduler.', false),
    port: leaf(
      'Port of the coordinator and its Service for these requests; not 8443, 8086 and 8090, on which it also listens.',
      { type: 'integer', minimum: 1, maximum: 65_535, not: { enum: [8443, 8086, 8090] } },
      8888,
    ),
    addressRanges: leaf(
      'Address ranges (CIDR) from which a kube-scheduler asks, mostly the range of the control plane. The NetworkPolicy admits them, and coordinators, to the port; empty: all.',
      { type: 'array', items: { type: 'string', pattern: CIDR } },
      [],
    ),
    clientCertificates: flag(
      'Require client certificates. With false, every client that reaches the port can read about nodes; the NetworkPolicy then needs scheduler.addressRanges.',
      true,
    ),
    clientCaConfigMapName: text(
      'ConfigMap with the CAs of those certificates (key ca.crt), in the namespace of the release.',
      '',
      { pattern: NAME_OR_NONE },
    ),
    configMap: section('Configuration for a second kube-scheduler, in the ConfigMap rollcall-scheduler.', {
      enabled: flag('Install it. Needs scheduler.enabled.', false),
    }),
  }),
  networkPolicy: section('Network access to the pods.', {
    enabled: flag('Install NetworkPolicies: agents to the coordinator, scrapers to the metrics.', true),
    scrapers: leaf(
      'NetworkPolicyPeers that may open port 8086 (metrics, /healthz and /readyz), such as the namespace of Prometheus. Empty: only the node of the pod; [{namespaceSelector: {}}]: all pods.',
      OBJECTS,
      [],
    ),
    egress: section(
      'What pods may open, as lists of NetworkPolicyEgressRules in addition to DNS and the coordinator; empty: everything. A list that lacks something that the program needs makes nodes silent.',
      {
        agent: leaf(
          'For agents: the services of their own nodes, such as [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}].',
          OBJECTS,
          [],
        ),
        coordinator: leaf('For coordinators: the API server, and notifyUrl.', OBJECTS, []),
      },
    ),
  }),
  monitoring: section('Monitoring.', {
    podMonitor: section('PodMonitors for the operator of Prometheus.', {
      enabled: flag('Install PodMonitors.', false),
      interval: text('Time between two scrapes; the alerts need a minute or less.', SCRAPE_INTERVAL, {
        pattern: '^[1-9][0-9]*(ms|s|m)$',
      }),
      relabelings: leaf('Additional relabelings of the targets.', OBJECTS, []),
      metricRelabelings: leaf('Relabelings of the samples.', OBJECTS, []),
      labels: leaf('Additional labels, such as those that the Prometheus object selects.', LABELS, {}),
    }),
    prometheusRule: section('Alerts, for the operator of Prometheus.', {
      enabled: flag('Install a PrometheusRule.', false),
      runbookUrl: text('Base URL of the runbooks; the chart appends their names.', RUNBOOKS_URL),
      disabled: leaf(
        'Names of alerts to leave out.',
        { type: 'array', items: { enum: ALERTS.map(({ name }) => name) } },
        [],
      ),
      thresholds: section('Thresholds of the alerts.', ALERT_THRESHOLDS),
      labels: leaf('Additional labels, such as those that the Prometheus object selects.', LABELS, {}),
    }),
    dashboard: section('The dashboard of Grafana.', {
      enabled: flag('Install it in a ConfigMap.', false),
      labels: leaf("Labels by which the sidecar of Grafana's chart finds it.", LABELS, DASHBOARD_LABELS),
    }),
  }),
  priorityClass: section('Priority of the pods.', {
    create: flag('Create a PriorityClass for the pods that have none of their own.', true),
    value: count(
      'Value of the PriorityClass rollcall-VALUE, which preempts no pods; where agents may preempt, set agent.priorityClassName to system-node-critical.',
      1_000_000,
      0,
      1_000_000_000,
    ),
  }),
  uninstall: section('Additional steps of helm uninstall.', {
    prune: flag('Remove everything that rollcall has set from the nodes.', true),
  }),
  leaseName: text('Name of the Lease for the election of the leader.', 'rollcall-coordinator', {
    pattern: DNS_SUBDOMAIN,
    maxLength: 253,
  }),
  listenAddress: text('Listen address of the programs; :: for all addresses of IPv4 and IPv6.', '::', {
    pattern: '^[0-9a-fA-F.:]+$',
  }),
  runAsUser: leaf(
    'User and group of the containers; null: chosen by the cluster (OpenShift), otherwise the user of the image, 65532.',
    { type: ['integer', 'null'] },
    null,
  ),
  ...COMMON_METADATA,
  podSecurityContext: leaf('Changes to the security context of every pod, such as {fsGroup: 2000}.', ANY_OBJECT, {}),
  containerSecurityContext: leaf('Changes to the security context of every container.', ANY_OBJECT, {}),
  serviceAccount: section('Service accounts.', {
    create: flag(
      'Create rollcall-agent and rollcall-coordinator. With false, create them yourself, with these names.',
      true,
    ),
  }),
  rbac: section('Rights.', {
    create: flag(
      'Create the roles of the coordinator and their bindings. With false, grant its account the rights in packages/docs/how-to/install.md.',
      true,
    ),
    aggregate: flag(
      "Add rights on the objects of rollcall to Kubernetes' roles view and edit. Who may edit all namespaces can then label and taint nodes by NodeServices.",
      false,
    ),
  }),
  extraObjects: leaf('Additional objects, whose text may contain templates.', OBJECTS, []),
  global: {
    ...leaf(
      'Values that a parent chart shares with this chart: imageRegistry replaces image.registry, and imagePullSecrets (names, or objects with a name) are added to image.pullSecrets.',
      { ...ANY_OBJECT, properties: { imageRegistry: { type: 'string', pattern: REGISTRY_OR_NONE } } },
      undefined,
    ),
    hidden: true as const,
  },
  enabled: ENABLED,
};

const OF_PROGRAMS = Object.entries({ agent: AGENT_VALUES, coordinator: COORDINATOR_VALUES }).flatMap(
  ([program, { fields }]) => Object.keys(fields).map((name) => ({ name, path: `${program}.${name}` })),
);

/** Values of one program that other charts have for all pods, such as tolerations, with their paths in this one. */
export const MISPLACED: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Map.groupBy(OF_PROGRAMS, ({ name }) => name)
    .entries()
    .filter(([name]) => !Object.hasOwn(FIELDS, name))
    .map(([name, all]) => [name, all.map(({ path }) => path)]),
);

/** Every value of the chart. Its values.yaml, its schema and the table on its page are made from this. */
export const CHART_VALUES = section('Values of the chart rollcall.', {
  ...FIELDS,
  // A schema has no sentence for people: templates/values/checks.yaml refuses them.
  ...Object.fromEntries(
    Object.entries(MISPLACED).map(([name, paths]) => [
      name,
      { ...leaf(`Not a value: set ${paths.join(' or ')}.`, {}, undefined), hidden: true as const },
    ]),
  ),
});

/** Every value of the chart rollcall-crds. */
export const CRD_CHART_VALUES = section('The CRDs of rollcall.', {
  keep: KEEP_CRDS,
  ...COMMON_METADATA,
  global: hidden('Values that a parent chart shares with this chart; not used.', 'object'),
  enabled: ENABLED,
});
