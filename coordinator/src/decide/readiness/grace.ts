import type { Moment } from '@rollcall/common/clock.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { graceOf, type Service, type SingleCheck, saysOf } from '../../model/services.ts';
import { conditionIn } from '../../state/reporters.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { startedServices, wasReady } from '../../state/started-services.ts';
import type { Verdict } from './judges.ts';

/** The checks with a grace that passed once, by what they say: since when they fail, monotonic; `undefined` while they pass. */
export type GraceMemory = ReadonlyMap<string, number | undefined>;

export const NOTHING_PASSED: GraceMemory = new Map();

/** Lets checks with a grace pass for so long after they began to fail, in one evaluation of a service on a node. */
export class Graces {
  /** `undefined` at the first evaluation in this term: then what the term before published tells. */
  readonly #before: GraceMemory | undefined;
  readonly #haveAllPassed: () => boolean;
  /** Most services have no check with a grace, and no memory on any node. */
  #next: Map<string, number | undefined> | undefined;
  /** When the first grace ends that counts now, by the monotonic clock. */
  endMs = Number.POSITIVE_INFINITY;

  /**
   * `before`: what was remembered in this term; `undefined` at the first evaluation in it. `isPublished`: whether what the
   * Node says of the service follows from its checks as they are now.
   */
  constructor(
    before: GraceMemory | undefined,
    service: Service,
    snapshot: NodeSnapshot,
    isPublished: (service: Service) => boolean = () => true,
  ) {
    this.#before = before;
    this.#haveAllPassed = () => before === undefined && isShownReady(service, snapshot) && isPublished(service);
  }

  /** What to remember. */
  get next(): GraceMemory {
    return this.#next ?? NOTHING_PASSED;
  }

  /** `isOfAny`: one of several of which one has to pass, so that what was published does not tell that this one passed. */
  apply(check: SingleCheck, verdict: Verdict, now: Moment, isOfAny = false): Verdict {
    const graceMs = graceOf(check);
    if (graceMs === undefined) return verdict;
    const key = saysOf(check);
    this.#next ??= new Map();
    if (verdict.state === 'ready') this.#next.set(key, undefined);
    const hasPassed = this.#before?.has(key) || (!isOfAny && this.#haveAllPassed());
    if (verdict.state === 'ready' || !hasPassed) return verdict;
    const failingMs = this.#before?.get(key) ?? (verdict.state === 'unknown' ? undefined : now.monotonicMs);
    this.#next.set(key, failingMs);
    if (verdict.state === 'unknown' || failingMs === undefined) return verdict;
    const endMs = failingMs + graceMs;
    if (now.monotonicMs >= endMs) return verdict;
    this.endMs = Math.min(this.endMs, endMs);
    const until = rfc3339(now.wallMs + endMs - now.monotonicMs);
    const reason = `${verdict.reason}; it passed before, and counts as passed until ${until} (grace: ${graceMs / 1000} s)`;
    return { state: 'ready', cause: verdict.cause, reason };
  }
}

/** What is remembered of a service where the Node says that it is ready. */
export function passedBy(service: Service | undefined, snapshot: NodeSnapshot): GraceMemory {
  if (!service || !isShownReady(service, snapshot)) return NOTHING_PASSED;
  const single = service.checks.filter((check) => check.kind !== 'anyOf');
  return new Map(single.filter((check) => graceOf(check) !== undefined).map((check) => [saysOf(check), undefined]));
}

/**
 * Whether the Node says that the service is ready: by its label or condition, or, of a service without both, by having been
 * freed of its taint. Without a taint alone, a node may wait for a place in the budget.
 */
export function isShownReady(service: Service, snapshot: NodeSnapshot): boolean {
  const { label, condition, taint } = service.publish;
  if (label !== undefined && snapshot.ownedLabels.has(label)) return true;
  if (condition !== undefined && snapshot.ownedConditions.has(condition))
    return conditionIn(snapshot.conditions, condition)?.status === 'True';
  const isFree = taint !== undefined && snapshot.taints?.every(({ key }) => key !== taint.key) === true;
  return label === undefined && isFree && wasReady(service, startedServices(snapshot));
}
