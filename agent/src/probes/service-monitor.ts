import type { Clock } from '@rollcall/common/clock.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { ProbeTimeout } from './probe.ts';
import { Sentinel } from './sentinel.ts';
import { TokenBucket } from './token-bucket.ts';
import type { ProbeResult, ServiceDefinition, ServiceState } from './types.ts';
import { foldFinding, NOTHING_KNOWN, type Tally } from './verdict.ts';

/** Probes besides the rounds that closed connections may cause in a burst; after that, one a period. */
const EXTRA_PROBES_BURST = 5;
/** The first rounds of the services are spread over so long at most: a new node waits for them. */
const START_SPREAD_MS_MAX = 100;

export type ServiceMonitorOptions = {
  clock: Clock;
  /** Ends the monitor: no socket and no timer is left, nothing is called back any more. */
  signal: AbortSignal;
  /** A number in [0, 1). */
  random: () => number;
  /** Called with every new state: when `ready` or the evidence changed. */
  onChange: (state: ServiceState) => void;
  /** Called with the result of every probe, of rounds and of those between them. */
  onRound?: (result: ProbeResult) => void;
  /** Called when the service closed, or did not take, the idle connection that is held to it. */
  onSentinelClosed?: () => void;
};

/** Watches one service for as long as the agent runs. */
export type ServiceMonitor = {
  readonly name: string;
  /** Schedules the first round. Call it once. */
  start(): void;
  /** `undefined` until there is a first verdict. */
  state(): ServiceState | undefined;
  /** How many rounds were completed: 0 means that nothing is known yet, and it grows for as long as all is well. */
  rounds(): number;
  /**
   * Where to probe from now on; `undefined` goes back to the service's default. A new address is probed at once. The
   * verdict so far, and what counts towards the next one, stays until findings at the new address change it.
   */
  setTarget(target: ProbeTarget | undefined): void;
};

export function createServiceMonitor(definition: ServiceDefinition, options: ServiceMonitorOptions): ServiceMonitor {
  return new Monitor(definition, options);
}

/** `round`: due every period. `extra`: because the idle connection was lost. */
type Cause = 'round' | 'extra';

type RunningProbe = { controller: AbortController; cancelTimeout: () => void };

class Monitor implements ServiceMonitor {
  readonly name: string;
  readonly #definition: ServiceDefinition;
  readonly #options: ServiceMonitorOptions;
  readonly #sentinel = new Sentinel(() => this.#onSentinelClosed());
  readonly #extraProbes: TokenBucket;
  #target: ProbeTarget;
  #tally: Tally = NOTHING_KNOWN;
  #rounds = 0;
  #cancelNextRound: (() => void) | undefined;
  #running: RunningProbe | undefined;
  /** What could not be probed for yet, because a probe was under way. */
  readonly #missed = new Set<Cause>();

  constructor(definition: ServiceDefinition, options: ServiceMonitorOptions) {
    this.name = definition.name;
    this.#definition = definition;
    this.#options = options;
    this.#target = definition.defaultTarget;
    this.#extraProbes = new TokenBucket({
      clock: options.clock,
      capacity: EXTRA_PROBES_BURST,
      refillMs: definition.periodMs,
    });
  }

  start(): void {
    const { signal, random } = this.#options;
    if (signal.aborted) return;
    signal.addEventListener('abort', () => this.#halt(), { once: true });
    this.#scheduleRound(random() * Math.min(this.#definition.periodMs, START_SPREAD_MS_MAX));
  }

  state(): ServiceState | undefined {
    return this.#tally.state;
  }

  rounds(): number {
    return this.#rounds;
  }

  setTarget(target: ProbeTarget = this.#definition.defaultTarget): void {
    if (target.host === this.#target.host && target.port === this.#target.port) return;
    this.#target = target;
    const started = this.#cancelNextRound !== undefined;
    if (!started || this.#options.signal.aborted) return;
    this.#halt();
    this.#startRound();
  }

  #scheduleRound(delayMs: number): void {
    this.#cancelNextRound = this.#options.clock.after(delayMs, () => {
      if (this.#running) this.#missed.add('round');
      else this.#startRound();
    });
  }

  #startRound(): void {
    // Counted from start to start. A round that takes longer is followed by the next one at once, never overlapped.
    this.#scheduleRound(this.#definition.periodMs);
    this.#startProbe('round');
  }

  #startExtraProbe(): void {
    if (this.#extraProbes.take()) this.#startProbe('extra');
  }

  #startProbe(cause: Cause): void {
    const { probe, timeoutMs } = this.#definition;
    const controller = new AbortController();
    const cancelTimeout = this.#options.clock.after(timeoutMs, () => controller.abort(new ProbeTimeout(timeoutMs)));
    const running = { controller, cancelTimeout };
    this.#running = running;
    this.#missed.clear();
    void probe(this.#target, controller.signal).then((result) => {
      if (this.#running !== running) return;
      this.#running = undefined;
      cancelTimeout();
      this.#finishProbe(cause, result);
    });
  }

  #finishProbe(cause: Cause, result: ProbeResult): void {
    const before = this.#tally.state;
    if (cause === 'round') this.#rounds += 1;
    // The bucket is for servers that close idle connections; a service that is really gone must not use it up.
    else if (result.verdict === 'hard') this.#extraProbes.refund();
    // The failure threshold counts rounds; a burst of extra probes must not use it up within milliseconds.
    if (cause === 'round' || result.verdict !== 'soft') {
      this.#tally = foldFinding(this.#tally, result, this.#definition, this.#options.clock.now());
    }
    const { state } = this.#tally;
    // At once, and after a healthy finding in any case: a process that is being killed may close its connections before
    // its port. A probe in between still finds a port, but the new idle connection is refused, or reset with the port.
    if (state?.ready === false) this.#sentinel.release();
    else this.#sentinel.hold(this.#target);

    if (this.#missed.has('round')) this.#startRound();
    else if (this.#missed.has('extra') && result.verdict !== 'hard') this.#startExtraProbe();

    // Last, because these may call back into the monitor.
    this.#options.onRound?.(result);
    if (state && state !== before) this.#options.onChange(state);
  }

  #onSentinelClosed(): void {
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
    this.#sentinel.release();
  }
}
