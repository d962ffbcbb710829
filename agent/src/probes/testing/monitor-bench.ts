import type { ProbeTarget } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { onTestFinished } from 'vitest';
import { idleLine } from '../idle-line.ts';
import { createServiceMonitor, type ServiceMonitor } from '../service-monitor.ts';
import type { ProbeAddress, ProbeResult, ServiceDefinition, ServiceState } from '../types.ts';
import { createRawServer, listenOnLoopback, type RunningServer } from './servers.ts';

/** A probe that was asked and has not answered yet. */
type Question = { target: ProbeAddress; signal: AbortSignal; askedAtMs: number; answer: (result: ProbeResult) => void };

export function result(verdict: ProbeResult['verdict'], evidence: string = verdict): ProbeResult {
  return { verdict, evidence, latencyMs: 1 };
}

/** A monitor whose clock stands still and whose probe the test answers; the idle connections are real. */
export class Bench {
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  readonly questions: Question[] = [];
  readonly changes: ServiceState[] = [];
  readonly results: ProbeResult[] = [];
  sentinelCloses = 0;
  /** Answers every probe at once with this, when set. */
  automatic: ProbeResult | undefined;
  readonly monitor: ServiceMonitor;

  constructor(target: ProbeTarget, definition: Partial<ServiceDefinition>, freshEveryRounds: number) {
    this.monitor = createServiceMonitor(
      {
        name: 'ws-daemon',
        target: { host: target.host, port: target.port },
        openLine: idleLine((asked, signal) => this.#probe(asked, signal), freshEveryRounds),
        periodMs: 1000,
        timeoutMs: 800,
        failureThreshold: 3,
        successThreshold: 1,
        ...definition,
      },
      {
        clock: this.clock,
        signal: this.stop.signal,
        onChange: (state) => this.changes.push(state),
        onRound: (each) => this.results.push(each),
        onSentinelClosed: () => {
          this.sentinelCloses += 1;
        },
      },
    );
  }

  #probe(target: ProbeAddress, signal: AbortSignal): Promise<ProbeResult> {
    return new Promise((resolve) => {
      const { promise, resolve: answer } = Promise.withResolvers<ProbeResult>();
      this.questions.push({ target, signal, askedAtMs: this.clock.monotonic(), answer });
      signal.addEventListener('abort', () => answer(result('soft', String(signal.reason))));
      if (this.automatic) answer(this.automatic);
      void promise.then(resolve);
    });
  }

  /** Starts; the first probe is asked at once. */
  async start(): Promise<void> {
    this.monitor.start();
    await this.clock.advance(0);
  }

  /** Answers the newest question and lets that take effect. */
  async answer(verdict: ProbeResult['verdict'], evidence?: string): Promise<void> {
    this.questions.at(-1)?.answer(result(verdict, evidence));
    await this.clock.advance(0);
  }

  get askedAtMs(): number[] {
    return this.questions.map((question) => question.askedAtMs);
  }
}

/** A bench for one test. */
export function createBenchAt(
  target: ProbeTarget,
  definition: Partial<ServiceDefinition>,
  freshEveryRounds = 1,
): Bench {
  const bench = new Bench(target, definition, freshEveryRounds);
  onTestFinished(() => bench.stop.abort());
  return bench;
}

/** A server, for one test, that takes connections and says nothing. */
export async function serveSilently(): Promise<RunningServer> {
  const running = await listenOnLoopback(createRawServer((socket) => socket.resume()));
  onTestFinished(running.close);
  return running;
}
