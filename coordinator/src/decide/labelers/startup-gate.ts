import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { selectsYet } from '../../model/label-selector.ts';
import type { Service } from '../../model/services.ts';
import { type Claim, type Consequence, type EvaluatedNode, type LabelWishes, labelsAfter } from './labeler.ts';
import type { UndecidedLabel } from './undecided-labels.ts';

export type StartupGateOptions = {
  /** Labels, or services by their names, that a node waits for; none switches the gate off. */
  requires: readonly string[];
  maxWaitMs: number;
};

/** The services that are in force, as they are at the moment. */
type Services = () => readonly Pick<Service, 'name' | 'nodeSelector'>[];

/**
 * What is required that the node lacks, for people. What is the name of a service is that service, and a label else. One
 * that is not for the node is not waited for, unless it is by the labels that the node is about to have, or may get.
 */
function missingAtGate(
  { labels, readiness }: Pick<EvaluatedNode, 'labels' | 'readiness'>,
  requires: readonly string[],
  services: Services,
  coming: { labels: () => Readonly<Record<string, string>>; undecided?: UndecidedLabel } = { labels: () => labels },
): string[] {
  const known = new Map(services().map((service) => [service.name, service]));
  return requires.flatMap((each) => {
    const service = known.get(each);
    if (!service) return labels[each] === undefined ? [each] : [];
    const verdict = readiness.get(each);
    if (verdict) return verdict.state === 'ready' ? [] : [`the service ${each}`];
    const isFor = selectsYet(service.nodeSelector, coming.labels(), coming.undecided ?? (() => undefined));
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
  undecided?: (node: EvaluatedNode) => UndecidedLabel,
): Consequence {
  const comingTo = (node: EvaluatedNode, wishes: LabelWishes) => ({
    labels: () => labelsAfter(node, wishes),
    ...(undecided ? { undecided: undecided(node) } : {}),
  });
  return {
    name: 'startup-gate',
    claims: (node, wishes) => [
      {
        kind: 'taint',
        key: STARTUP_TAINT,
        value: '',
        ownership: 'exclusive',
        cause: options.requires.length === 0 ? 'configuration' : 'evidence',
        ...stand(node, options, missingAtGate(node, options.requires, services, comingTo(node, wishes))),
      },
    ],
  };
}

function stand(
  node: EvaluatedNode,
  options: StartupGateOptions,
  missing: readonly string[],
): Pick<Claim, 'stance' | 'reason' | 'missing'> {
  if (options.requires.length === 0) return { stance: 'absent', reason: 'the startup gate is off' };
  if (missing.length === 0) return { stance: 'absent', reason: 'nothing that the startup gate requires is missing' };
  const waited = `${Math.round(options.maxWaitMs / 1000)} s`;
  if ((node.waitedMs ?? 0) >= options.maxWaitMs) {
    const reason = `the maximum wait time of ${waited} is over, without ${missing.join(', ')}`;
    return { stance: 'absent', reason, missing };
  }
  return { stance: 'keep', reason: `waits for ${missing.join(', ')}, at most ${waited} from its creation` };
}
