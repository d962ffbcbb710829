import { DEFAULT_POOL_LABELS, poolsNamed } from '@rollcall/common/pool-labels.ts';
import { FIELD_MANAGER, MANAGED_LABELS_ANNOTATION, PREDECESSOR_FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { type Evidence, known, orWhenMissing, type Right } from './evidence.ts';
import type { NodeObject } from './objects.ts';

/** Of Kubernetes 1; the chart refuses older ones. */
const OLDEST_MINOR = 34;

export const apiServerVersion: Check = ({ version }) => {
  const { gitVersion, minor } = known(version);
  if (Number.parseInt(minor, 10) >= OLDEST_MINOR) return { well: `API server ${gitVersion}: rollcall supports it` };
  const text = `API server ${gitVersion}: rollcall requires Kubernetes 1.${OLDEST_MINOR} or newer, and its chart refuses older ones`;
  return { findings: [{ severity: 'fail', text, cure: `upgrade the cluster to 1.${OLDEST_MINOR} or newer` }] };
};

export const admissionPolicies: Check = ({ admission }) => {
  const kinds = known(admission);
  const findings: Finding[] = [];
  if (!kinds.includes('validatingadmissionpolicies')) {
    const text = 'The API server has no ValidatingAdmissionPolicy v1: nothing limits the coordinator to its own keys';
    findings.push({
      severity: 'fail',
      text,
      cure: 'switch the API on, or install with --set policies.fence.enabled=false and accept the risk',
    });
  }
  if (!kinds.includes('mutatingadmissionpolicies')) {
    const text =
      'The API server has no MutatingAdmissionPolicy v1: new nodes get the labels of their pool only after their creation';
    findings.push({
      severity: 'warn',
      text,
      cure: 'use Kubernetes 1.36 or newer for this, or leave policies.poolLabels and policies.startupTaint off',
    });
  }
  return result(findings, 'the API server has the admission policies that rollcall uses');
};

const RBAC = 'rbac.authorization.k8s.io';

export const rightsToInstall: Check = async ({ may, namespace }) => {
  const rights: Right[] = [
    { verb: 'create', group: '', resource: 'namespaces' },
    { verb: 'create', group: RBAC, resource: 'clusterroles' },
    { verb: 'create', group: RBAC, resource: 'clusterrolebindings' },
    { verb: 'create', group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
    { verb: 'create', group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' },
    { verb: 'create', group: 'apps', resource: 'daemonsets', namespace },
    { verb: 'create', group: 'apps', resource: 'deployments', namespace },
    { verb: 'create', group: '', resource: 'serviceaccounts', namespace },
  ];
  const missing = await missingRights(rights, may);
  if (missing.length === 0) return { well: 'you may create the main objects that the chart installs' };
  const text = `You may not ${listed(missing, 8)}`;
  return {
    findings: [{ severity: 'fail', text, cure: 'ask someone with the role cluster-admin to install the chart' }],
  };
};

/** Returns in words the rights that a user does not have. */
export async function missingRights(rights: readonly Right[], may: Evidence['may'], user?: string): Promise<string[]> {
  const allowed = await Promise.all(rights.map((right) => may(right, user)));
  return rights.filter((_right, index) => !known(allowed[index] ?? { value: false })).map(wordsOf);
}

function wordsOf({ verb, group, resource, subresource, name, namespace }: Right): string {
  const full = `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  return `${verb} ${full}${name === undefined ? '' : ` "${name}"`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

/** Which taints rollcall writes by its configuration and its NodeServices. */
function taintsOf({ config, nodeServices }: Evidence): string[] {
  const { readinessGate, gitpod } = orWhenMissing<Record<string, unknown>>(config, {});
  const isGate = (readinessGate === 'taint' || readinessGate === 'both') && gitpod !== false;
  const gate = isGate ? ['gitpod.io/ws-daemon-not-ready', 'gitpod.io/registry-facade-not-ready'] : [];
  const services = orWhenMissing(nodeServices, []).flatMap(({ spec }) => spec?.publish?.taint?.key ?? []);
  return [...new Set([...gate, ...services])];
}

/** `startup-taint.…` and `status-taint.…` are known to cluster-autoscaler by their prefix. */
const KNOWN_TO_AUTOSCALER = /^(startup-taint|status-taint|ignore-taint)\.cluster-autoscaler\.kubernetes\.io\//;
/** Karpenter expects others to take these off. */
const KNOWN_TO_KARPENTER = 'readiness.k8s.io/';

export const clusterAutoscaler: Check = (evidence) => {
  const autoscaler = known(evidence.workloads).find(({ spec }) =>
    spec?.template?.spec?.containers?.some(({ image = '' }) => /\/cluster-autoscaler(?:[:@-]|$)/.test(image)),
  );
  const taints = taintsOf(evidence).filter((key) => !KNOWN_TO_AUTOSCALER.test(key));
  if (!autoscaler) return { well: 'cluster-autoscaler does not run here as a Deployment' };
  const { metadata, spec } = autoscaler;
  const containers = spec?.template?.spec?.containers ?? [];
  const declared = containers.flatMap(({ args = [], ...container }) => [
    ...args,
    ...((container as { command?: string[] }).command ?? []),
  ]);
  const isDeclared = (key: string) =>
    declared.some((arg) => {
      const [, flag, value = ''] = /^--?([a-z]+-taint(?:-prefix)?)=(.+)$/.exec(arg) ?? [];
      return flag?.endsWith('-prefix') ? key.startsWith(value) : value === key;
    });
  const missing = taints.filter((key) => !isDeclared(key));
  if (missing.length === 0)
    return {
      well: `cluster-autoscaler (${metadata.namespace}/${metadata.name}) knows every taint that rollcall writes`,
    };
  const text = `cluster-autoscaler does not know ${listed(missing)}: while the nodes of a group have such a taint, it expects that new nodes of the group have it too`;
  const cure = `add to the arguments of ${metadata.namespace}/${metadata.name}: ${missing.map((key) => `--status-taint=${key}`).join(' ')}`;
  return { findings: [{ severity: 'fail', text, cure }] };
};

export const karpenter: Check = (evidence) => {
  const pools = orWhenMissing(evidence.karpenterPools, []);
  if (pools.length === 0) return { well: 'this cluster has no NodePools of Karpenter' };
  const taints = taintsOf(evidence).filter((key) => !key.startsWith(KNOWN_TO_KARPENTER));
  const findings = taints.flatMap((key): Finding[] => {
    const without = pools.filter(
      ({ spec }) => !spec?.template?.spec?.startupTaints?.some((taint) => taint.key === key),
    );
    if (without.length === 0) return [];
    const names = listed(without.map(({ metadata }) => metadata.name));
    const text = `${count(without.length, 'NodePool')} of Karpenter ${without.length === 1 ? 'does' : 'do'} not list ${key}: ${names}`;
    return [
      {
        severity: 'warn',
        text,
        cure: 'add it to spec.template.spec.startupTaints (this replaces the nodes of the pool); without it, Karpenter may create a second node for the same pods',
      },
    ];
  });
  return result(findings, `Karpenter knows every taint that rollcall writes (${count(pools.length, 'NodePool')})`);
};

export const nodeReadinessRules: Check = (evidence) => {
  const taints = taintsOf(evidence);
  const findings = orWhenMissing(evidence.readinessRules, []).flatMap(({ metadata, spec }): Finding[] => {
    const key = spec?.taint?.key;
    if (key === undefined || !taints.includes(key)) return [];
    const text = `The NodeReadinessRule ${metadata.name} writes ${key}, as rollcall does: they would undo each other's changes`;
    const cure = `let the NodeService publish a condition instead of the taint, and name the condition in the rule; or delete nodereadinessrule/${metadata.name}`;
    return [{ severity: 'warn', text, cure }];
  });
  return result(findings, 'no NodeReadinessRule writes a taint that rollcall writes');
};

type Predecessor = {
  image: RegExp;
  name: string;
  /** The section of packages/docs/how-to/migrate.md. */
  section: string;
  /** What it leaves on Nodes: the field manager, or an annotation. */
  trace: (node: NodeObject) => boolean;
  /** What to copy to the values of the chart, for the Deployment `namespace/name`. */
  copy: (where: { namespace: string; name: string }) => string;
};

const isManagedBy =
  (name: string) =>
  ({ metadata: { managedFields = [] } }: NodeObject) =>
    managedFields.some(({ manager }) => manager === name);

/** Programs that write keys which rollcall decides as well, by their image and by what they leave. */
const LABELERS: readonly Predecessor[] = [
  {
    image: /\/node-labeler(?:[:@]|$)/,
    name: "Gitpod's node-labeler",
    section: 'gitpods-node-labeler',
    trace: isManagedBy(PREDECESSOR_FIELD_MANAGER),
    copy: () => 'its --namespace, --registry-facade-port and --ws-daemon-port to gitpod.namespace, …Port',
  },
  {
    image: /nodepool-labels-operator/,
    name: "Banzai's nodepool-labels-operator",
    section: 'banzai-clouds-nodepool-labels-operator',
    trace: ({ metadata: { annotations = {} } }) => annotations[MANAGED_LABELS_ANNOTATION] !== undefined,
    copy: ({ namespace, name }) =>
      `controller.namespace, controller.nodepoolNameLabels and labeler.forbiddenLabelDomains (kubectl -n ${namespace} get configmap ${name} -o yaml, and variables NPLSO_…, which count more) to coordinator.config.poolNamespace, poolLabels and forbiddenLabelDomains`,
  },
  {
    image: /k8s-auto-labeller|node-label-monitor/,
    name: "adaptant's k8s-auto-labeller",
    section: 'adaptants-k8s-auto-labeller-and-node-label-monitor',
    trace: isManagedBy('k8s-auto-labeller'),
    copy: () =>
      'the files of its -label-dir to rules.files or rules.configMaps, and -endpoint to coordinator.config.notifyUrl',
  },
];

/** Nodes that a predecessor has written to, and rollcall has not. */
function traces({ nodes }: Pick<Evidence, 'nodes'>): Finding[] {
  const untaken = orWhenMissing(nodes, []).filter((node) => !isManagedBy(FIELD_MANAGER)(node));
  return LABELERS.flatMap(({ name, section, trace }): Finding[] => {
    const names = untaken.filter(trace).map(({ metadata }) => metadata.name);
    if (names.length === 0) return [];
    const text = `${name} has written to ${count(names.length, 'node')} that rollcall has not written to: ${listed(names, 3)}`;
    return [{ severity: 'warn', text, cure: `follow packages/docs/how-to/migrate.md#${section}` }];
  });
}

/** Nodes whose labels name pools with different objects of labels: listed labels of the later one stay. */
export const poolsAgree: Check = ({ nodes, config, nodePoolLabels, nodePoolLabelSets }) => {
  const { poolLabels } = orWhenMissing<Record<string, unknown>>(config, {});
  const keys = Array.isArray(poolLabels) && poolLabels.length > 0 ? poolLabels.map(String) : DEFAULT_POOL_LABELS;
  const none = { missing: true, problem: '' };
  const sets = [nodePoolLabels, nodePoolLabelSets].flatMap((each) => orWhenMissing(each ?? none, []));
  const withSet = new Set(sets.map(({ metadata, spec }) => spec?.pool || metadata.name));
  const unsure = orWhenMissing(nodes, []).flatMap(({ metadata: { name, labels = {} } }) => {
    const [first, ...others] = poolsNamed(labels, keys);
    const other = others.find((pool) => withSet.has(pool));
    return other === undefined ? [] : [`${name} (${first} or ${other})`];
  });
  if (unsure.length === 0) return { findings: [] };
  const text = `Labels name several pools for ${count(unsure.length, 'node')}, and a NodePoolLabels or NodePoolLabelSet is for a later one: ${listed(unsure, 3)}`;
  const cure =
    'set coordinator.config.poolLabels to the labels that count, in their order, such as those of the predecessor; until then, listed labels of the later pool stay';
  return { findings: [{ severity: 'warn', text, cure }] };
};

export const otherLabelers: Check = ({ workloads, nodes }) => {
  const findings = known(workloads).flatMap(({ metadata, spec }): Finding[] => {
    const images = spec?.template?.spec?.containers?.map(({ image = '' }) => image) ?? [];
    const found = LABELERS.find(({ image }) => images.some((each) => image.test(each)));
    if (!found || spec?.replicas === 0) return [];
    const where = `${metadata.namespace}/${metadata.name}`;
    const text = `${found.name} runs (${where}) and writes the same keys: it and rollcall would undo each other's changes`;
    const { namespace = 'default', name } = metadata;
    const copied = `follow packages/docs/how-to/migrate.md#${found.section}: copy ${found.copy({ namespace, name })}`;
    const cure = `${copied}; install rollcall with coordinator.config.dryRun=true first, then stop the other labeler: kubectl -n ${metadata.namespace} scale deployment/${metadata.name} --replicas=0`;
    return [{ severity: 'fail', text, cure }];
  });
  return result(findings.length > 0 ? findings : traces({ nodes }), 'no other known labeler writes the same keys');
};

export const nodesThere: Check = ({ nodes }) => {
  const all = known(nodes);
  const without = all.filter(
    ({ metadata: { labels = {} } }) =>
      labels['type'] === 'virtual-kubelet' ||
      labels['eks.amazonaws.com/compute-type'] === 'fargate' ||
      labels['kubernetes.io/os'] === 'windows',
  );
  const besides = without.length > 0 ? `; ${count(without.length, 'node')} cannot (virtual or Windows)` : '';
  if (all.length > without.length)
    return { well: `${count(all.length - without.length, 'node')} can run an agent${besides}` };
  return { findings: [{ severity: 'fail', text: 'No node can run an agent', cure: 'check --context' }] };
};
