import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { Service } from '../../model/services.ts';
import type { Claim, EvaluatedNode, Labeler } from './labeler.ts';

export type StartupGateOptions = {
  /** Labels, or services by their names, that a node waits for; none switches the gate off. */
  requires: readonly string[];
  maxWaitMs: number;
};

/** The services that are in force, as they are at the moment. */
type Services = () => readonly Pick<Service, 'name'>[];

/**
 * What is required that the node lacks, for people. What is the name of a service is that service, and a label else. One
 * that is not for the node is not waited for.
 */
export function missingAtGate(
  { labels, readiness }: Pick<EvaluatedNode, 'labels' | 'readiness'>,
  requires: readonly string[],
  services: Services,
): string[] {
  const names = new Set(services().map(({ name }) => name));
  return requires.flatMap((each) => {
    if (!names.has(each)) return labels[each] === undefined ? [each] : [];
    const verdict = readiness.get(each);
    return verdict === undefined || verdict.state === 'ready' ? [] : [`the service ${each}`];
  });
}

/**
 * Removes the startup taint that an admission policy, or the kubelet's --register-with-taints, put on a new node: when
 * everything that is required is there, when the node is too old to wait any longer, or at once if nothing is required,
 * since no other component would remove it. rollcall never adds this taint.
 */
export function startupGateLabeler(options: StartupGateOptions, services: Services): Labeler {
  return {
    name: 'startup-gate',
    claims: (node) => [
      {
        kind: 'taint',
        key: STARTUP_TAINT,
        value: '',
        ownership: 'exclusive',
        cause: options.requires.length === 0 ? 'configuration' : 'evidence',
        ...stand(node, options, missingAtGate(node, options.requires, services)),
      },
    ],
  };
}

function stand(
  node: EvaluatedNode,
  options: StartupGateOptions,
  missing: readonly string[],
): Pick<Claim, 'stance' | 'reason'> {
  if (options.requires.length === 0) return { stance: 'absent', reason: 'the startup gate is off' };
  if (missing.length === 0) return { stance: 'absent', reason: 'nothing that the startup gate requires is missing' };
  const waited = `${Math.round(options.maxWaitMs / 1000)} s`;
  if ((node.waitedMs ?? 0) >= options.maxWaitMs) {
    return { stance: 'absent', reason: `the maximum wait time of ${waited} is over, without ${missing.join(', ')}` };
  }
  return { stance: 'keep', reason: `waits for ${missing.join(', ')}, at most ${waited} from its creation` };
}
