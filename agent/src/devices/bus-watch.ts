import type { Clock } from '@rollcall/common/clock.ts';
import { describeError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { DeviceBus } from '@rollcall/common/report.ts';
import type { CollectorMetrics } from '../collector-metrics.ts';
import type { BusCollector, BusReading, DevicesRead } from './types.ts';

const NOTHING: DevicesRead = { devices: [], settling: false, leftOut: 0 };

export type BusWatchOptions = { clock: Clock; logger: Logger; metrics: CollectorMetrics };

/** One bus: its last reading that worked, and how the latest one went. */
export class BusWatch {
  readonly bus: DeviceBus;
  readonly #collector: BusCollector;
  readonly #options: BusWatchOptions;
  #reading: BusReading | undefined;
  #readMs = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;

  constructor(collector: BusCollector, options: BusWatchOptions) {
    this.bus = collector.bus;
    this.#collector = collector;
    this.#options = options;
  }

  /** Reads the bus if the last reading is no longer good. Returns whether there is something new; never throws. */
  refresh(): boolean {
    const { clock, metrics } = this.#options;
    const startMs = clock.monotonic();
    if (startMs - this.#readMs < this.#collector.validMs) return false;
    const before = this.#reading;
    try {
      this.#reading = this.#collector.read();
    } catch (err) {
      metrics.observeReading(this.bus, 'failed', clock.monotonic() - startMs);
      this.#onFailed(err);
      return false;
    }
    this.#readMs = startMs;
    metrics.observeReading(this.bus, this.#reading === 'absent' ? 'absent' : 'read', clock.monotonic() - startMs);
    this.#onRead();
    return this.#reading !== before;
  }

  /** What is on the bus: nothing where there is no such bus, and while it is not known. */
  get known(): DevicesRead {
    return this.#reading === undefined || this.#reading === 'absent' ? NOTHING : this.#reading;
  }

  /** Something on it is just being set up. While it cannot be read, nobody knows. */
  get isSettling(): boolean {
    return this.#problem === undefined && this.known.settling;
  }

  /** It was never read: what is on it is not known. */
  get isUnread(): boolean {
    return this.#reading === undefined;
  }

  get isAbsent(): boolean {
    return this.#reading === 'absent';
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
