import { checkLabel, checkListen, checkSubdomain, isSubdomain, PORT } from '@rollcall/common/config/checks.ts';
import type { OptionTable } from '@rollcall/common/config/option.ts';
import { durationMs } from '@rollcall/common/duration-ms.ts';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { DEFAULT_POOL_LABELS } from '@rollcall/common/pool-labels.ts';
import { FACT_PREFIX, REPAIR_CONDITIONS } from '@rollcall/common/well-known.ts';
import { DEVICE_FIELDS } from './device-fields.ts';
import { checkSelector } from './label-selector.ts';
import { parseScoreWeights } from './score-weights.ts';
import { checkNotifyUrls } from './urls.ts';

function checkUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return 'must be an http:// or https:// URL';
  return url.username || url.password ? 'must not contain a user name or password' : undefined;
}

/** A label key may have 63 characters, and `registry-facade_ready_ns_` takes 25 of them. */
function checkComponentNamespace(text: string): string | undefined {
  return text.length > 38 ? 'must have at most 38 characters, as it is part of label keys' : checkLabel(text);
}

function checkPrefixes(prefixes: readonly string[]): string | undefined {
  const odd = prefixes.find((prefix) => !/^[A-Za-z0-9][-A-Za-z0-9_.]*(\/[-A-Za-z0-9_.]*)?$/.test(prefix));
  return odd === undefined
    ? undefined
    : `must be prefixes of label keys, such as example.com/; got ${JSON.stringify(odd)}`;
}

/** `NAME`, `NAMESPACE/NAME`, or `KEY=VALUE`, whose key may have a prefix. */
const EXCLUDED_DAEMON_SET =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$|^[^=\s]+=[-A-Za-z0-9_.]*$/;

function isTimeout(text: string): boolean {
  const ms = durationMs(text);
  return ms !== undefined && ms >= 1000 && ms <= 86_400_000;
}

function firstProblem(
  entries: readonly string[],
  problemOf: (entry: string) => string | undefined,
): string | undefined {
  return entries.map(problemOf).find((problem) => problem !== undefined);
}

/** What matches no class is accepted as by NFD, with a warning. */
function checkClasses(prefixes: readonly string[]): string | undefined {
  return prefixes.every((prefix) => /^(0x)?[0-9A-Fa-f]{1,6}$/i.test(prefix))
    ? undefined
    : 'must be up to four hexadecimal digits each';
}

/** Every setting of the coordinator. packages/docs/reference/flags.md and `--help` are made from this table. */
export const COORDINATOR_OPTIONS = {
  kubeconfig: {
    type: 'string',
    env: ['KUBECONFIG'],
    defaultText: 'in-cluster',
    help: 'Path of a kubeconfig; several paths, separated by colons, are merged.',
  },
  master: {
    type: 'string',
    check: checkUrl,
    help: 'Deprecated: address of the API server; overrides the one in the kubeconfig.',
  },
  namespace: {
    type: 'string',
    default: 'default',
    check: checkComponentNamespace,
    help: 'Namespace of the Gitpod components; it is also part of the label keys.',
  },
  registryFacadePort: { ...PORT, default: 31750, help: 'Port of registry-facade on each node, which agents probe.' },
  wsDaemonPort: { ...PORT, default: 8080, help: 'Port of ws-daemon in its pod, which agents probe.' },
  wsDaemonProbe: {
    type: 'string',
    default: 'tcp',
    choices: ['tcp', 'tls', 'http2'],
    help: 'Answer that ws-daemon must give to a probe: a connection, a TLS ServerHello, or an HTTP/2 SETTINGS frame.',
  },
  registryFacadeCaFile: {
    type: 'string',
    check: (text) => (text === '' ? 'must be the path of a file' : undefined),
    defaultText: 'not verified',
    help: 'CA certificates (PEM, at most 32 KiB) with which agents verify the certificate of registry-facade, reloaded when the file changes.',
  },
  readinessGate: {
    type: 'string',
    default: 'label',
    choices: ['label', 'taint', 'both'],
    help: 'How a node shows that a service is not ready: by the absence of its label, by a taint, or by both.',
  },
  gitpod: {
    type: 'boolean',
    default: true,
    help: 'Enable the services of Gitpod; with false, rollcall does not probe, write or watch them.',
  },
  agents: {
    type: 'boolean',
    default: true,
    help: 'Agents run on the nodes; with false, the coordinator takes no reports, sets no labels of hardware and facts, and does not accept a NodeService with a check that needs an agent.',
  },
  servicesAllowedPrefixes: {
    type: 'list',
    default: [],
    check: checkPrefixes,
    defaultText: 'all',
    help: 'Prefixes that the keys and conditions of NodeServices must have. The domains of Kubernetes are never allowed for labels, and for taints only with the prefixes of autoscalers.',
  },
  servicesConditions: {
    type: 'boolean',
    default: true,
    help: 'Allow NodeServices to publish conditions of Nodes, which requires the right to patch nodes/status; with false, such a NodeService is not accepted.',
  },
  allowCondition: {
    type: 'list',
    default: [],
    check: (types) => {
      const odd = types.find((type) => !REPAIR_CONDITIONS.includes(type));
      return odd === undefined ? undefined : `must be some of ${REPAIR_CONDITIONS.join(', ')}; got ${odd}`;
    },
    help: 'Conditions that NodeServices may publish even though Karpenter replaces nodes because of them.',
  },
  allowNoExecute: {
    type: 'boolean',
    default: false,
    help: 'Allow NodeServices to publish taints with the effect NoExecute, which evict pods; the fence must allow the same.',
  },
  agentProbesPerSecond: {
    type: 'number',
    default: 50,
    min: 2,
    max: 10_000,
    help: 'Probes that the agent of one node may make in a second, by the periods of all checks that can be on one node; a NodeService that would exceed this is refused.',
  },
  requirePod: {
    type: 'boolean',
    default: true,
    help: 'Require a Ready, not terminating pod of a service on the node; with false, the reports of agents alone decide.',
  },
  poolLabels: {
    type: 'list',
    env: ['NPLSO_CONTROLLER_NODEPOOLNAMELABELS'],
    default: [...DEFAULT_POOL_LABELS],
    check: (keys) => (keys.length > 0 && keys.every(isLabelKey) ? undefined : 'must be one or more label keys'),
    help: 'Node labels that name the pool of a node; the first that has a value counts.',
  },
  poolNamespace: {
    type: 'string',
    env: ['NPLSO_CONTROLLER_NAMESPACE'],
    check: checkLabel,
    defaultText: 'own namespace',
    help: 'Namespace of the NodePoolLabels and NodePoolLabelSets; others are ignored.',
  },
  forbiddenLabelDomains: {
    type: 'list',
    env: ['NPLSO_LABELER_FORBIDDENLABELDOMAINS'],
    default: [],
    check: (domains) => {
      const odd = domains.find((domain) => !isSubdomain(domain.toLowerCase()));
      return odd === undefined ? undefined : `must be domains, such as example.com; got ${JSON.stringify(odd)}`;
    },
    help: 'Domains in which NodePoolLabels and NodePoolLabelSets may not set labels, in addition to k8s.io and kubernetes.io; subdomains are included. An entry without a dot also forbids the key of that name.',
  },
  poolsAllowedPrefixes: {
    type: 'list',
    default: [],
    defaultText: 'any',
    check: checkPrefixes,
    help: 'Prefixes that the label keys of NodePoolLabels and NodePoolLabelSets must have; the fence must allow the same.',
  },
  poolsRemovedLabels: {
    type: 'list',
    default: [],
    check: (keys) => (keys.every(isLabelKey) ? undefined : 'must be label keys'),
    help: 'Label keys that no NodePoolLabels or NodePoolLabelSet may set, and that rollcall removes from nodes where nodepool.banzaicloud.io/managed-labels lists them; the fence must allow the same. Other such labels stay.',
  },
  startupGateRequires: {
    type: 'list',
    default: [],
    check: (keys) => (keys.every(isLabelKey) ? undefined : 'must be label keys or names of services'),
    help: 'Labels and names of services that a new node waits for behind the startup taint; a service must be ready if it belongs on the node. Without any, the coordinator removes the taint.',
  },
  startupGateMaxWaitSeconds: {
    type: 'number',
    default: 600,
    min: 1,
    max: 86_400,
    help: 'Maximum time that a node waits behind the startup taint for what --startup-gate-requires lists, from its creation.',
  },
  startupGateDaemonSets: {
    type: 'boolean',
    default: false,
    help: 'Let a new node behind the startup taint wait also until every DaemonSet that belongs on it has a Ready pod there. Requires the rights to list and watch DaemonSets and the pods of all namespaces.',
  },
  startupGateDaemonSetsNamespaces: {
    type: 'list',
    default: [],
    defaultText: 'all',
    check: (names) => firstProblem(names, checkLabel),
    help: 'Namespaces of the DaemonSets that a new node waits for.',
  },
  startupGateDaemonSetsExclude: {
    type: 'list',
    default: [],
    check: (entries) =>
      firstProblem(entries, (entry) =>
        EXCLUDED_DAEMON_SET.test(entry)
          ? undefined
          : `must be names of DaemonSets, as NAME or NAMESPACE/NAME, or labels, as KEY=VALUE; got ${JSON.stringify(entry)}`,
      ),
    help: 'DaemonSets that no node waits for, each by NAME, NAMESPACE/NAME, or a label KEY=VALUE of the DaemonSet.',
  },
  startupGateDaemonSetsTaints: {
    type: 'list',
    default: [],
    check: checkPrefixes,
    help: 'Keys of taints that nodes have only while they start, in addition to those of Kubernetes, autoscalers, Cilium, the EBS and EFS drivers and NodeServices: they do not decide where a DaemonSet belongs. An entry that ends with a slash is a prefix.',
  },
  startupGateDaemonSetsTimeout: {
    type: 'string',
    default: '10m',
    check: (text) => (isTimeout(text) ? undefined : 'must be a duration of 1s to 24h, such as 90s or 10m'),
    help: 'Maximum time that a node waits for DaemonSets, from its creation; after half of it, an Event names what is missing.',
  },
  startupGateDaemonSetsOnTimeout: {
    type: 'string',
    default: 'Open',
    choices: ['Open', 'Stay'],
    help: 'What happens after that time: the node opens, or it goes on waiting.',
  },
  labelDir: {
    type: 'string',
    check: (text) => (text === '' ? 'must be the path of a directory' : undefined),
    defaultText: 'none, no rules',
    help: 'Directory of rule files, each at NAMESPACE/LABEL, which define the labels that imply this label; watched for changes.',
  },
  rulesAllowedPrefixes: {
    type: 'list',
    default: [],
    defaultText: "all but Kubernetes' own domains",
    check: checkPrefixes,
    help: 'Prefixes that the label keys of rules must have; the fence must allow the same.',
  },
  massWithdrawalDelaySeconds: {
    type: 'number',
    default: 60,
    min: 0,
    max: 86_400,
    help: 'Delay before more than 10 nodes, and more than 20 % of those that have it, lose a label because of a changed configuration, so that you can notice; 0 for no delay.',
  },
  hardwareLabels: {
    type: 'string',
    default: 'all',
    choices: ['none', 'known', 'all'],
    help: 'Labels of devices that agents see: none, those of known accelerators (device.rollcall.dev/), or those of all listed classes as well.',
  },
  pciDeviceClassWhitelist: {
    type: 'list',
    // NFD's, and the class of an Edge TPU on PCIe.
    default: ['03', '0b40', '12', '0880'],
    check: checkClasses,
    help: 'Classes of PCI devices to label, as hexadecimal prefixes.',
  },
  pciDeviceLabelFields: {
    type: 'list',
    default: ['class', 'vendor'],
    help: `Fields in the labels of PCI devices: ${DEVICE_FIELDS.pci.join(', ')}.`,
  },
  usbDeviceClassWhitelist: {
    type: 'list',
    default: ['0e', 'ef', 'fe', 'ff'],
    check: checkClasses,
    help: 'Classes of USB devices to label, as hexadecimal prefixes.',
  },
  usbDeviceLabelFields: {
    type: 'list',
    default: ['class', 'vendor', 'device'],
    help: `Fields in the labels of USB devices: ${DEVICE_FIELDS.usb.join(', ')}.`,
  },
  factLabels: {
    type: 'list',
    default: [],
    check: (names) =>
      names.every((name) => isLabelKey(`${FACT_PREFIX}${name}`))
        ? undefined
        : 'must be names of facts, such as cpu-vendor',
    help: 'Facts about the machine to publish as labels fact.rollcall.dev/NAME.',
  },
  evict: {
    type: 'boolean',
    default: false,
    help: 'Evict pods whose required node affinity or nodeSelector no longer matches because rollcall removed a label.',
  },
  evictReadiness: {
    type: 'boolean',
    default: false,
    help: 'With --evict: also evict pods because of the readiness labels of services.',
  },
  evictionDelaySeconds: {
    type: 'number',
    default: 30,
    min: 0,
    max: 3600,
    integer: false,
    help: 'Time for which a label must be absent before pods are evicted because of it.',
  },
  evictionsPerMinute: {
    type: 'number',
    default: 60,
    min: 1,
    max: 6000,
    help: 'Maximum number of pods evicted in a minute, in the whole cluster.',
  },
  notifyUrl: {
    type: 'list',
    default: [],
    check: checkNotifyUrls,
    // Its path or query may hold one.
    secret: true,
    help: 'URLs to which changes of the labels and annotations of nodes are posted as JSON; http:// is the default scheme.',
  },
  notifyNodes: {
    type: 'list',
    default: [],
    defaultText: 'all',
    check: (names) => (names.every(isSubdomain) ? undefined : 'must be names of Nodes'),
    help: 'Nodes whose changes are posted to --notify-url.',
  },
  reportsListen: {
    type: 'string',
    default: '[::]:8443',
    check: checkListen,
    help: 'Listen address for the reports of agents.',
  },
  tls: {
    type: 'string',
    default: 'on',
    choices: ['on', 'off'],
    help: 'TLS for reports; off is allowed only if --reports-listen is a loopback address.',
  },
  tlsCertFile: {
    type: 'string',
    defaultText: 'a certificate of its own',
    help: 'Certificate chain (PEM) for reports, reloaded when the file changes. Without it, the coordinator creates and rotates its own.',
  },
  tlsKeyFile: { type: 'string', defaultText: 'a key of its own', help: 'Private key (PEM) of --tls-cert-file.' },
  advertiseUrl: {
    type: 'string',
    check: checkUrl,
    defaultText: 'host from `POD_IP`, else the listen address; port as bound',
    help: 'URL to which standbys redirect agents while this replica leads.',
  },
  listen: {
    type: 'string',
    default: '[::]:8086',
    check: checkListen,
    help: 'Listen address of /healthz, /readyz and /metrics, or off.',
  },
  schedulerListen: {
    type: 'string',
    default: 'off',
    check: checkListen,
    help: 'Listen address of the scheduler extender, such as [::]:8888, or off.',
  },
  schedulerTls: {
    type: 'string',
    default: 'off',
    choices: ['on', 'off'],
    help: 'TLS for the scheduler extender, with the certificate for reports.',
  },
  schedulerClientCaFile: {
    type: 'string',
    defaultText: 'no client certificate',
    help: 'CA certificates (PEM) that must have signed the client certificates of schedulers; requires --scheduler-tls.',
  },
  schedulerPodSelector: {
    type: 'string',
    check: checkSelector,
    defaultText: '`component=workspace`, or none with `--gitpod=false`',
    help: 'Label selector of the pods that the scheduler extender places; all others pass on every node.',
  },
  schedulerNamespace: {
    type: 'string',
    check: checkLabel,
    defaultText: '`--namespace`',
    help: 'Namespace of the pods that the scheduler extender places and counts.',
  },
  schedulerServices: {
    type: 'list',
    defaultText: 'the services of Gitpod',
    check: (names) => (names.every(isSubdomain) ? undefined : 'must be names of NodeServices'),
    help: 'Names of the services that must be ready on the node of such a pod.',
  },
  schedulerNodeSelector: {
    type: 'string',
    check: checkSelector,
    defaultText: 'by the labels for workspaces of their kind',
    help: 'Label selector of the nodes on which such pods may run.',
  },
  maxWorkspacesPerNode: {
    type: 'number',
    default: 110,
    min: 1,
    max: 10_000,
    help: 'Maximum number of such pods on a node.',
  },
  maxStartingPerNode: {
    type: 'number',
    default: 10,
    min: 1,
    max: 10_000,
    help: 'Maximum number of such pods that are starting on a node at the same time.',
  },
  scoreWeights: {
    type: 'list',
    default: [],
    defaultText: 'density=4, occupied=2, spread=1, fresh=2, steady=1',
    check: (entries) => parseScoreWeights(entries).problem,
    help: 'Weights with which the scheduler extender compares nodes, as TERM=WEIGHT; other terms keep their defaults.',
  },
  consoleListen: {
    type: 'string',
    default: '127.0.0.1:8090',
    check: checkListen,
    help: 'Listen address of the console, which explains every node as JSON (/v1/nodes, /v1/nodes/NAME, /v1/plan), or off.',
  },
  leaderElect: {
    type: 'boolean',
    default: true,
    help: 'Elect one leader among the replicas; set false only for a single replica that is never replaced while it runs.',
  },
  leaseName: {
    type: 'string',
    default: 'rollcall-coordinator',
    check: checkSubdomain,
    help: 'Name of the Lease for the election.',
  },
  leaseNamespace: { type: 'string', defaultText: 'own namespace', check: checkLabel, help: 'Namespace of the Lease.' },
  agentServiceAccount: {
    type: 'string',
    defaultText: '`system:serviceaccount:<own namespace>:rollcall-agent`',
    check: (text) =>
      /^system:serviceaccount:[^:]+:[^:]+$/.test(text) ? undefined : 'must be system:serviceaccount:NAMESPACE:NAME',
    help: 'Service account of the agents; reports of other accounts are refused.',
  },
  localTokenVerification: {
    type: 'boolean',
    default: true,
    help: 'Check the signatures of tokens with the keys of the API server; a TokenReview is sent only for tokens that these keys cannot verify.',
  },
  staleAfterSeconds: {
    type: 'number',
    default: 30,
    min: 1,
    max: 3600,
    integer: false,
    help: 'Time without an accepted report after which a node is silent and loses its readiness labels.',
  },
  fleetGuardPercent: {
    type: 'number',
    default: 55,
    min: 1,
    max: 100,
    integer: false,
    help: 'Share of all nodes, or of a pool, in percent; while that many are silent, silence removes no labels.',
  },
  dryRun: {
    type: 'boolean',
    default: false,
    help: 'Accept reports, decide and log what would be written, but write to no Node.',
  },
  prune: {
    type: 'boolean',
    default: false,
    flagOnly: true,
    help: 'Remove everything that rollcall owns from every node, wait until it is gone, and exit.',
  },
  jsonLog: { type: 'boolean', default: true, short: 'j', help: 'Log in JSON; false logs plain text.' },
  verbose: { type: 'boolean', default: false, short: 'v', help: 'Log more details.' },
  config: { type: 'string', flagOnly: true, help: 'Configuration file (YAML, kind CoordinatorConfiguration).' },
} as const satisfies OptionTable;
