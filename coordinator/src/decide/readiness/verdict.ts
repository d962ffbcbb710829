import type { Moment } from '@rollcall/common/clock.ts';
import type { Cause } from '../../model/inventory/cause.ts';
import { podsChecksOf, type Service, type SingleCheck } from '../../model/services.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { Graces } from './grace.ts';
import { judgePods, judgeSingle, type Verdict } from './judges.ts';

/** Whether a service is ready on a node; `checks`: the verdicts that it follows from, in their order, where it does. */
export type ServiceVerdict = Verdict & { checks?: readonly CheckVerdict[] };

type CheckVerdict = Verdict & { name: string };

/**
 * Of several checks that fail, the first of these causes decides: what was seen counts more than what was not heard. A
 * check that fails decides before one that is unknown.
 */
const FAILED_BY: readonly Cause[] = ['evidence', 'agent', 'silence'];

/**
 * Ready means that every check passes. What the coordinator sees itself, such as pods and CSINodes, counts at once, also
 * while the agent is silent. What only an agent sees, such as devices, counts while an agent is heard.
 */
export function judgeService(
  service: Service,
  snapshot: NodeSnapshot,
  now: Moment,
  graces = new Graces(undefined, service, snapshot),
): ServiceVerdict {
  const judge = (check: SingleCheck, isOfAny: boolean) =>
    graces.apply(check, judgeSingle(check, { service, snapshot, now }), now, isOfAny);
  const checks = service.checks
    .filter((check) => check.kind !== 'pods' || !check.settings.optional)
    .map((check) => ({
      name: check.name,
      ...(check.kind === 'anyOf' ? anyOf(check.checks.map((each) => judge(each, true))) : judge(check, false)),
    }));
  return { ...allOf(checks), checks };
}

/** One that fails decides; else one that is unknown. */
function allOf(verdicts: readonly Verdict[]): Verdict {
  const failed = byCause(verdicts, FAILED_BY);
  if (failed) return failed;
  const unknown = verdicts.find(({ state }) => state === 'unknown');
  if (unknown) return withoutName(unknown);
  const cause = verdicts.some((verdict) => verdict.cause === 'agent') ? 'agent' : 'evidence';
  return { state: 'ready', reason: verdicts.map(({ reason }) => reason).join('; '), cause };
}

/**
 * One that passes decides; else one that is unknown. All that fail were needed for a failure, so that the weakest of
 * their causes is its cause: what only silence speaks against was not seen to fail.
 */
function anyOf(verdicts: readonly Verdict[]): Verdict {
  const decides = verdicts.find(({ state }) => state === 'ready') ?? verdicts.find(({ state }) => state === 'unknown');
  if (decides) return decides;
  const cause = byCause(verdicts, FAILED_BY.toReversed())?.cause ?? 'evidence';
  return { state: 'not-ready', reason: verdicts.map(({ reason }) => reason).join(', and '), cause };
}

/** The first that fails by the first of these causes. */
function byCause(verdicts: readonly Verdict[], causes: readonly Cause[]): Verdict | undefined {
  for (const cause of causes) {
    const failed = verdicts.find((verdict) => verdict.state === 'not-ready' && verdict.cause === cause);
    if (failed) return withoutName(failed);
  }
  return undefined;
}

function withoutName({ state, reason, cause }: Verdict): Verdict {
  return { state, reason, cause };
}

/** Whether a pod of the service on the node is Ready, and not on its way out. */
export function hasReadyPod(service: Service, snapshot: NodeSnapshot): boolean {
  return podsChecksOf(service).some((check) => judgePods(check, { snapshot }).state === 'ready');
}

/**
 * `lost`: the agent no longer sees a service whose pod is Ready. `gone`: nor did the term before. `unchanged`: it did not
 * see it before either, or does not know. `settled`: the service is ready, or the agent is not the cause why it is not.
 */
export type Sighting = 'lost' | 'gone' | 'unchanged' | 'settled';

/** `version`: empty where it does not tell. `startedMs`: when its pod was made, by the monotonic clock, if it may have replaced one. */
export type SpeakingAgent = { version: string; startedMs: number };

/** A sighting of a service on a node, as reported by this agent. */
export type Sighted = { node: string; agent: SpeakingAgent | undefined; service: string; sighting: Sighting };

/** Doubts what agents say of services. */
export type Observer = {
  /** Records the agent that reports for a node. */
  sees(node: string, agent: SpeakingAgent, nowMs: number): void;
  /** Until when a loss of the service on the node is held, if so, by the monotonic clock. Changes nothing. */
  heldUntilMs(sighted: Sighted, nowMs: number): number | undefined;
  record(sighted: Sighted, nowMs: number): void;
};
