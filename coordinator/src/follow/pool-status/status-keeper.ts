import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { poolLabelSorter, type ReservedKeys } from '../../decide/labelers/pool-keys.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import type { ObservedPoolLabelSet } from '../../fleet/pool-label-sets.ts';
import { type KubeClient, mayBeGone, type WriteFence } from '../../kube/client.ts';
import type { EventNews } from '../events/event-news.ts';
import { type Standings, tallyOf } from './pool-tally.ts';
import { type SetStatus, setStatus } from './set-status.ts';

export type StatusKeeperOptions = {
  client: KubeClient;
  fence: WriteFence;
  fleet: Fleet;
  reserved: ReservedKeys;
  record: (news: EventNews) => void;
  clock: Clock;
  logger: Logger;
};

/** Somewhat less than the second between two ticks, of which one may come early. */
const LOOK_MS = 900;
/** A look takes at most this share of the time. */
const SHARE = 0.05;
const TIMEOUT_MS = 10_000;
/** A status that could not be written is tried again after so long, another status as well, and later and later. */
const RETRY_MS = 10_000;
export const RETRY_MAX_MS = 300_000;

/** Keeps the status of every NodePoolLabelSet up to date, as far as it can be done on the side. */
export class StatusKeeper {
  readonly #options: StatusKeeperOptions;
  #notBeforeMs = 0;
  #busy = false;
  #underWay = Promise.resolve();
  #refused = 0;
  /** When those that could not be written are due again, and how long that is from the last try, by uid. */
  readonly #failed = new Map<string, { dueMs: number; delayMs: number }>();
  /** Whether the log tells of those that fail. */
  #isTold = false;
  /** Refused keys that an Event told of, and the status does not, by uid. */
  readonly #told = new Map<string, SetStatus['refusedKeys']>();
  readonly #sort: ReturnType<typeof poolLabelSorter>;
  readonly #standings: Standings = new WeakMap();

  constructor(options: StatusKeeperOptions) {
    this.#options = options;
    this.#sort = poolLabelSorter(options.reserved);
  }

  /** How many keys are refused, over all sets. */
  get refusedKeys(): number {
    return this.#refused;
  }

  /** To be called often while this replica leads. Looks when it is time, and writes what differs. Never throws. */
  tick(): Promise<void> {
    if (!this.#busy) this.#underWay = this.#tick();
    return this.#underWay;
  }

  /** Resolves when no request is under way. */
  settled(): Promise<void> {
    return this.#underWay;
  }

  async #tick(): Promise<void> {
    const { clock, fence, logger } = this.#options;
    const startedMs = clock.monotonic();
    if (startedMs < this.#notBeforeMs || fence.remainingMs() <= 0) return;
    this.#busy = true;
    try {
      const due = this.#look();
      this.#notBeforeMs = startedMs + Math.max(LOOK_MS, (clock.monotonic() - startedMs) / SHARE);
      for (const { set, status } of due) await this.#write(set, status);
    } catch (err) {
      logger.error({ err }, 'Failed to look at the NodePoolLabelSets');
    } finally {
      this.#busy = false;
    }
  }

  /** Sets whose status is not what it should be. Events about their keys do not wait for it. */
  #look(): { set: ObservedPoolLabelSet; status: SetStatus }[] {
    const { fleet, clock } = this.#options;
    const sets = [...fleet.poolLabelSets.all()];
    this.#refused = 0;
    const uids = new Set(sets.map(({ uid }) => uid));
    for (const known of [this.#failed, this.#told])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
    if (sets.length === 0) return [];
    const nodes = Map.groupBy(fleet.nodeNames(), (name) => fleet.poolLabelSetOf(name));
    return sets.flatMap((set) => {
      const counts = fleet.poolLabelSets.of(set.pool);
      const { accepted, refused } = this.#sort(set);
      this.#refused += refused.length;
      const previous = fleet.poolLabelSets.statusOf(set.name);
      const ofPool = (nodes.get(set) ?? []).flatMap((name) => fleet.node(name) ?? []);
      const status = setStatus({
        set,
        overruledBy: counts === set ? undefined : counts,
        refused,
        tally: tallyOf(ofPool, accepted, this.#standings),
        previous,
        now: rfc3339(clock.now()),
      });
      this.#tellRefused(set, status, previous);
      const isDue = clock.monotonic() >= (this.#failed.get(set.uid)?.dueMs ?? 0);
      return !isDue || isDeepStrictEqual(previous, status) ? [] : [{ set, status }];
    });
  }

  async #write(set: ObservedPoolLabelSet, status: SetStatus): Promise<void> {
    const { client, fence, fleet, clock, logger } = this.#options;
    const timeoutMs = Math.min(TIMEOUT_MS, fence.remainingMs());
    if (timeoutMs <= 0) return;
    const { namespace, name } = set;
    try {
      await client.request({
        method: 'PATCH',
        path: `/apis/labels.banzaicloud.io/v1alpha1/namespaces/${namespace}/nodepoollabelsets/${name}/status`,
        body: { metadata: { uid: set.uid }, status },
        contentType: 'application/merge-patch+json',
        timeoutMs,
      });
      this.#failed.delete(set.uid);
      fleet.poolLabelSets.noteStatus(name, status);
    } catch (err) {
      const before = this.#failed.get(set.uid)?.delayMs;
      const delayMs = before === undefined ? RETRY_MS : Math.min(RETRY_MAX_MS, before * 2);
      if (this.#failed.size === 0) this.#isTold = false;
      // The first is news, but for one that is gone. With a CRD that has no status, all fail, and fail again.
      const isNews = !this.#isTold && (before !== undefined || !mayBeGone(err));
      this.#isTold ||= isNews;
      const level = isNews ? 'warn' : 'debug';
      this.#failed.set(set.uid, { dueMs: clock.monotonic() + delayMs, delayMs });
      logger[level]({ nodePoolLabelSet: name, err, delayMs }, 'Failed to write the status of a NodePoolLabelSet');
    }
  }

  #tellRefused({ uid, name, namespace }: ObservedPoolLabelSet, { refusedKeys }: SetStatus, previous: unknown): void {
    const inStatus = (previous as Partial<SetStatus> | null | undefined)?.refusedKeys;
    if (refusedKeys.length === 0 || isDeepStrictEqual(inStatus, refusedKeys)) {
      this.#told.delete(uid);
      return;
    }
    if (isDeepStrictEqual(this.#told.get(uid), refusedKeys)) return;
    this.#told.set(uid, refusedKeys);
    const subject = { apiVersion: 'labels.banzaicloud.io/v1alpha1', kind: 'NodePoolLabelSet', name, namespace, uid };
    const message = refusedKeys.map(({ key, reason }) => `${key} ${reason}`).join('; ');
    this.#options.record({ subject, type: 'Warning', reason: 'KeysRefused', message });
  }
}
