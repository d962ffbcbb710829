import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { CommonReason, ServiceCount } from '../../decide/service-tally.ts';
import { type Publication, withoutDryRun } from '../../model/services.ts';
import type { Refusal } from '../../state/services/budgets.ts';
import { inForceSinceMs, type ObservedNodeService } from '../../state/services/node-service.ts';
import {
  conditionsOf,
  NO_NODES,
  NOT_IN_FORCE,
  notInForce,
  type ObjectCondition,
  type StatusVerdict,
  verdictIn,
} from './status-controller.ts';

/** The status of a NodeService. */
export type ServiceStatus = {
  observedGeneration: number;
  nodes: { selected: number; ready: number; notReady: number; unknown: number };
  /** Ready nodes of those selected, such as `3/5`. */
  ready: string;
  published: PublishedKey[];
  /** RFC 3339. Not there while it is refused or a dry run. */
  inForceSince?: string;
  conditions: ObjectCondition<'NodesReady'>[];
};

/** A key that nodes get. */
type PublishedKey = { kind: 'Label' | 'Taint' | 'Condition'; key: string; effect?: string };

export type ServiceFacts = {
  object: ObservedNodeService;
  /** It is not in force. */
  refusal: Refusal | undefined;
  /** What it depends on cannot be watched, so that it is in force and nothing is known. */
  problem: string | undefined;
  count: Readonly<ServiceCount>;
  /** Why the service is not ready on most of the nodes where it is not; if it is on all, why it is unknown. */
  commonest?: CommonReason | undefined;
  /** What its budget and its pods keep from nodes, for people; `undefined` if nothing. */
  withheld?: string | undefined;
  /** This replica leads since a moment ago, and may not have heard every agent. */
  isTakingOver: boolean;
  /** RFC 3339. */
  now: string;
};

/** What the status should be. */
export function serviceStatus(facts: ServiceFacts): ServiceStatus {
  const { object, refusal } = facts;
  const before = facts.isTakingOver && facts.count.unknown > 0 && !refusal ? foundBefore(facts) : undefined;
  const count = before?.count ?? facts.count;
  const { ready, 'not-ready': notReady, unknown } = refusal ? { ready: 0, 'not-ready': 0, unknown: 0 } : count;
  const selected = ready + notReady + unknown;
  const verdict = serviceInForce(facts);
  const nodes = refusal ? notInForce(verdict) : (before?.verdict ?? nodesReady(facts));
  return {
    observedGeneration: object.generation,
    nodes: { selected, ready, notReady, unknown },
    ready: `${ready}/${selected}`,
    published: keysOf(withoutDryRun(object.service).publish),
    ...(refusal || object.service.dryRun ? {} : { inForceSince: inForceSince(facts) }),
    conditions: conditionsOf(verdict, { NodesReady: nodes }, facts),
  };
}

/** Nodes that were there before count in the budget of its taint. */
function inForceSince({ object, now }: ServiceFacts): string {
  const sinceMs = inForceSinceMs(object);
  return Number.isFinite(sinceMs) ? rfc3339(sinceMs) : now;
}

/** What a predecessor found of the object as it is now, while nothing is known to be otherwise: a take-over alone is no news. */
function foundBefore({ object: { status, generation }, count: now }: ServiceFacts) {
  const { observedGeneration, nodes } = (status ?? {}) as Partial<ServiceStatus>;
  const { ready, notReady, unknown } = nodes ?? {};
  const isCounted = typeof ready === 'number' && typeof notReady === 'number' && typeof unknown === 'number';
  const verdict = verdictIn(status, 'NodesReady');
  if (!isCounted || observedGeneration !== generation || !verdict || verdict.reason === NOT_IN_FORCE) return undefined;
  const count: ServiceCount = { ready, 'not-ready': notReady, unknown };
  // Not all nodes may be counted again yet.
  const isPossible = now.ready <= ready && now['not-ready'] <= notReady && sumOf(now) <= sumOf(count);
  return isPossible ? { count, verdict } : undefined;
}

function sumOf({ ready, 'not-ready': notReady, unknown }: ServiceCount): number {
  return ready + notReady + unknown;
}

function keysOf({ label, taint, condition }: Publication): PublishedKey[] {
  return [
    ...(label === undefined ? [] : [{ kind: 'Label' as const, key: label }]),
    ...(taint ? [{ kind: 'Taint' as const, key: taint.key, effect: taint.effect }] : []),
    ...(condition === undefined ? [] : [{ kind: 'Condition' as const, key: condition }]),
  ];
}

/** Whether the service is in force: deployment tools wait for it. */
export function serviceInForce({
  object,
  refusal,
  problem,
}: Pick<ServiceFacts, 'object' | 'refusal' | 'problem'>): StatusVerdict {
  if (refusal) return { status: 'False', ...refusal };
  if (problem !== undefined) return { status: 'False', reason: 'NotPermitted', message: problem };
  if (object.service.dryRun)
    return { status: 'True', reason: 'DryRun', message: 'A dry run: nothing is written to nodes' };
  return { status: 'True', reason: 'InForce', message: 'Its checks decide about its keys' };
}

function nodesReady({ object, withheld, count, commonest }: ServiceFacts): StatusVerdict {
  const { ready, 'not-ready': notReady, unknown } = count;
  const all = ready + notReady + unknown;
  const cure = `kubectl rollcall why nodeservice/${object.name}`;
  if (all === 0) return { status: 'Unknown', reason: NO_NODES, message: `The nodeSelector selects no node (${cure})` };
  const message = [
    `Ready on ${ready} of ${all} nodes`,
    ...(commonest === undefined ? [] : [`${reasonText(commonest)} (${cure})`]),
    ...(withheld === undefined ? [] : [withheld]),
  ].join('; ');
  if (notReady > 0) return { status: 'False', reason: 'NodesNotReady', message };
  return unknown > 0
    ? { status: 'Unknown', reason: 'NodesUnknown', message }
    : { status: 'True', reason: 'AllNodesReady', message };
}

/** Names of NodeServices that select no node, by their statuses: a new leader has not counted yet. */
export function servicesNowhere(objects: readonly ObservedNodeService[]): string[] {
  return objects.flatMap(({ name, status }) => (verdictIn(status, 'NodesReady')?.reason === NO_NODES ? name : []));
}

function reasonText({ reason, nodes, example }: CommonReason): string {
  return `${reason}: ${nodes} ${nodes === 1 ? `node, ${example}` : `nodes, such as ${example}`}`;
}
