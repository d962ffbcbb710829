/**
 * Makes the clocks and timers of a program run faster: `node --import=FILE_URL?speed=4&since=EPOCH_MS`. At `since` its
 * wall clock shows the real time; all programs with the same parameters agree about the time.
 *
 * What Node.js itself waits for stays in real time: time-outs of sockets and HTTP servers, the validity of certificates.
 */
const parameters = new URL(import.meta.url).searchParams;
const speed = Number(parameters.get('speed'));
const sinceMs = Number(parameters.get('since'));
if (!(speed >= 1) || !(sinceMs > 0)) throw new Error(`Give speed and since as parameters of ${import.meta.url}`);

const RealDate = Date;
const realMonotonicMs = performance.now.bind(performance);
const { setTimeout: startTimeout, setInterval: startInterval } = globalThis;

class FasterDate extends RealDate {
  constructor(...fields: [number?]) {
    // Nothing in the programs gives more than one argument.
    super(fields[0] ?? FasterDate.now());
  }

  static override now(): number {
    return Math.floor(sinceMs + (RealDate.now() - sinceMs) * speed);
  }
}

type Callback = (...args: unknown[]) => void;

Object.assign(globalThis, {
  Date: FasterDate,
  setTimeout: (callback: Callback, delayMs = 0, ...args: unknown[]) => startTimeout(callback, delayMs / speed, ...args),
  setInterval: (callback: Callback, delayMs = 0, ...args: unknown[]) =>
    startInterval(callback, delayMs / speed, ...args),
});
Object.defineProperty(performance, 'now', { value: () => realMonotonicMs() * speed });
