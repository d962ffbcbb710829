import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { type KubeClient, mayBeGone, type WriteFence } from '../../kube/client.ts';
import type { EventNews, EventSubject } from '../events/event-news.ts';
import { type Condition, conditionsIn } from './condition.ts';

export type StatusWriteOptions = {
  client: Pick<KubeClient, 'request'>;
  fence: WriteFence;
  record: (news: EventNews) => void;
  clock: Clock;
  logger: Logger;
};

type KeptObject = { uid: string; name: string; generation: number; status: unknown };

export type ObjectStatusOptions<T extends KeptObject, S> = StatusWriteOptions & {
  kind: string;
  /** As the API server names the resource. */
  plural: string;
  objects: () => readonly T[];
  statusOf: (object: T) => S;
  /** It was written. */
  noteStatus: (name: string, status: S) => void;
  /** Fields of the status that need not be there. */
  optional?: readonly string[];
};

const TIMEOUT_MS = 10_000;
/** A status that could not be written is tried again after so long. */
const RETRY_MS = 10_000;

/** Keeps the status of every object of a kind up to date, and tells of one that is not accepted. */
export class ObjectStatusKeeper<T extends KeptObject, S extends { conditions: readonly Condition[] }> {
  readonly #options: ObjectStatusOptions<T, S>;
  #underWay: Promise<void> = Promise.resolve();
  #isBusy = false;
  /** When those that could not be written are due again, by uid. */
  readonly #failed = new Map<string, number>();
  /** Whether the log tells of those that fail. */
  #isTold = false;
  /** What was told of each that is not accepted, by uid. */
  readonly #told = new Map<string, string>();

  constructor(options: ObjectStatusOptions<T, S>) {
    this.#options = options;
  }

  /** To be called once a second while this replica leads. Writes what differs. Never throws. */
  tick(): Promise<void> {
    if (!this.#isBusy) this.#underWay = this.#tick();
    return this.#underWay;
  }

  /** Resolves when no request is under way. */
  settled(): Promise<void> {
    return this.#underWay;
  }

  async #tick(): Promise<void> {
    const { kind, logger } = this.#options;
    this.#isBusy = true;
    try {
      await this.#writeWhatDiffers();
    } catch (err) {
      logger.error({ kind, err }, 'Failed to look at the objects of a kind');
    } finally {
      this.#isBusy = false;
    }
  }

  async #writeWhatDiffers(): Promise<void> {
    const { objects: all, statusOf, clock } = this.#options;
    const objects = all();
    const uids = new Set(objects.map(({ uid }) => uid));
    for (const known of [this.#failed, this.#told])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    for (const object of objects) {
      const status = statusOf(object);
      this.#tell(object, status);
      const isDue = clock.monotonic() >= (this.#failed.get(object.uid) ?? 0);
      if (isDue && !isDeepStrictEqual(object.status, status)) await this.#write(object, status);
    }
  }

  async #write({ uid, name, status: before }: T, status: S): Promise<void> {
    const { client, fence, plural, kind, noteStatus, optional = [], clock, logger } = this.#options;
    const timeoutMs = Math.min(TIMEOUT_MS, fence.remainingMs());
    if (timeoutMs <= 0) return;
    // A merge patch leaves what it does not name.
    const gone = before === undefined ? [] : optional.filter((field) => !(field in status));
    try {
      await client.request({
        method: 'PATCH',
        path: `/apis/rollcall.dev/v1alpha1/${plural}/${name}/status`,
        body: { metadata: { uid }, status: { ...status, ...Object.fromEntries(gone.map((field) => [field, null])) } },
        contentType: 'application/merge-patch+json',
        timeoutMs,
      });
      this.#failed.delete(uid);
      noteStatus(name, status);
    } catch (err) {
      if (this.#failed.size === 0) this.#isTold = false;
      // The first is news, but for one that is gone.
      const isNews = !this.#isTold && (this.#failed.has(uid) || !mayBeGone(err));
      this.#isTold ||= isNews;
      const level = isNews ? 'warn' : 'debug';
      this.#failed.set(uid, clock.monotonic() + RETRY_MS);
      logger[level]({ kind, name, err }, 'Failed to write the status of an object');
    }
  }

  /** Once for each reason why one is not accepted, and once when it is again. */
  #tell(object: T, { conditions }: S): void {
    const { record, kind } = this.#options;
    const accepted = conditions.find(({ type }) => type === 'Accepted');
    if (!accepted) return;
    const { status, reason, message } = accepted;
    const before = this.#told.get(object.uid);
    const inStatus = conditionsIn(object.status).find((each) => each?.type === 'Accepted');
    const isTold = (before ?? inStatus?.message) === message;
    this.#told.set(object.uid, message);
    if (isTold) return;
    const subject = subjectOf(kind, object);
    if (status === 'False') record({ subject, type: 'Warning', reason, message });
    else if (before !== undefined) record({ subject, type: 'Normal', reason, message });
  }
}

/** What Events about an object of rollcall's own group are attached to. */
export function subjectOf(kind: string, { name, uid }: Pick<KeptObject, 'name' | 'uid'>): EventSubject {
  return { apiVersion: 'rollcall.dev/v1alpha1', kind, name, uid };
}
