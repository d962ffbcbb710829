import type { Clock } from '@rollcall/common/clock.ts';
import { describeError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { DeviceBus } from '@rollcall/common/report.ts';
import type { CollectorMetrics } from '../collector-metrics.ts';
import { COMPARED_MAX } from './device-cache.ts';
import type { BusCollector, BusReading, DevicesRead } from './types.ts';

const NOTHING: DevicesRead = { devices: [], settling: false, leftOut: 0 };
/** How long after its first reading a bus is waited for that tells something late. A device that is stuck takes longer. */
const LATE_MAX_MS = 10_000;
/** A bus without events is read this often all the same. */
const EVENTLESS_MS_MAX = 30_000;
/** Readings after an event, besides one for each `COMPARED_MAX` devices: what an event is about may come a moment later. */
const READINGS_AFTER_EVENT = 2;

export type BusWatchOptions = {
  /** For so long after its first reading, what is not on the bus may be about to come back. In milliseconds. */
  graceMs: number;
  clock: Clock;
  logger: Logger;
  metrics: CollectorMetrics;
};

/** One bus: its last reading that worked, and how the latest one went. */
export class BusWatch {
  readonly bus: DeviceBus;
  readonly #collector: BusCollector;
  readonly #options: BusWatchOptions;
  #reading: BusReading | undefined;
  #readMs = Number.NEGATIVE_INFINITY;
  #firstReadMs: number | undefined;
  #isSure = false;
  /** Readings until nothing on the bus can be other than it was at the last event. */
  #readingsDue = 0;
  #problem: string | undefined;

  constructor(collector: BusCollector, options: BusWatchOptions) {
    this.bus = collector.bus;
    this.#collector = collector;
    this.#options = options;
  }

  /**
   * Reads the bus if the last reading is no longer good. `isEventless`: the kernel has sent no event since the last call.
   * Returns whether there is something new; never throws.
   */
  refresh(isEventless = false): boolean {
    const before = this.#reading;
    const wasUnread = this.isUnread;
    const nowMs = this.#options.clock.monotonic();
    if (!isEventless) {
      const { devices, leftOut } = this.known;
      this.#readingsDue = READINGS_AFTER_EVENT + Math.ceil((devices.length + leftOut) / COMPARED_MAX);
    }
    if (!this.#isGood(nowMs) && !this.#read(nowMs)) return false;
    this.#isSure ||= this.#canBeSure(nowMs);
    return this.#reading !== before || this.isUnread !== wasUnread;
  }

  /** What is on the bus: nothing where there is no such bus, and while it is not known. */
  get known(): DevicesRead {
    return this.#reading === undefined || this.#reading === 'absent' ? NOTHING : this.#reading;
  }

  /** Whether a device on the bus is just being set up; false while the bus cannot be read. */
  get isSettling(): boolean {
    return this.#problem === undefined && this.known.settling;
  }

  /**
   * What is not known to be on it may be there all the same: it was never read, or it is read for so short a time that
   * what was there before the start may be about to come back, or has not told all about itself.
   */
  get isUnread(): boolean {
    return !this.#isSure;
  }

  /** For people: how many devices are known, or why none. */
  get state(): number | 'unread' | 'absent' {
    if (this.#reading === undefined) return 'unread';
    return this.#reading === 'absent' ? 'absent' : this.#reading.devices.length;
  }

  #isGood(nowMs: number): boolean {
    const ageMs = nowMs - this.#readMs;
    if (ageMs < this.#collector.validMs) return true;
    if (!this.#collector.hasEvents || this.#readingsDue > 0 || ageMs >= EVENTLESS_MS_MAX) return false;
    return !this.known.settling && this.#collector.isLate?.() !== true;
  }

  #read(startMs: number): boolean {
    const { clock, metrics } = this.#options;
    try {
      this.#reading = this.#collector.read();
    } catch (err) {
      metrics.observeReading(this.bus, 'failed', clock.monotonic() - startMs);
      this.#onFailed(err);
      return false;
    }
    this.#readMs = startMs;
    this.#readingsDue = Math.max(0, this.#readingsDue - 1);
    this.#firstReadMs ??= startMs;
    metrics.observeReading(this.bus, this.#reading === 'absent' ? 'absent' : 'read', clock.monotonic() - startMs);
    this.#onRead();
    return true;
  }

  #canBeSure(nowMs: number): boolean {
    if (this.#reading === 'absent') return true;
    const watchedMs = nowMs - (this.#firstReadMs ?? nowMs);
    const isLate = this.#collector.isLate?.() === true && watchedMs < LATE_MAX_MS;
    return watchedMs >= this.#options.graceMs && !isLate;
  }

  #onRead(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#options.logger.info({ bus: this.bus }, 'Could read a bus again');
  }

  #onFailed(err: unknown): void {
    const problem = describeError(err);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.logger.warn({ bus: this.bus, err }, 'Could not read a bus');
  }
}
