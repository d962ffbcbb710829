import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { EventNews } from '../events/event-news.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { ObservedPoolLabelSet } from '../fleet/pool-label-sets.ts';
import type { KubeClient, WriteFence } from '../kube/client.ts';
import { type ReservedKeys, sortPoolLabels } from '../labelers/pool-keys.ts';
import { tallyOf } from './pool-tally.ts';
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
/** A status that could not be written is tried again after so long, another status as well. */
const RETRY_MS = 10_000;

/** Keeps the status of every NodePoolLabelSet up to date, as far as it can be done on the side. */
export class StatusKeeper {
  readonly #options: StatusKeeperOptions;
  #notBeforeMs = 0;
  #busy = false;
  #underWay = Promise.resolve();
  #refused = 0;
  /** When those that could not be written are due again, by uid. */
  #failed = new Map<string, number>();

  constructor(options: StatusKeeperOptions) {
    this.#options = options;
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
    const { clock, fence } = this.#options;
    const startedMs = clock.monotonic();
    if (startedMs < this.#notBeforeMs || fence.remainingMs() <= 0) return;
    this.#busy = true;
    try {
      const due = this.#look();
      this.#notBeforeMs = startedMs + Math.max(LOOK_MS, (clock.monotonic() - startedMs) / SHARE);
      for (const { set, status } of due) await this.#write(set, status);
    } finally {
      this.#busy = false;
    }
  }

  /** Sets whose status is not what it should be. */
  #look(): { set: ObservedPoolLabelSet; status: SetStatus }[] {
    const { fleet, reserved, clock } = this.#options;
    const sets = [...fleet.poolLabelSets.all()];
    this.#refused = 0;
    const uids = new Set(sets.map(({ uid }) => uid));
    for (const uid of this.#failed.keys()) if (!uids.has(uid)) this.#failed.delete(uid);
    if (sets.length === 0) return [];
    const sorted = new Map(sets.map((set) => [set, sortPoolLabels(set, reserved)]));
    const nodes = Map.groupBy(fleet.nodeNames(), (name) => fleet.poolLabelSetOf(name));
    return sets.flatMap((set) => {
      const counts = fleet.poolLabelSets.of(set.pool);
      const { accepted, refused } = sorted.get(set) ?? sortPoolLabels(set, reserved);
      this.#refused += refused.length;
      const previous = fleet.poolLabelSets.statusOf(set.name) as Partial<SetStatus> | undefined;
      const status = setStatus({
        set,
        overruledBy: counts === set ? undefined : counts,
        refused,
        tally: tallyOf(
          (nodes.get(set) ?? []).flatMap((name) => fleet.node(name) ?? []),
          accepted,
        ),
        previous,
        now: rfc3339(clock.now()),
      });
      const isDue = clock.monotonic() >= (this.#failed.get(set.uid) ?? 0);
      return !isDue || isDeepStrictEqual(previous, status) ? [] : [{ set, status }];
    });
  }

  async #write(set: ObservedPoolLabelSet, status: SetStatus): Promise<void> {
    const { client, fence, fleet, clock, logger } = this.#options;
    const timeoutMs = Math.min(TIMEOUT_MS, fence.remainingMs());
    if (timeoutMs <= 0) return;
    const { namespace, name } = set;
    if (!this.#failed.has(set.uid)) this.#tellRefused(set, status);
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
      this.#failed.set(set.uid, clock.monotonic() + RETRY_MS);
      logger.debug({ nodePoolLabelSet: name, err }, 'Failed to write the status of a NodePoolLabelSet');
    }
  }

  #tellRefused(set: ObservedPoolLabelSet, { refusedKeys }: SetStatus): void {
    const { uid, name, namespace } = set;
    const subject = { apiVersion: 'labels.banzaicloud.io/v1alpha1', kind: 'NodePoolLabelSet', name, namespace, uid };
    const told = this.#options.fleet.poolLabelSets.statusOf(name) as Partial<SetStatus> | undefined;
    if (refusedKeys.length === 0 || isDeepStrictEqual(told?.refusedKeys, refusedKeys)) return;
    const message = refusedKeys.map(({ key, reason }) => `${key} ${reason}`).join('; ');
    this.#options.record({ subject, type: 'Warning', reason: 'KeysRefused', message });
  }
}
