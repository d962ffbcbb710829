import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { selectsYet } from '../../model/label-selector.ts';
import type { Service } from '../../model/services.ts';
import type { UndecidedLabel } from '../../model/undecided.ts';
import { type DaemonSetGateOptions, type DaemonSetsWaited, daemonSetsOf } from './daemon-set-gate.ts';
import { type Claim, type Consequence, type EvaluatedNode, labelsAfter } from './labeler.ts';

export type StartupGateOptions = {
  /** Labels, or services by their names, that a node waits for; none switches the gate off. */
  requires: readonly string[];
  maxWaitMs: number;
  /** Waits for DaemonSets as well. */
  daemonSets?: DaemonSetGateOptions | undefined;
};

/** The services that are in force, as they are at the moment. */
type Services = () => readonly Pick<Service, 'name' | 'nodeSelector' | 'publish'>[];

/**
 * What is required that the node lacks, for people. What is the name of a service is that service, and a label else. One
 * that is not for the node is not waited for, unless it is by the labels that the node is about to have, or may get.
 */
function missingAtGate(
  { labels, readiness }: Pick<EvaluatedNode, 'labels' | 'readiness'>,
  requires: readonly string[],
  services: Services,
  coming: { labels: () => Readonly<Record<string, string>>; undecided: UndecidedLabel },
): string[] {
  const known = new Map(services().map((service) => [service.name, service]));
  return requires.flatMap((each) => {
    const service = known.get(each);
    if (!service) return labels[each] === undefined ? [each] : [];
    const verdict = readiness.get(each);
    if (verdict) return verdict.state === 'ready' ? [] : [`the service ${each}`];
    const isFor = selectsYet(service.nodeSelector, coming.labels(), coming.undecided);
    return isFor ? [`the service ${each}`] : [];
  });
}

/**
 * Removes the startup taint that an admission policy, or the kubelet's --register-with-taints, put on a new node: when
 * everything that is required is there, when the node is too old to wait any longer, or at once if nothing is required,
 * since no other component would remove it. rollcall never adds this taint.
 */
export function startupGateLabeler(
  options: StartupGateOptions,
  services: Services,
  undecided: (node: EvaluatedNode) => UndecidedLabel = () => () => undefined,
): Consequence {
  return {
    name: 'startup-gate',
    claims: (node, wishes) => {
      const coming = { labels: () => labelsAfter(node, wishes), undecided: undecided(node) };
      const missing = missingAtGate(node, options.requires, services, coming);
      return [
        {
          kind: 'taint',
          key: STARTUP_TAINT,
          value: '',
          ownership: 'exclusive',
          cause: isOff(options) ? 'configuration' : 'evidence',
          ...stand(node, options, missing, daemonSetsAtGate(node, options, services, coming)),
        },
      ];
    },
  };
}

function isOff({ requires, daemonSets }: StartupGateOptions): boolean {
  return requires.length === 0 && !daemonSets;
}

const NO_DAEMON_SETS: DaemonSetsWaited = { missing: [], intolerant: [] };

/** Only a node with the taint waits; most nodes have left the gate long ago. */
function daemonSetsAtGate(
  node: EvaluatedNode,
  { daemonSets }: StartupGateOptions,
  services: () => readonly Pick<Service, 'publish'>[],
  { labels, undecided }: { labels: () => Readonly<Record<string, string>>; undecided: UndecidedLabel },
): DaemonSetsWaited {
  if (!daemonSets || !node.taints?.some(({ key }) => key === STARTUP_TAINT)) return NO_DAEMON_SETS;
  const serviceTaints = new Set(services().flatMap(({ publish }) => publish.taint?.key ?? []));
  return daemonSetsOf(node, daemonSets, { labels: labels(), undecided, serviceTaints });
}

function stand(
  node: EvaluatedNode,
  options: StartupGateOptions,
  required: readonly string[],
  { missing: daemonSets, intolerant }: DaemonSetsWaited,
): Pick<Claim, 'stance' | 'reason' | 'missing' | 'awaitsDaemonSets'> {
  const { maxWaitMs, daemonSets: { timeoutMs, onTimeout } = { timeoutMs: 0, onTimeout: 'Open' } } = options;
  if (isOff(options)) return { stance: 'absent', reason: 'the startup gate is off' };
  const untold = intolerant.length === 0 ? '' : `; not for ${listed(intolerant)} (${TAINT_NOT_TOLERATED})`;
  const missing = [...required, ...daemonSets];
  if (missing.length === 0)
    return { stance: 'absent', reason: `nothing that the startup gate requires is missing${untold}` };
  const waitedMs = node.waitedMs ?? 0;
  const awaitedSets = waitedMs < timeoutMs || onTimeout === 'Stay' ? daemonSets : [];
  const awaited = [...(waitedMs < maxWaitMs ? required : []), ...awaitedSets];
  const limitMs = Math.max(required.length > 0 ? maxWaitMs : 0, daemonSets.length > 0 ? timeoutMs : 0);
  const limit = `${Math.round(limitMs / 1000)} s`;
  if (awaited.length === 0)
    return {
      stance: 'absent',
      reason: `the maximum wait time of ${limit} is over, without ${listed(missing)}`,
      missing,
    };
  const isForEver = onTimeout === 'Stay' && daemonSets.length > 0;
  const long = isForEver ? 'however long it takes' : `at most ${limit} from its creation`;
  return {
    stance: 'keep',
    reason: `waits for ${listed(awaited)}, ${long}${untold}`,
    missing: awaited,
    ...(awaitedSets.length > 0 ? { awaitsDaemonSets: true } : {}),
  };
}

const TAINT_NOT_TOLERATED = 'TaintNotTolerated: their pods do not tolerate the startup taint';
/** Names in a sentence. */
const LISTED_MAX = 20;

function listed(all: readonly string[]): string {
  const more = all.length - LISTED_MAX;
  return `${all.slice(0, LISTED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
