import { WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import type { Publication, Service } from '../../model/services.ts';
import { type ServiceReadiness, UNJUDGED } from '../readiness/tracker.ts';
import type { Claim, JudgedNode, Labeler } from './labeler.ts';

/** How a node shows that a service is not ready. */
export type ReadinessGate = 'label' | 'taint' | 'both';

const OWN = { value: 'true', ownership: 'exclusive', origin: 'gitpod' } as const;
const BY_GATE = { cause: 'configuration' } as const;

/**
 * The services of Gitpod, by the gate. The label of one is on a node while the service is ready there, or its taint while it
 * is not, or both.
 */
export function readinessLabeler(options: { services: () => readonly Service[]; gate: ReadinessGate }): Labeler {
  const { services, gate } = options;
  return {
    name: 'readiness',
    claims: (node) =>
      services().flatMap(({ name, publish, origin }) => {
        if (origin.kind !== 'built-in') return [];
        const readiness = node.readiness.get(name) ?? UNJUDGED;
        const { label, taint } = publish;
        const shown = gate === 'taint' ? lastingLabel(publish, readiness, node) : labelWhileReady(readiness);
        const claims: Claim[] = [];
        if (label !== undefined) claims.push({ ...OWN, kind: 'label', key: label, ...shown });
        if (taint)
          claims.push({ ...OWN, kind: 'taint', key: taint.key, ...taintOf(publish, readiness, { gate, node }) });
        return claims;
      }),
  };
}

type Stand = Pick<Claim, 'stance' | 'reason' | 'sinceMs' | 'cause'>;

const LABEL_STANCE = { ready: 'want', 'not-ready': 'withhold', unknown: 'hold' } as const;
const TAINT_STANCE = { ready: 'withhold', 'not-ready': 'want', unknown: 'hold' } as const;

function labelWhileReady({ state, reason, sinceMs, cause }: ServiceReadiness): Stand {
  return { stance: LABEL_STANCE[state], reason, sinceMs, cause };
}

/**
 * Set once, and left. A node that is new, and on which the service is not ready, gets it after the taint: in between, a
 * scheduler would take the node for ready.
 */
function lastingLabel(
  { label = '', taint }: Publication,
  { state, reason, cause }: ServiceReadiness,
  node: JudgedNode,
): Stand {
  const key = taint?.key;
  if (!isForWorkspaces(node))
    return { stance: 'withhold', reason: 'the node is not for workspaces', cause: 'evidence' };
  const guarded = node.labels[label] === 'true' || node.taints?.some((each) => each.key === key) === true;
  if (guarded || state === 'ready')
    return { ...BY_GATE, stance: 'want', reason: `permanent: the taint ${key} shows whether it is ready` };
  return { stance: 'hold', reason: `waits for the taint ${key}; ${reason}`, cause };
}

function taintOf(
  { label = '' }: Publication,
  { state, reason, sinceMs, cause }: ServiceReadiness,
  { gate, node }: { gate: ReadinessGate; node: JudgedNode },
): Stand {
  if (gate === 'label') {
    // One that was left there may say what the label does not say yet, or still says wrongly.
    const mislabeled = state === 'not-ready' && node.labels[label] === 'true';
    if (state === 'unknown' || mislabeled) return { stance: 'hold', reason, sinceMs, cause };
    return { ...BY_GATE, stance: 'withhold', reason: 'the readiness gate uses labels only' };
  }
  if (!isForWorkspaces(node))
    return { stance: 'withhold', reason: 'the node is not for workspaces', cause: 'evidence' };
  return { stance: TAINT_STANCE[state], reason, sinceMs, cause };
}

function isForWorkspaces({ labels }: JudgedNode): boolean {
  return WORKSPACE_NODE_LABELS.some((key) => key in labels);
}
