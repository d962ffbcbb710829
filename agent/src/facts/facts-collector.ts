import { isDeepStrictEqual } from 'node:util';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { CollectorMetrics } from '../collector-metrics.ts';
import { type BoundedRun, runBounded } from './bounded-run.ts';
import { factsProgram, type Program } from './facts-program.ts';
import { parseFacts } from './parse-facts.ts';

const PERIOD_MS = 3_600_000;
const RETRY_MS = 300_000;
const LIMIT_MS = 30_000;
const OUTPUT_MAX = 65_536;

export type FactsCollectorOptions = {
  clock: Clock;
  logger: Logger;
  metrics: CollectorMetrics;
  signal: AbortSignal;
  /** Called when the facts have changed. */
  onChange: () => void;
  /** The program that prints the facts; defaults to the child in this folder. */
  program?: Program;
};

/**
 * Keeps the facts about the machine: read at the start, then every hour, and five minutes after a reading that failed.
 * Nothing waits for a reading, and a reading that fails leaves the last facts.
 */
export class FactsCollector {
  readonly #options: FactsCollectorOptions;
  readonly #program: Program;
  #facts: Readonly<Record<string, string>> | undefined;
  #failing = false;

  constructor(options: FactsCollectorOptions) {
    this.#options = options;
    this.#program = options.program ?? factsProgram(import.meta.url);
  }

  start(): void {
    void this.#run();
  }

  /** `undefined` until a reading worked: not known, which is not the same as none. */
  facts(): Readonly<Record<string, string>> | undefined {
    return this.#facts;
  }

  async #run(): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      await this.#read();
      await sleep(clock, this.#failing ? RETRY_MS : PERIOD_MS, signal);
    }
  }

  async #read(): Promise<void> {
    const { clock, signal, metrics } = this.#options;
    const startMs = clock.monotonic();
    let run: BoundedRun | undefined;
    try {
      run = runBounded({ ...this.#program, limitMs: LIMIT_MS, outputMax: OUTPUT_MAX, clock, signal });
      const facts = parseFacts(await run.output);
      metrics.observeReading('facts', 'read', clock.monotonic() - startMs);
      this.#take(facts);
    } catch (cause) {
      if (signal.aborted) return;
      metrics.observeReading('facts', 'failed', clock.monotonic() - startMs);
      this.#fail(cause);
    }
    // Never two at a time, even where one cannot be killed.
    await run?.gone;
  }

  #take(facts: Readonly<Record<string, string>>): void {
    const { logger, onChange } = this.#options;
    if (this.#failing) logger.info('Read the facts about the machine again');
    this.#failing = false;
    if (isDeepStrictEqual(facts, this.#facts)) return;
    this.#facts = facts;
    onChange();
  }

  #fail(cause: unknown): void {
    if (!this.#failing) {
      const err = new CodedError('FACTS_UNREADABLE', 'Cannot read the facts about the machine', { cause });
      this.#options.logger.warn({ err }, 'Kept the facts that were known before');
    }
    this.#failing = true;
  }
}
