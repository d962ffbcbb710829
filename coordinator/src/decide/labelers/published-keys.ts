import { isSeen } from '../../model/inventory/cause.ts';
import { selects } from '../../model/label-selector.ts';
import type { Service, ServiceTaint } from '../../model/services.ts';
import { hasTaint } from '../../state/observed-node.ts';
import { hasStarted, startedServices } from '../../state/started-services.ts';
import { type ServiceReadiness, UNJUDGED } from '../readiness/tracker.ts';
import { conditionStand } from './condition-stand.ts';
import type { Claim, JudgedNode, Labeler } from './labeler.ts';

const LABEL_STANCE = { ready: 'want', 'not-ready': 'withhold', unknown: 'hold' } as const;
const TAINT_STANCE = { ready: 'withhold', 'not-ready': 'want', unknown: 'hold' } as const;

export type PublishedKeysOptions = {
  services: () => readonly Service[];
  /** Whether a taint may be put on a node that does not have it yet: a new one begins on a few nodes. */
  mayTaint: (service: Service, node: JudgedNode) => boolean;
  /** Whether a taint may be taken off a node where the service is ready: that it can go is noted first. */
  mayClear: (service: Service, node: JudgedNode) => boolean;
};

/** What NodeServices publish: a label while the service is ready on the node, a taint while it is not, a condition always. */
export function publishedKeysLabeler(options: PublishedKeysOptions): Labeler {
  return {
    name: 'published-keys',
    claims: (node) => options.services().flatMap((service) => claimsOf(service, node, options)),
  };
}

function claimsOf(service: Service, node: JudgedNode, options: PublishedKeysOptions): Claim[] {
  const { name, nodeSelector, publish, origin } = service;
  if (origin.kind !== 'object') return [];
  const claims: Claim[] = [];
  const own = { ownership: 'exclusive', origin: `service:${origin.uid}` } as const;
  const { label, taint, condition } = publish;
  const isSelected = selects(nodeSelector, node.labels);
  const readiness = node.readiness.get(name) ?? UNJUDGED;
  const { state, reason, sinceMs, cause } = readiness;
  if (label !== undefined) {
    const stand = isSelected ? { stance: LABEL_STANCE[state], reason, sinceMs, cause } : NOT_SELECTED;
    claims.push({ ...own, ...stand, kind: 'label', key: label, value: 'true' });
  }
  if (taint) {
    const stand = isSelected ? taintStand(service, taint, node, { ...options, readiness }) : NOT_SELECTED;
    claims.push({ ...own, ...stand, kind: 'taint', key: taint.key, value: taint.value, effect: taint.effect });
  }
  if (condition !== undefined) {
    const nowMs = node.createdAtMs + node.ageMs;
    const stand = isSelected ? conditionStand(name, readiness, nowMs) : { ...NOT_SELECTED, value: '' };
    claims.push({ ...own, ...stand, ownership: 'shared', kind: 'condition', key: condition });
  }
  return claims;
}

type Stand = Pick<Claim, 'stance' | 'reason' | 'sinceMs' | 'cause'>;

const NOT_SELECTED: Stand = {
  stance: 'withhold',
  reason: 'the service does not apply to this node',
  cause: 'evidence',
};

function taintStand(
  service: Service,
  taint: ServiceTaint,
  node: JudgedNode,
  { readiness, mayTaint, mayClear }: { readiness: ServiceReadiness } & PublishedKeysOptions,
): Stand {
  const { state, reason, sinceMs, cause } = readiness;
  const { key, effect } = taint;
  const isThere = node.taints?.some((each) => each.key === key) === true;
  const isAsWritten = hasTaint(node.taints, taint);
  if (state === 'not-ready' && !isAsWritten && !mayTaint(service, node)) {
    return {
      // What it was before it was edited stays.
      stance: isThere ? 'hold' : 'withhold',
      reason: 'the taint is new, and waits until the service becomes ready on one of the first nodes',
      cause,
    };
  }
  if (effect === 'NoExecute' && state === 'not-ready' && !isSeen(cause)) {
    return {
      stance: 'hold',
      reason: `${reason}; pods are evicted only when the service is seen to fail`,
      sinceMs,
      cause,
    };
  }
  // Were it taken first, a coordinator that ends in between would have the service judged again.
  if (state === 'ready' && isThere && service.mode === 'Startup' && !hasStarted(service, startedServices(node))) {
    return { stance: 'hold', reason: 'waits until the Node records that the service was ready', sinceMs, cause };
  }
  if (state === 'ready' && isAsWritten && !mayClear(service, node)) {
    return {
      stance: 'hold',
      reason: 'waits until the status of the NodeService records that the taint can be removed',
      sinceMs,
      cause,
    };
  }
  return { stance: TAINT_STANCE[state], reason, sinceMs, cause };
}
