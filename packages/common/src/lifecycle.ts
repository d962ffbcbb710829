import { CodedError } from './coded-error.ts';
import type { Logger } from './logging.ts';

/** Kubernetes gives 30 s by default, but people and tests do not like to wait. */
const STOP_DEADLINE_MS = 4500;

type StopHook = { name: string; stop: () => Promise<void> | void };

/** What a program has started, stopped in reverse order. `signal` aborts when stopping begins. */
export class Lifecycle {
  readonly #hooks: StopHook[] = [];
  readonly #controller = new AbortController();
  readonly #logger: Logger;
  #stopping: Promise<void> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onStop(name: string, stop: () => Promise<void> | void): void {
    this.#hooks.push({ name, stop });
  }

  /** Runs the hooks in reverse order, each to its end; one that fails does not keep the others from running. */
  stop(): Promise<void> {
    this.#stopping ??= this.#runHooks();
    return this.#stopping;
  }

  async #runHooks(): Promise<void> {
    this.#controller.abort();
    for (const { name, stop } of this.#hooks.toReversed()) {
      try {
        await stop();
      } catch (err) {
        this.#logger.warn({ err, part: name }, 'Failed to stop a part cleanly');
      }
    }
  }
}

/**
 * Runs a program until SIGTERM or SIGINT, then stops it and exits with `interruptedCode` within 5 s, whatever is open or
 * not: a program without listeners runs on as well. An error of `start`, and every uncaught error, ends the process
 * with 1 after it was logged.
 */
export async function runProgram(
  logger: Logger,
  start: (life: Lifecycle) => Promise<void>,
  interruptedCode = 0,
): Promise<void> {
  const life = new Lifecycle(logger);
  // The timers of the system clock do not keep a process alive.
  setInterval(() => {}, 2 ** 30);
  const fail = (err: unknown) => {
    logger.fatal({ err }, 'Failed');
    exit(1);
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    // Removes the listener of `early-signals.ts` after another is there: without any, a signal that just arrives would
    // be lost.
    const before = process.listeners(name);
    process.on(name, () => void stopAndExit(life, logger, name, interruptedCode));
    for (const listener of before) process.off(name, listener);
  }
  try {
    await start(life);
  } catch (err) {
    if (!life.signal.aborted) fail(err);
  }
}

/** Stops everything and ends the process with `exitCode`, whatever hangs. */
export async function stopAndExit(life: Lifecycle, logger: Logger, cause: string, exitCode = 0): Promise<void> {
  logger.info({ cause }, 'Stopping');
  setTimeout(() => {
    logger.warn(
      { err: new CodedError('STOP_TIMED_OUT', `Not stopped after ${STOP_DEADLINE_MS} ms`) },
      'Gave up waiting',
    );
    exit(exitCode);
  }, STOP_DEADLINE_MS);
  await life.stop();
  logger.info('Stopped');
  exit(exitCode);
}

/**
 * Ends the process. `process.exit` waits for threads that look at files, for good where a file system hangs. Another
 * program that takes the place of this one ends them.
 */
function exit(code: number): void {
  if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) {
    process.emit('exit', code);
    process.execve?.(process.execPath, [process.execPath, '--eval', `process.exit(${code})`], {});
  }
  process.exit(code);
}
