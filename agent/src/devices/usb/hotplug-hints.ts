import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';

/** One plug is several events: the events of a hub and of the devices on it come together. */
const GATHER_MS = 20;
/** The attributes of a new device may come later than the event. */
const SETTLE_MS = 250;

/**
 * Makes few scans of many hints: one 20 ms after the first hint, and another 250 ms later. What is hinted at in
 * between is seen by that one, and gets one more after it; so a storm costs four scans a second.
 */
export class HintPacing {
  readonly #clock: Clock;
  readonly #scanSoon: () => void;
  #state: 'idle' | 'gathering' | 'settling' | 'settling-again' = 'idle';
  #cancelTimer = () => {};

  constructor(clock: Clock, scanSoon: () => void) {
    this.#clock = clock;
    this.#scanSoon = scanSoon;
  }

  hint(): void {
    if (this.#state === 'settling') this.#state = 'settling-again';
    if (this.#state !== 'idle') return;
    this.#state = 'gathering';
    this.#cancelTimer = this.#clock.after(GATHER_MS, () => this.#scan());
  }

  cancel(): void {
    this.#cancelTimer();
    this.#state = 'idle';
  }

  #scan(): void {
    const settled = this.#state === 'settling';
    this.#state = settled ? 'idle' : 'settling';
    if (!settled) this.#cancelTimer = this.#clock.after(SETTLE_MS, () => this.#scan());
    this.#scanSoon();
  }
}

/** The part of the native binding of `usb` that watches the bus. */
type Watcher = {
  addAttach(callback: () => void): Promise<void>;
  addDetach(callback: () => void): Promise<void>;
  removeAttach(): Promise<void>;
  removeDetach(): Promise<void>;
};

export type HotplugHintsOptions = {
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  /** Must not throw. Called soon after something was plugged or unplugged, and once more when it has settled. */
  scanSoon: () => void;
  /** Whether events can come; the package is not loaded where they cannot. */
  gate: () => boolean;
  /** Loads the native binding. */
  load?: () => Promise<unknown>;
};

/**
 * Says "scan now" when udev says that a USB device came or went. This is never needed: the periodic scan is the truth,
 * and without udev, or without the host's network (`hotplug-gate.ts`), no event ever comes.
 *
 * The binding of `usb` is used without its JavaScript in front, for two reasons that would each end the process. There,
 * `addEventListener` starts a list of all devices whose rejection is not handled (no USB bus, an unreadable
 * descriptor), and a watcher that does not start is thrown from a timer on purpose (`queueNativeEmitterOperation`);
 * neither can be caught by the caller. The binding's own `addAttach` and `addDetach` return promises that reject here
 * (no netlink, no file descriptor left), and they list nothing. Once it watches, it reports no error but is silent.
 */
export class HotplugHints {
  readonly #options: HotplugHintsOptions;
  readonly #pacing: HintPacing;
  /** Held on to: the watch ends when the binding's object is collected. */
  #watcher: Watcher | undefined;

  constructor(options: HotplugHintsOptions) {
    this.#options = options;
    this.#pacing = new HintPacing(options.clock, options.scanSoon);
  }

  /** Returns at once; whatever fails is logged once, and nothing else comes of it. */
  start(): void {
    void this.#watch();
  }

  async #watch(): Promise<void> {
    const { logger, signal, gate, load = loadBinding } = this.#options;
    try {
      if (signal.aborted || !gate()) return;
      const { Emitter } = (await load()) as { Emitter: new () => Watcher };
      const watcher = new Emitter();
      const onEvent = () => {
        if (!signal.aborted) this.#pacing.hint();
      };
      await watcher.addAttach(onEvent);
      await watcher.addDetach(onEvent);
      this.#watcher = watcher;
      logger.debug('Listening for USB devices being plugged');
    } catch (err) {
      logger.info({ err }, 'Went without hot-plug events of USB, which the periodic scan makes up for');
      return;
    }
    if (signal.aborted) await this.#stop();
    else signal.addEventListener('abort', () => void this.#stop(), { once: true });
  }

  async #stop(): Promise<void> {
    this.#pacing.cancel();
    const watcher = this.#watcher;
    this.#watcher = undefined;
    await Promise.allSettled([watcher?.removeAttach(), watcher?.removeDetach()]);
  }
}

/** Loaded when it is wanted, since it costs memory; it is native, and a bundle without node_modules does not have it. */
function loadBinding(): Promise<unknown> {
  return import('usb/index.js');
}
