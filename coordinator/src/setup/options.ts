import { checkLabel, checkListen, checkSubdomain, isSubdomain, PORT } from '@rollcall/common/config/checks.ts';
import type { OptionTable } from '@rollcall/common/config/option.ts';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { FACT_PREFIX, REPAIR_CONDITIONS } from '@rollcall/common/well-known.ts';
import { checkNotifyUrls } from './notify-url.ts';
import { DEFAULT_POOL_LABELS } from './pools.ts';
import { parseScoreWeights } from './score-weights.ts';
import { checkSelector } from './selector-text.ts';

function checkUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return 'must be an http:// or https:// URL';
  return url.username || url.password ? 'must not hold a user name or password' : undefined;
}

/** A label key may have 63 characters, and `registry-facade_ready_ns_` takes 25 of them. */
function checkComponentNamespace(text: string): string | undefined {
  return text.length > 38 ? 'must have at most 38 characters, as it is part of label keys' : checkLabel(text);
}

function checkPrefixes(prefixes: readonly string[]): string | undefined {
  const odd = prefixes.find((prefix) => !/^[A-Za-z0-9][-A-Za-z0-9_.]*(\/[-A-Za-z0-9_.]*)?$/.test(prefix));
  return odd === undefined ? undefined : `must hold what keys of labels begin with: ${JSON.stringify(odd)} is none`;
}

function checkClasses(prefixes: readonly string[]): string | undefined {
  return prefixes.every((prefix) => /^[0-9A-Fa-f]{1,4}$/.test(prefix))
    ? undefined
    : 'must hold up to four hex digits each';
}

/** Every setting of the coordinator. README.md and `--help` are made from this table. */
export const COORDINATOR_OPTIONS = {
  kubeconfig: {
    type: 'string',
    env: ['KUBECONFIG'],
    defaultText: 'in-cluster',
    help: 'Path of a kubeconfig; several, separated by colons, are merged.',
  },
  master: {
    type: 'string',
    check: checkUrl,
    help: 'Deprecated: address of the API server, which overrides the one in the kubeconfig.',
  },
  namespace: {
    type: 'string',
    default: 'default',
    check: checkComponentNamespace,
    help: 'Namespace of the Gitpod components; it is also part of the label keys.',
  },
  registryFacadePort: { ...PORT, default: 31750, help: 'Port of registry-facade on each node, told to the agents.' },
  wsDaemonPort: { ...PORT, default: 8080, help: 'Port of ws-daemon in its pod, told to the agents.' },
  readinessGate: {
    type: 'string',
    default: 'label',
    choices: ['label', 'taint', 'both'],
    help: 'How a node shows that a service is not ready: by the absence of its label, by a taint, or by both.',
  },
  gitpod: {
    type: 'boolean',
    default: true,
    help: 'Know the services of Gitpod; false: none of them is probed, written or watched.',
  },
  servicesAllowedPrefixes: {
    type: 'list',
    default: [],
    check: checkPrefixes,
    defaultText: 'all',
    help: 'What the keys and conditions that NodeServices publish have to begin with. The domains of Kubernetes are never allowed for labels, and for taints only where autoscalers know them.',
  },
  servicesConditions: {
    type: 'boolean',
    default: true,
    help: 'NodeServices may publish conditions of Nodes, which takes the right to patch nodes/status; false: one that does is not accepted.',
  },
  allowCondition: {
    type: 'list',
    default: [],
    check: (types) => {
      const odd = types.find((type) => !REPAIR_CONDITIONS.includes(type));
      return odd === undefined ? undefined : `must name some of ${REPAIR_CONDITIONS.join(', ')}: ${odd} is none`;
    },
    help: 'Conditions that a NodeService may publish although Karpenter replaces nodes for them.',
  },
  allowNoExecute: {
    type: 'boolean',
    default: false,
    help: 'NodeServices may publish taints with the effect NoExecute, which evict pods; the fence has to allow the same.',
  },
  requirePod: {
    type: 'boolean',
    default: true,
    help: 'A service is ready only with a Ready, not terminating pod of it on the node; false goes by the agents alone.',
  },
  poolLabels: {
    type: 'list',
    env: ['NPLSO_CONTROLLER_NODEPOOLNAMELABELS'],
    default: [...DEFAULT_POOL_LABELS],
    check: (keys) => (keys.length > 0 && keys.every(isLabelKey) ? undefined : 'must name label keys, one at least'),
    help: 'Node labels that name the pool of a node, the first that has a value counts.',
  },
  poolNamespace: {
    type: 'string',
    env: ['NPLSO_CONTROLLER_NAMESPACE'],
    check: checkLabel,
    defaultText: 'own namespace',
    help: 'Namespace of the NodePoolLabelSets; those of other namespaces are ignored.',
  },
  forbiddenLabelDomains: {
    type: 'list',
    env: ['NPLSO_LABELER_FORBIDDENLABELDOMAINS'],
    default: [],
    check: (domains) => {
      const odd = domains.find((domain) => !isSubdomain(domain.toLowerCase()));
      return odd === undefined ? undefined : `must hold domains, such as example.com: ${JSON.stringify(odd)} is none`;
    },
    help: 'Domains that a NodePoolLabelSet may set no labels in, besides k8s.io and kubernetes.io; what is below them counts.',
  },
  poolsAllowedPrefixes: {
    type: 'list',
    default: [],
    defaultText: 'any',
    check: checkPrefixes,
    help: 'What the keys of labels that a NodePoolLabelSet asks for have to begin with; the fence has to allow the same.',
  },
  startupGateRequires: {
    type: 'list',
    default: [],
    check: (keys) => (keys.every(isLabelKey) ? undefined : 'must name label keys, or services'),
    help: 'Labels that a new node waits for behind the startup taint, and services by their names, which have to be ready where they are for the node; without any, that taint is removed.',
  },
  startupGateMaxWaitSeconds: {
    type: 'number',
    default: 600,
    min: 1,
    max: 86_400,
    help: 'How long a node waits behind the startup taint at most, from its creation.',
  },
  labelDir: {
    type: 'string',
    check: (text) => (text === '' ? 'must be the path of a directory' : undefined),
    defaultText: 'none, no rules',
    help: 'Directory of rule files, NAMESPACE/LABEL each, watched: which labels imply which.',
  },
  rulesAllowedPrefixes: {
    type: 'list',
    default: [],
    defaultText: "all but Kubernetes' own domains",
    check: checkPrefixes,
    help: 'What the keys of labels that rules create have to begin with; the fence has to allow the same.',
  },
  massWithdrawalDelaySeconds: {
    type: 'number',
    default: 60,
    min: 0,
    max: 86_400,
    help: 'How long labels stay that more than 10 nodes would lose because sets of pools or rules are gone, so that somebody can notice; 0 for not at all.',
  },
  pciDeviceClassWhitelist: {
    type: 'list',
    // NFD's, and the class of an Edge TPU on PCIe.
    default: ['03', '0b40', '12', '0880'],
    check: checkClasses,
    help: 'What the class of a PCI device begins with that is labelled, in hex.',
  },
  pciDeviceLabelFields: {
    type: 'list',
    default: ['class', 'vendor'],
    help: 'What labels of PCI devices are made of: class, vendor, device, subsystem_vendor, subsystem_device.',
  },
  usbDeviceClassWhitelist: {
    type: 'list',
    default: ['0e', 'ef', 'fe', 'ff'],
    check: checkClasses,
    help: 'What the class of a USB device begins with that is labelled, in hex.',
  },
  usbDeviceLabelFields: {
    type: 'list',
    default: ['class', 'vendor', 'device'],
    help: 'What labels of USB devices are made of: class, vendor, device, serial.',
  },
  factLabels: {
    type: 'list',
    default: [],
    check: (names) =>
      names.every((name) => isLabelKey(`${FACT_PREFIX}${name}`)) ? undefined : 'must name facts, such as cpu-vendor',
    help: 'Facts about the machine to label nodes with, as fact.rollcall.dev/NAME.',
  },
  evict: {
    type: 'boolean',
    default: false,
    help: 'Evict pods whose required node affinity or nodeSelector is no longer met, as rollcall took a label away.',
  },
  evictReadiness: {
    type: 'boolean',
    default: false,
    help: 'With --evict: the labels of services that are not ready evict, too.',
  },
  evictionDelaySeconds: {
    type: 'number',
    default: 30,
    min: 0,
    max: 3600,
    integer: false,
    help: 'How long a label has to be away before pods are evicted for it.',
  },
  evictionsPerMinute: {
    type: 'number',
    default: 60,
    min: 1,
    max: 6000,
    help: 'How many pods of the cluster are evicted in a minute at most.',
  },
  notifyUrl: {
    type: 'list',
    default: [],
    check: checkNotifyUrls,
    // Its path or query may hold one.
    secret: true,
    help: 'Where changes of the labels and annotations of nodes are posted to, as JSON; http:// unless told.',
  },
  notifyNodes: {
    type: 'list',
    default: [],
    defaultText: 'all',
    check: (names) => (names.every(isSubdomain) ? undefined : 'must name nodes'),
    help: 'The only nodes whose changes are posted to --notify-url.',
  },
  reportsListen: {
    type: 'string',
    default: '[::]:8443',
    check: checkListen,
    help: 'Address for the reports of agents.',
  },
  tls: {
    type: 'string',
    default: 'on',
    choices: ['on', 'off'],
    help: 'TLS for reports; off only where --reports-listen is a loopback address.',
  },
  tlsCertFile: {
    type: 'string',
    defaultText: 'a certificate of its own',
    help: 'Certificate chain (PEM) for reports, re-read when it changes. Without it the coordinator makes and rotates its own.',
  },
  tlsKeyFile: { type: 'string', defaultText: 'a key of its own', help: 'Private key (PEM) of --tls-cert-file.' },
  advertiseUrl: {
    type: 'string',
    check: checkUrl,
    defaultText: 'host from `POD_IP`, else the listen address; port as bound',
    help: 'Where this replica takes reports while it leads; standbys redirect agents there.',
  },
  listen: {
    type: 'string',
    default: '[::]:8086',
    check: checkListen,
    help: 'Address of /healthz, /readyz and /metrics, or off.',
  },
  schedulerListen: {
    type: 'string',
    default: '[::]:8888',
    check: checkListen,
    help: 'Address of the scheduler extender, or off.',
  },
  schedulerTls: {
    type: 'string',
    default: 'off',
    choices: ['on', 'off'],
    help: 'TLS for the scheduler extender, with the certificate for reports.',
  },
  schedulerClientCaFile: {
    type: 'string',
    defaultText: 'no certificate is asked for',
    help: 'CA certificates (PEM): only schedulers with a certificate by one of them are answered; needs --scheduler-tls.',
  },
  schedulerPodSelector: {
    type: 'string',
    check: checkSelector,
    defaultText: '`component=workspace`, or none with `--gitpod=false`',
    help: 'The pods that the scheduler extender places, by their labels; others pass everywhere.',
  },
  schedulerNamespace: {
    type: 'string',
    check: checkLabel,
    defaultText: '`--namespace`',
    help: 'Where the pods are that the scheduler extender places, and counts.',
  },
  schedulerServices: {
    type: 'list',
    defaultText: 'those of Gitpod',
    check: (names) => (names.every(isSubdomain) ? undefined : 'must name NodeServices'),
    help: 'Services that have to be ready on a node for such a pod, by their names.',
  },
  schedulerNodeSelector: {
    type: 'string',
    check: checkSelector,
    defaultText: 'by the labels for workspaces of their kind',
    help: 'The nodes that such pods may go to, by their labels.',
  },
  maxWorkspacesPerNode: {
    type: 'number',
    default: 110,
    min: 1,
    max: 10_000,
    help: 'How many of the pods that it places the scheduler extender lets onto a node.',
  },
  maxStartingPerNode: {
    type: 'number',
    default: 10,
    min: 1,
    max: 10_000,
    help: 'How many of them may be starting on a node at a time.',
  },
  scoreWeights: {
    type: 'list',
    default: [],
    defaultText: 'density=4, occupied=2, image=2, spread=1, scale-down=1, fresh=2, steady=1',
    check: (entries) => parseScoreWeights(entries).problem,
    help: 'What counts how much when the scheduler extender compares nodes, as TERM=WEIGHT; the others stay.',
  },
  consoleListen: {
    type: 'string',
    default: '127.0.0.1:8090',
    check: checkListen,
    help: 'Address of the console, which explains every node as JSON (/v1/nodes, /v1/nodes/NAME, /v1/plan), or off.',
  },
  leaderElect: {
    type: 'boolean',
    default: true,
    help: 'Elect one leader among the replicas; false is for a single replica that is never replaced while it runs.',
  },
  leaseName: {
    type: 'string',
    default: 'rollcall-coordinator',
    check: checkSubdomain,
    help: 'Name of the Lease of the election.',
  },
  leaseNamespace: { type: 'string', defaultText: 'own namespace', check: checkLabel, help: 'Namespace of the Lease.' },
  agentServiceAccount: {
    type: 'string',
    defaultText: '`system:serviceaccount:<own namespace>:rollcall-agent`',
    check: (text) =>
      /^system:serviceaccount:[^:]+:[^:]+$/.test(text) ? undefined : 'must be system:serviceaccount:NAMESPACE:NAME',
    help: 'The only account whose reports are taken.',
  },
  localTokenVerification: {
    type: 'boolean',
    default: true,
    help: 'Check the signatures of tokens by the keys of the API server, so that it is asked only about those that these do not decide.',
  },
  staleAfterSeconds: {
    type: 'number',
    default: 30,
    min: 1,
    max: 3600,
    integer: false,
    help: 'A node whose agent was not heard for so long is silent, and loses its readiness labels.',
  },
  fleetGuardPercent: {
    type: 'number',
    default: 55,
    min: 1,
    max: 100,
    integer: false,
    help: 'While this share of all nodes, or of a pool, is silent, silence withdraws nothing.',
  },
  dryRun: {
    type: 'boolean',
    default: false,
    help: 'Take reports, decide and log what would be written, but write to no Node.',
  },
  prune: {
    type: 'boolean',
    default: false,
    flagOnly: true,
    help: 'Remove everything that rollcall owns from every node, wait until it holds, and exit.',
  },
  jsonLog: { type: 'boolean', default: true, short: 'j', help: 'Log JSON lines; false logs lines for people.' },
  verbose: { type: 'boolean', default: false, short: 'v', help: 'Log more.' },
  config: { type: 'string', flagOnly: true, help: 'Configuration file (YAML, kind CoordinatorConfiguration).' },
} as const satisfies OptionTable;
