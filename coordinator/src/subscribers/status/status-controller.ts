import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { cutTexts, STATUS_TEXT_LENGTHS } from '@rollcall/common/status-limits.ts';
import { collectionPath, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { mayBeGone, SLOW_MS } from '../../kube/client.ts';
import type { LeaderRequests } from '../../kube/leader-requests.ts';
import type { Kept } from '../../state/collection.ts';
import type { EventNews, EventSubject } from '../events/event-object.ts';

/** Dependencies of every write of a status. */
export type StatusWrites = {
  requests: LeaderRequests;
  record: (news: EventNews) => void;
  clock: Clock;
  logger: Logger;
};

type KeptObject = Kept & { status: unknown };

/** An Event about an object. It is recorded once, and again when `about` changes. */
export type Telling = {
  about: unknown;
  /** The `about` that the current status shows. */
  shown: unknown;
  news: EventNews | undefined;
  /** Whether to record it only if an Event about something else was recorded before. */
  isAllClear: boolean;
};

export type ObjectStatusOptions<T extends KeptObject, S> = {
  writes: StatusWrites;
  kind: string;
  /** Returns the path of the object's status. */
  path: (object: T) => string;
  objects: { all: (part?: string) => Iterable<T>; noteStatus: (object: T, status: S) => void };
  /** The part of the collection that has the objects of the kind. */
  part?: string;
  /** Begins a look at all objects. Returns a function that computes the wanted status; `undefined` keeps the status. */
  look: () => (object: T) => S | undefined;
  tellingOf: (object: T, status: S) => Telling | undefined;
};

/** Somewhat less than the second between two ticks, of which one may come early. */
const LOOK_MS = 900;
/** A look takes at most this share of the time. */
const SHARE = 0.05;
const TIMEOUT_MS = 10_000;
/** A status that could not be written is tried again after so long, another status as well, and later and later. */
const RETRY_MS = 10_000;
/** How late the watch may tell that an object is gone. */
const GONE_MS = 1000;
export const RETRY_MAX_MS = 300_000;

/** Keeps the status of every object of a kind up to date, and records Events about them. */
export class StatusController<T extends KeptObject, S extends object> {
  readonly #options: ObjectStatusOptions<T, S>;
  #notBeforeMs = 0;
  #underWay: Promise<void> = Promise.resolve();
  #isBusy = false;
  /** Uids of objects whose write is under way. */
  readonly #writing = new Set<string>();
  /** When objects that could not be written are due again, and the delay since the last try, by uid. */
  readonly #failed = new Map<string, { dueMs: number; delayMs: number }>();
  /** Whether the current failures were logged. */
  #isLogged = false;
  /** The last Event's `about`, by uid of the object. */
  readonly #told = new Map<string, unknown>();

  constructor(options: ObjectStatusOptions<T, S>) {
    this.#options = options;
  }

  /** Compares all statuses when it is time, and writes those that differ. Call it often while this replica leads. Never throws. */
  tick(): Promise<void> {
    if (!this.#isBusy) this.#underWay = this.#tick();
    return this.#underWay;
  }

  async #tick(): Promise<void> {
    const { kind } = this.#options;
    const { clock, requests, logger } = this.#options.writes;
    const startedMs = clock.monotonic();
    if (startedMs < this.#notBeforeMs || !requests.mayBegin) return;
    this.#isBusy = true;
    try {
      const due = this.#look();
      this.#notBeforeMs = startedMs + Math.max(LOOK_MS, (clock.monotonic() - startedMs) / SHARE);
      for (const { object, status } of due) if (await this.#isSlow(this.#write(object, status), object)) break;
    } catch (err) {
      logger.error({ kind, err }, 'Failed to look at the objects of a kind');
    } finally {
      this.#isBusy = false;
    }
  }

  /** Waits for a write. Returns whether it is slow: then this look ends, and the next one goes on with the others. */
  async #isSlow(write: Promise<void>, { uid }: T): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<true>();
    const cancel = this.#options.writes.clock.after(SLOW_MS, () => resolve(true));
    const ended = write.finally(() => this.#writing.delete(uid)).then(() => false);
    this.#writing.add(uid);
    const isSlow = await Promise.race([ended, late]);
    cancel();
    return isSlow;
  }

  /**
   * Objects whose status is outdated; objects whose last write failed come last. Events about them do not wait for the
   * write.
   */
  #look(): { object: T; status: S }[] {
    const { objects: all, part, look, kind } = this.#options;
    const { clock, logger } = this.#options.writes;
    const objects = [...all.all(part)];
    const uids = new Set(objects.map(({ uid }) => uid));
    for (const known of [this.#failed, this.#told])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    const statusOf = look();
    const due = objects.flatMap((object) => {
      try {
        const wanted = statusOf(object);
        if (!wanted) return [];
        const status = cutTexts(wanted);
        this.#tell(object, status);
        const isDue = !this.#writing.has(object.uid) && clock.monotonic() >= (this.#failed.get(object.uid)?.dueMs ?? 0);
        return isDue && !isDeepStrictEqual(object.status, status) ? [{ object, status }] : [];
      } catch (err) {
        logger.error({ kind, name: object.name, err }, 'Failed to look at an object');
        return [];
      }
    });
    const hasFailed = ({ object }: { object: T }) => Number(this.#failed.has(object.uid));
    return due.sort((a, b) => hasFailed(a) - hasFailed(b));
  }

  async #write(object: T, status: S): Promise<void> {
    const { path, kind, objects } = this.#options;
    const { requests, clock, logger } = this.#options.writes;
    const { uid, name } = object;
    if (!requests.mayBegin) return;
    try {
      await requests.request({
        method: 'PATCH',
        path: path(object),
        query: { fieldManager: FIELD_MANAGER },
        body: { metadata: { uid }, status: { ...removed(object.status, status), ...status } },
        contentType: 'application/merge-patch+json',
        timeoutMs: TIMEOUT_MS,
      });
      this.#failed.delete(uid);
      objects.noteStatus(object, status);
    } catch (err) {
      const before = this.#failed.get(uid)?.delayMs;
      const isGone = before === undefined && mayBeGone(err);
      const delayMs = isGone ? GONE_MS : Math.min(RETRY_MAX_MS, Math.max(RETRY_MS, 2 * (before ?? 0)));
      if (this.#failed.size === 0) this.#isLogged = false;
      // The first is news, but for one that is gone. With a CRD that has no status, all fail, and fail again.
      const isNews = !this.#isLogged && !isGone;
      this.#isLogged ||= isNews;
      this.#failed.set(uid, { dueMs: clock.monotonic() + delayMs, delayMs });
      logger[isNews ? 'warn' : 'debug']({ kind, name, err, delayMs }, 'Failed to write the status of an object');
    }
  }

  #tell(object: T, status: S): void {
    const { tellingOf, writes } = this.#options;
    const telling = tellingOf(object, status);
    if (!telling) return;
    const { about, shown, news, isAllClear } = telling;
    const wasTold = this.#told.has(object.uid);
    const before = wasTold ? this.#told.get(object.uid) : shown;
    this.#told.set(object.uid, about);
    if (news && !isDeepStrictEqual(before, about) && (wasTold || !isAllClear)) writes.record(news);
  }
}

/** How a merge patch removes what a status has no more. */
function removed(before: unknown, status: object): Record<string, null> {
  const gone = Object.keys(before ?? {}).filter((field) => !Object.hasOwn(status, field));
  return Object.fromEntries(gone.map((field) => [field, null]));
}

/** Returns the Event for an object that is not in force, one for each reason, and one when it is in force again. */
export function tellingOfInForce(
  kind: string,
  object: KeptObject,
  conditions: readonly Condition[],
): Telling | undefined {
  const inForce = conditions.find(({ type }) => type === IN_FORCE);
  if (!inForce) return undefined;
  const { status, reason, message } = inForce;
  const isAllClear = status !== 'False';
  const shown = conditionsIn(object.status).find((each) => each?.type === IN_FORCE)?.message;
  const news: EventNews = {
    subject: subjectOf(kind, object),
    type: isAllClear ? 'Normal' : 'Warning',
    reason,
    message,
  };
  return { about: message, shown, news, isAllClear };
}

/** What Events about an object of rollcall's own group are attached to. */
function subjectOf(kind: string, { name, uid }: KeptObject): EventSubject {
  return { apiVersion: 'rollcall.dev/v1alpha1', kind, name, uid };
}

/** Returns the path of the status of an object of this resource. */
export function statusPath(watched: WatchedResource): (object: Pick<KeptObject, 'name'>) => string {
  return ({ name }) => `${collectionPath(watched)}/${name}/status`;
}

/** A condition of an object of ours, in the form that Kubernetes has for them. */
export type Condition<T extends string = string> = {
  type: T;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration: number;
};

export type StatusVerdict = Pick<Condition, 'status' | 'reason' | 'message'>;

/** An object as it is written, and what its status says now. `now` is RFC 3339. */
type About = { object: { generation: number; status: unknown }; now: string };

/** Type of the condition that says whether an object is in force. Deployment tools wait for it. */
const IN_FORCE = 'Ready';

export type ObjectCondition<T extends string = never> = Condition<'Ready' | 'Stalled' | T>;

/**
 * The conditions of an object, the same for all kinds: whether it is in force, and what nodes have of it. `Stalled` is
 * there while the object is refused, since tools that wait take `Ready=False` alone for something that is under way.
 */
export function conditionsOf<T extends string = never>(
  inForce: StatusVerdict,
  nodes: Readonly<Record<T, StatusVerdict>>,
  about: About,
): ObjectCondition<T>[] {
  const isRefused = inForce.status === 'False';
  return [
    conditionOf(IN_FORCE, inForce, about),
    ...(isRefused ? [conditionOf('Stalled', { ...inForce, status: 'True' }, about)] : []),
    ...Object.entries<StatusVerdict>(nodes).map(([type, verdict]) => conditionOf(type as T, verdict, about)),
  ];
}

/** Reason of the condition about nodes, of an object that is refused. */
export const NOT_IN_FORCE = 'NotInForce';

/** Reason of the condition about nodes, of an object that selects none. */
export const NO_NODES = 'NoNodes';

/** What nodes have of an object that is refused. */
export function notInForce({ message }: StatusVerdict): StatusVerdict {
  return { status: 'Unknown', reason: NOT_IN_FORCE, message: `Not in force: ${message}` };
}

const STATUSES: readonly unknown[] = ['True', 'False', 'Unknown'] satisfies Condition['status'][];

/** What a status says by a condition; `undefined` if it has none in that form. */
export function verdictIn(status: unknown, of: string): StatusVerdict | undefined {
  const { status: said, reason, message } = conditionsIn(status).find((each) => each?.type === of) ?? {};
  if (!isFit(reason, 'reason') || typeof message !== 'string' || !STATUSES.includes(said)) return undefined;
  return { status: said as Condition['status'], reason, message };
}

/** A condition that stays as it is keeps its time. */
export function conditionOf<T extends string>(type: T, verdict: StatusVerdict, { object, now }: About): Condition<T> {
  const before = conditionsIn(object.status).find((each) => each?.type === type && each.status === verdict.status);
  const since = before?.lastTransitionTime;
  const lastTransitionTime = isFit(since, 'lastTransitionTime') ? since : now;
  return { type, ...verdict, lastTransitionTime, observedGeneration: object.generation };
}

/** Whether it is a text that the field still may have: an older CRD may have let others write a longer one. */
function isFit(value: unknown, field: keyof typeof STATUS_TEXT_LENGTHS): value is string {
  return typeof value === 'string' && value.length <= STATUS_TEXT_LENGTHS[field];
}

type Unchecked = { [K in keyof Condition]?: unknown } | null;

export function conditionsIn(status: unknown): Unchecked[] {
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  return Array.isArray(conditions) ? conditions : [];
}
