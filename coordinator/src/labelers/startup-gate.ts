import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { Claim, JudgedNode, Labeler } from './labeler.ts';

export type StartupGateOptions = {
  /** Labels that a node waits for; none switches the gate off. */
  requires: readonly string[];
  maxWaitMs: number;
};

/** The required labels that a node lacks. */
export function missingLabels({ labels }: Pick<JudgedNode, 'labels'>, { requires }: StartupGateOptions): string[] {
  return requires.filter((key) => labels[key] === undefined);
}

/**
 * Opens the gate that an admission policy, or the kubelet's --register-with-taints, put before a new node: it goes when
 * every required label is there, or when the node is too old to wait any longer. It is never put there from here.
 */
export function startupGateLabeler(options: StartupGateOptions): Labeler {
  return {
    name: 'startup-gate',
    claims: (node) => {
      if (options.requires.length === 0) return [];
      return [{ kind: 'taint', key: STARTUP_TAINT, value: '', ownership: 'exclusive', ...stand(node, options) }];
    },
  };
}

function stand(node: JudgedNode, options: StartupGateOptions): Pick<Claim, 'stance' | 'reason'> {
  const missing = missingLabels(node, options);
  if (missing.length === 0)
    return { stance: 'withhold', reason: 'every label that the startup gate requires is there' };
  const waited = `${Math.round(options.maxWaitMs / 1000)} s`;
  if (node.ageMs >= options.maxWaitMs) {
    return { stance: 'withhold', reason: `${missing.join(', ')} did not come within ${waited}` };
  }
  return { stance: 'hold', reason: `waits for ${missing.join(', ')}, at most ${waited} from its creation` };
}
