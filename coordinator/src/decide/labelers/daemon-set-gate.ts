import { KNOWN_TAINT_PREFIXES, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { UndecidedLabel } from '../../model/undecided.ts';
import { isAskedFor, untoleratedTaint } from '../../state/daemon-placement.ts';
import { isDaemonPodOf, type ObservedDaemonPod, type ObservedDaemonSet } from '../../state/daemon-sets.ts';
import type { EvaluatedNode } from './labeler.ts';

/** Which DaemonSets a new node waits for, and for how long. */
export type DaemonSetGateOptions = {
  /** Of these namespaces; of all where none is named. */
  namespaces: readonly string[];
  /** Not these: `NAME`, `NAMESPACE/NAME`, or the label `KEY=VALUE` of the DaemonSet. */
  exclude: readonly string[];
  /** Further keys of taints that a node has only while it starts; with a slash at the end, what they begin with. */
  startupTaints: readonly string[];
  timeoutMs: number;
  /** Whether a node opens after that time, or goes on waiting. */
  onTimeout: 'Open' | 'Stay';
};

/** Taints that others put on a node while it starts, and take off again. */
const STARTUP_TAINTS: readonly string[] = [
  ...KNOWN_TAINT_PREFIXES,
  'ignore-taint.cluster-autoscaler.kubernetes.io/',
  'karpenter.sh/unregistered',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/network-unavailable',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cilium.io/agent-not-ready',
  'ebs.csi.aws.com/agent-not-ready',
  'efs.csi.aws.com/agent-not-ready',
];

export type DaemonSetsWaited = {
  /** DaemonSets that belong on the node and have no Ready pod there, each with the reason; for people. */
  missing: readonly string[];
  /** DaemonSets that belong there, and whose pods cannot come before the gate opens. */
  intolerant: readonly string[];
};

/** The labels that the node is about to have or may get, and the taints that services publish. */
type Coming = {
  labels: Readonly<Record<string, string>>;
  undecided: UndecidedLabel;
  serviceTaints: ReadonlySet<string>;
};

type GatedNode = Pick<EvaluatedNode, 'name' | 'createdAtMs' | 'taints' | 'onDemand' | 'servicesKnown'>;

/**
 * What a node waits for: the DaemonSets that its controller would place there in its steady state, without the taints of
 * its start, and that have no Ready pod of this Node.
 */
export function daemonSetsOf(node: GatedNode, options: DaemonSetGateOptions, coming: Coming): DaemonSetsWaited {
  const { name, taints = [], onDemand } = node;
  const { labels, undecided, serviceTaints } = coming;
  const { daemonSets, daemonPods } = onDemand;
  if (!daemonSets || !daemonPods) return unlisted('DaemonSets');
  // Any taint may be one of theirs.
  if (!node.servicesKnown) return unlisted('NodeServices');
  const ofStart = [...STARTUP_TAINTS, ...options.startupTaints];
  const steady = taints.filter(({ key }) => !serviceTaints.has(key) && !ofStart.some((each) => isNamed(key, each)));
  const gate = taints.filter(({ key }) => key === STARTUP_TAINT);
  const missing: string[] = [];
  const intolerant: string[] = [];
  for (const daemonSet of daemonSets) {
    const { template } = daemonSet;
    const title = `${daemonSet.namespace}/${daemonSet.name}`;
    if (isExcluded(daemonSet, options) || untoleratedTaint(template, steady)) continue;
    const isAsked = isAskedFor(template, { name, labels }, undecided);
    if (isAsked === false) continue;
    if (untoleratedTaint(template, gate)) {
      if (isAsked) intolerant.push(title);
      continue;
    }
    const own = daemonPods.filter(({ uid }) => uid === daemonSet.uid);
    if (own.some((pod) => isDaemonPodOf(pod, node))) continue;
    missing.push(`${title} (${isAsked ? whyNot(daemonSet, own, taints) : 'whether it belongs here is not known yet'})`);
  }
  return { missing: missing.sort(), intolerant: intolerant.sort() };
}

function unlisted(what: string): DaemonSetsWaited {
  return { missing: [`the ${what}, which have not been listed yet`], intolerant: [] };
}

function isNamed(key: string, name: string): boolean {
  return name.endsWith('/') ? key.startsWith(name) : key === name;
}

function isExcluded({ namespace, name, labels }: ObservedDaemonSet, { namespaces, exclude }: DaemonSetGateOptions) {
  if (namespaces.length > 0 && !namespaces.includes(namespace)) return true;
  return exclude.some((each) => {
    const [key = '', value] = each.split('=');
    return value === undefined ? each === name || each === `${namespace}/${name}` : labels[key] === value;
  });
}

function whyNot(
  { template }: ObservedDaemonSet,
  [pod]: readonly ObservedDaemonPod[],
  taints: NonNullable<GatedNode['taints']>,
): string {
  if (pod) return pod.problem ?? 'Ready since before the Node was created';
  const taint = untoleratedTaint(template, taints);
  return taint ? `waits for the taint ${taint.key} to go` : 'no pod yet';
}
