import type { Clock } from '@rollcall/common/clock.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';
import { ProbeTimeout } from './probe.ts';
import type { SharedTimer } from './shared-timer.ts';
import type { Line, ProbeResult, ServiceDefinition, ServiceState } from './types.ts';
import { foldFinding, NOTHING_KNOWN, type Tally } from './verdict.ts';

/** Probes besides the rounds that closed connections may cause in a burst; after that, one a period. */
const EXTRA_PROBES_BURST = 5;

/** Nothing of a process that runs comes so late: it stood still, and what it knew from before vouches for nothing. */
const STOOD_STILL_MS = 10_000;

/** A service is at rest when it has been ready, without any doubt, for so long. */
const REST_AFTER_MS = 60_000;
/** Rounds at rest come so much before their time: a hang is then reported within the period and the time-outs. */
const REST_LEAD_MS = 100;

export type ServiceMonitorOptions = {
  clock: Clock;
  /** Wakes the process for the rounds of all services; by default the clock does for this one. */
  timer?: Pick<SharedTimer, 'after'>;
  /** Ends the monitor: no socket and no timer is left, nothing is called back any more. */
  signal: AbortSignal;
  /** Called with every new state: when `ready` or the evidence changed. */
  onChange: (state: ServiceState) => void;
  /** Called with the result of every probe, of rounds and of those between them. */
  onRound?: (result: ProbeResult) => void;
  /** Called when the service closed, or did not take, the idle connection that is held to it. */
  onSentinelClosed?: () => void;
  /** Calls back when a probe that is no round may begin; at once by default. `isFirst`: it is the first one. */
  takeTurn?: (begin: () => void, isFirst: boolean) => void;
};

/** Watches one service for as long as the agent runs. */
export type ServiceMonitor = {
  /** Begins the first round when it has its turn. Call it once. */
  start(): void;
  /** Something about the service may have changed: it is not at rest for a while. */
  doubt(): void;
  /** `undefined` until there is a first verdict, and again when this process stood still, for as long. */
  state(): ServiceState | undefined;
  /** How many rounds were completed: 0 means that nothing is known yet, and it grows for as long as all is well. */
  rounds(): number;
};

export function createServiceMonitor(definition: ServiceDefinition, options: ServiceMonitorOptions): ServiceMonitor {
  return new Monitor(definition, options);
}

/** `round`: due every period. `extra`: because the idle connection was lost. */
type Cause = 'round' | 'extra';

type RunningProbe = { controller: AbortController; cancelTimeout: () => void; endsByMs: number };

class Monitor implements ServiceMonitor {
  readonly #definition: ServiceDefinition;
  readonly #options: ServiceMonitorOptions;
  readonly #line: Line;
  readonly #extraProbes: TokenBucket;
  #tally: Tally = NOTHING_KNOWN;
  #rounds = 0;
  /** When the next round is due, in monotonic milliseconds. */
  #nextRoundMs = Number.POSITIVE_INFINITY;
  #lastRoundMs = Number.NEGATIVE_INFINITY;
  /** Since when there is no doubt that the service is ready; `undefined` while there is one. */
  #calmSinceMs: number | undefined;
  /**
   * How long the rounds were to take since a new connection found the service healthy: after some periods it is time for
   * another, also while rounds are rare. Rounds that a busy machine delays are no reason to connect more often.
   */
  #sinceFreshMs = Number.POSITIVE_INFINITY;
  /** From the last round to the next, as planned. */
  #plannedMs = 0;
  #cancelNextRound: (() => void) | undefined;
  #running: RunningProbe | undefined;
  /** An extra probe waits for its turn, and no probe has begun since. */
  #isExtraDue = false;
  /** What could not be probed for yet, because a probe was under way. */
  readonly #missed = new Set<Cause>();

  constructor(definition: ServiceDefinition, options: ServiceMonitorOptions) {
    this.#definition = definition;
    this.#options = options;
    this.#line = definition.openLine(() => this.#onSentinelClosed());
    this.#extraProbes = new TokenBucket({ burst: EXTRA_PROBES_BURST, intervalMs: definition.periodMs });
  }

  start(): void {
    const { signal } = this.#options;
    if (signal.aborted) return;
    signal.addEventListener('abort', () => this.#halt(), { once: true });
    this.#takeTurn(() => this.#scheduleRound(0), true);
  }

  state(): ServiceState | undefined {
    return this.#stoodStill() ? undefined : this.#tally.state;
  }

  rounds(): number {
    return this.#rounds;
  }

  doubt(): void {
    this.#calmSinceMs = undefined;
    const nowMs = this.#options.clock.monotonic();
    const soonestMs = Math.max(nowMs, this.#lastRoundMs + this.#definition.periodMs);
    if (!this.#cancelNextRound || soonestMs >= this.#nextRoundMs) return;
    this.#cancelNextRound();
    this.#scheduleRound(soonestMs - nowMs);
  }

  #restart(): void {
    this.#forgetIfStoodStill();
    this.#halt();
    this.#takeTurn(() => this.#startRound());
  }

  #takeTurn(begin: () => void, isFirst = false): void {
    const { signal, takeTurn } = this.#options;
    if (takeTurn) takeTurn(() => signal.aborted || begin(), isFirst);
    else begin();
  }

  /** Whether the round or the wait that was due has not ended long after its time. */
  #stoodStill(): boolean {
    const dueMs = this.#running?.endsByMs ?? this.#nextRoundMs;
    return this.#options.clock.monotonic() - dueMs > STOOD_STILL_MS;
  }

  #scheduleRound(delayMs: number): void {
    this.#nextRoundMs = this.#options.clock.monotonic() + delayMs;
    this.#cancelNextRound = (this.#options.timer ?? this.#options.clock).after(delayMs, () => {
      if (this.#running) this.#missed.add('round');
      else this.#startRound();
    });
  }

  #startRound(): void {
    this.#forgetIfStoodStill();
    this.#lastRoundMs = this.#options.clock.monotonic();
    // Counted from start to start. A round that takes longer is followed by the next one at once, never overlapped.
    this.#sinceFreshMs += this.#plannedMs;
    this.#plannedMs = this.#nextPeriodMs();
    this.#scheduleRound(this.#plannedMs);
    this.#startProbe('round');
  }

  #nextPeriodMs(): number {
    const { periodMs, idlePeriodMs = periodMs } = this.#definition;
    const calmMs = this.#options.clock.monotonic() - (this.#calmSinceMs ?? Number.POSITIVE_INFINITY);
    return calmMs < REST_AFTER_MS ? periodMs : Math.max(periodMs, idlePeriodMs - REST_LEAD_MS);
  }

  #startExtraProbe(): void {
    this.#forgetIfStoodStill();
    if (!this.#extraProbes.take(this.#options.clock.monotonic())) return;
    this.#isExtraDue = true;
    this.#takeTurn(() => this.#isExtraDue && this.#startProbe('extra'));
  }

  #forgetIfStoodStill(): void {
    if (!this.#stoodStill()) return;
    this.#tally = NOTHING_KNOWN;
    this.#calmSinceMs = undefined;
    this.#sinceFreshMs = Number.POSITIVE_INFINITY;
  }

  #startProbe(cause: Cause): void {
    const { timeoutMs } = this.#definition;
    const controller = new AbortController();
    const cancelTimeout = this.#options.clock.after(timeoutMs, () => controller.abort(new ProbeTimeout(timeoutMs)));
    const running = { controller, cancelTimeout, endsByMs: this.#options.clock.monotonic() + timeoutMs };
    this.#running = running;
    this.#isExtraDue = false;
    this.#missed.clear();
    const freshForMs = (this.#line.freshEveryRounds - 1) * this.#definition.periodMs;
    const fresh = cause === 'extra' || this.#sinceFreshMs > freshForMs;
    void this.#line.ask(this.#definition.target, controller.signal, fresh).then((result) => {
      if (this.#running !== running) return;
      // What was found while this process stood still, such as a time-out, is its own doing.
      if (this.#stoodStill()) return this.#restart();
      this.#running = undefined;
      cancelTimeout();
      this.#noteFresh(fresh, result);
      this.#finishProbe(cause, result);
    });
  }

  /** What is not healthy is looked at anew each time, until it is healthy again. */
  #noteFresh(fresh: boolean, { verdict }: ProbeResult): void {
    if (verdict !== 'healthy') this.#sinceFreshMs = Number.POSITIVE_INFINITY;
    else if (fresh) this.#sinceFreshMs = 0;
  }

  #finishProbe(cause: Cause, result: ProbeResult): void {
    const before = this.#tally.state;
    if (cause === 'round') this.#rounds += 1;
    // The failure threshold counts rounds; a burst of extra probes must not use it up within milliseconds.
    if (cause === 'round' || result.verdict === 'healthy' || result.verdict === 'hard') {
      this.#tally = foldFinding(this.#tally, result, this.#definition, this.#options.clock.now());
    }
    const { state } = this.#tally;
    if (result.verdict !== 'healthy' || !state?.ready) this.doubt();
    else this.#calmSinceMs ??= this.#options.clock.monotonic();
    // At once, and after a healthy finding in any case: a process that is being killed may close its connections before
    // its port. A probe in between still finds a port, but the new idle connection is refused, or reset with the port.
    if (state?.ready === false && !state.unknown) this.#line.release();
    else this.#line.hold(this.#definition.target);

    if (this.#missed.has('round')) this.#startRound();
    else if (this.#missed.has('extra') && result.verdict !== 'hard') this.#startExtraProbe();

    // Last, because these may call back into the monitor.
    this.#options.onRound?.(result);
    if (state && state !== before) this.#options.onChange(state);
  }

  #onSentinelClosed(): void {
    this.doubt();
    if (this.#running) this.#missed.add('extra');
    else this.#startExtraProbe();
    this.#options.onSentinelClosed?.();
  }

  /** Leaves no timer, no socket and no probe whose result would count. */
  #halt(): void {
    this.#cancelNextRound?.();
    this.#running?.cancelTimeout();
    this.#running?.controller.abort();
    this.#running = undefined;
    this.#sinceFreshMs = Number.POSITIVE_INFINITY;
    this.#line.release();
  }
}
