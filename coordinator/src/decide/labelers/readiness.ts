import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { type Cause, isSeen } from '../../model/inventory/cause.ts';
import { KEY_KINDS } from '../../model/keys/key-kinds.ts';
import { selects } from '../../model/label-selector.ts';
import { publishedKeys, type Service, type ServiceTaint } from '../../model/services.ts';
import { isOfRule, isOfService, keysOn, listedKey, type Origin } from '../../state/node-keys.ts';
import { hasStarted, startedServices, wasOpen } from '../../state/started-services.ts';
import { type ServiceReadiness, STARTUP_DEADLINE_EXCEEDED, saysLate, UNJUDGED } from '../readiness/tracker.ts';
import type { Claim, EvaluatedNode, Labeler } from './labeler.ts';

export type ReadinessOptions = {
  services: () => readonly Service[];
  /** What is claimed of the taint of a service that is not ready, where the node may not have it as written now. */
  withheldTaint: (service: Service, node: EvaluatedNode) => Pick<Claim, 'stance' | 'reason'> | undefined;
};

type Stand = Pick<Claim, 'stance' | 'reason' | 'sinceMs' | 'cause'>;

/** The stance on each kind of key while a service is ready, not ready or unknown. */
const STANCES = {
  label: { ready: 'present', 'not-ready': 'absent', unknown: 'keep' },
  taint: { ready: 'absent', 'not-ready': 'present', unknown: 'keep' },
  condition: { ready: 'present', 'not-ready': 'present', unknown: 'keep' },
} as const;

const NOT_SELECTED: Stand = {
  stance: 'absent',
  reason: 'the service does not apply to this node',
  cause: 'evidence',
};

const NOT_FOR_WORKSPACES: Stand = { stance: 'absent', reason: 'the node is not for workspaces', cause: 'evidence' };

/**
 * Claims the keys that services publish: a label while the service is ready on the node, a taint while it is not, a
 * condition always.
 */
export function readinessLabeler(options: ReadinessOptions): Labeler {
  return {
    name: 'readiness',
    claims: (node) => options.services().flatMap((service) => claimsOf(service, node, options)),
  };
}

function claimsOf(service: Service, node: EvaluatedNode, options: ReadinessOptions): Claim[] {
  const { name, nodeSelector, publish, origin } = service;
  const readiness = node.readiness.get(name) ?? UNJUDGED;
  if (!selects(nodeSelector, node.labels) && !readiness.isUndecided) return formerClaims(service, node);
  const claims: Claim[] = [];
  const isBuiltIn = origin.kind === 'built-in';
  const listed: Origin = isBuiltIn ? 'gitpod' : `service:${origin.uid}`;
  const own = { ownership: 'exclusive', origin: listed } as const;
  const { label, taint, condition } = publish;
  if (label !== undefined) {
    const stand = labelStand(service, label, node, readiness);
    claims.push({ ...own, ...stand, kind: 'label', key: label, value: 'true' });
  }
  if (taint) {
    const stand = taintStand(service, taint, node, { ...options, readiness });
    // A taint of a built-in service that evicts as well stays as it is.
    const effect = isBuiltIn ? {} : { effect: taint.effect };
    claims.push({ ...own, ...stand, ...effect, kind: 'taint', key: taint.key, value: taint.value });
  }
  if (condition !== undefined) {
    const stand = conditionStand(service, readiness, node);
    claims.push({ ...own, ...stand, ownership: 'shared', kind: 'condition', key: condition });
  }
  return claims;
}

/**
 * What rollcall itself set on a node that the service does not select: it goes. What others set there under the same keys is
 * theirs.
 */
function formerClaims(service: Service, node: EvaluatedNode): Claim[] {
  const listed = keysOn(node);
  const applied = { label: node.ownedLabels, taint: NONE, condition: node.ownedConditions };
  return publishedKeys(service).flatMap(({ kind, key }): Claim[] => {
    const origin = listed.get(listedKey(kind, key));
    const isOurs = applied[kind].has(key) || (isOfService(origin) && !isOfRule(origin));
    const ownership = KEY_KINDS[kind].removal;
    const value = kind === 'label' ? 'true' : '';
    return isOurs ? [{ ...NOT_SELECTED, kind, key, value, ownership, ...(origin && { origin }) }] : [];
  });
}

const NONE: ReadonlySet<string> = new Set();

function standOf(kind: keyof typeof STANCES, { state, reason, sinceMs, cause }: ServiceReadiness): Stand {
  return { stance: STANCES[kind][state], reason, sinceMs, cause };
}

/** Whether a pool, a rule, a device or a fact had the label before the service: it says nothing of the service. */
function isOfAnother(label: string, node: EvaluatedNode): boolean {
  const origin = keysOn(node).get(listedKey('label', label));
  return origin !== undefined && (!isOfService(origin) || isOfRule(origin));
}

/**
 * With the gate `taint` the label is set once and stays. A new node on which the service is not ready gets it after the
 * taint: in between, a scheduler would take the node for ready.
 */
function labelStand(
  { publish, origin }: Service,
  label: string,
  node: EvaluatedNode,
  readiness: ServiceReadiness,
): Stand {
  if (readiness.state === 'unknown' && isOfAnother(label, node)) {
    const { reason, cause } = readiness;
    return {
      stance: 'absent',
      reason: `what set it no longer requests it; ${reason}`,
      sinceMs: readiness.sinceMs,
      cause,
    };
  }
  if (origin.kind !== 'built-in' || origin.gate !== 'taint') return standOf('label', readiness);
  if (!isTainted(origin, node)) return NOT_FOR_WORKSPACES;
  const key = publish.taint?.key;
  const isGuarded = node.labels[label] === 'true' || node.taints?.some((each) => each.key === key) === true;
  if (isGuarded || readiness.state === 'ready') {
    const reason = `permanent: the taint ${key} shows whether it is ready`;
    return { stance: 'present', reason, cause: 'configuration' };
  }
  return { stance: 'keep', reason: `waits for the taint ${key}; ${readiness.reason}`, cause: readiness.cause };
}

function taintStand(
  service: Service,
  taint: ServiceTaint,
  node: EvaluatedNode,
  { readiness, withheldTaint }: { readiness: ServiceReadiness } & ReadinessOptions,
): Stand {
  const { state, reason, sinceMs, cause } = readiness;
  const { mode, origin, publish } = service;
  const { key, effect } = taint;
  if (origin.kind === 'built-in' && origin.gate === 'label') {
    // One that was left there may say what the label does not say yet, or still says wrongly.
    const isMislabeled = state === 'not-ready' && node.labels[publish.label ?? ''] === 'true';
    if (state === 'unknown' || isMislabeled) return { stance: 'keep', reason, sinceMs, cause };
    return { stance: 'absent', reason: 'the readiness gate uses labels only', cause: 'configuration' };
  }
  if (origin.kind === 'built-in' && !isTainted(origin, node)) return NOT_FOR_WORKSPACES;
  const isThere = node.taints?.some((each) => each.key === key) === true;
  const isUnopened =
    state === 'unknown' && node.isNew && !readiness.isUndecided && effect !== 'NoExecute' && !wasOpen(node, service);
  const withheld = state === 'not-ready' || isUnopened ? withheldTaint(service, node) : undefined;
  if (withheld) return { ...withheld, reason: `${reason}; ${withheld.reason}`, sinceMs, cause };
  if (effect === 'NoExecute' && state === 'not-ready' && !isSeen(cause)) {
    return {
      stance: 'keep',
      reason: `${reason}; pods are evicted only when the service is seen to fail`,
      sinceMs,
      cause,
    };
  }
  if (isUnopened) {
    const why = `${reason}; the node is closed until the service is ready there for the first time`;
    return { stance: 'present', reason: why, sinceMs, cause };
  }
  // Were it taken first, a coordinator that ends in between would have the service evaluated again.
  if (state === 'ready' && isThere && mode === 'Startup' && !hasStarted(service, startedServices(node))) {
    return { stance: 'keep', reason: 'waits until the Node records that the service was ready', sinceMs, cause };
  }
  return standOf('taint', readiness);
}

function isTainted({ taintedNodes }: { taintedNodes: readonly string[] }, { labels }: EvaluatedNode): boolean {
  return taintedNodes.some((key) => key in labels);
}

const SAID = {
  True: { reason: 'ServiceReady', what: 'is ready' },
  False: { reason: 'ServiceNotReady', what: 'is not ready' },
  Unknown: { reason: 'AgentSilent', what: 'may be ready or not' },
} as const;

/** The reason of a service that was never ready on the node. */
const LATE = { reason: STARTUP_DEADLINE_EXCEEDED, what: 'was not ready within its startupDeadline' } as const;

/**
 * The condition of a node for a service. Its reason and message follow the state, at most once in 10 s on a node while the
 * status stays as it is.
 */
function conditionStand(
  service: Service,
  readiness: ServiceReadiness,
  node: Pick<EvaluatedNode, 'createdAtMs' | 'ageMs' | 'textsDue' | 'conditions'>,
): Stand & Pick<Claim, 'value' | 'news'> {
  const { state, reason, cause, isLate } = readiness;
  const stand = standOf('condition', readiness);
  // That it was never ready in time is known, whatever is known now.
  if (state === 'unknown' && !isLate) return { ...stand, value: '' };
  const value = isLate || state === 'unknown' ? 'False' : statusOf(state, cause);
  const said = isLate ? LATE : SAID[value];
  const isNewlyLate = isLate && !saysLate(service, node);
  const news = {
    reason: said.reason,
    message: `${service.name} ${said.what}: ${reason}`,
    at: rfc3339(node.createdAtMs + node.ageMs),
    ...(isNewlyLate || node.textsDue ? { replacesText: true as const } : {}),
  };
  return { ...stand, ...(isLate ? { stance: 'present' as const } : {}), value, news };
}

function statusOf(state: 'ready' | 'not-ready', cause: Cause): keyof typeof SAID {
  if (state === 'ready') return 'True';
  return cause === 'silence' ? 'Unknown' : 'False';
}
