import type { Logger } from './logging.ts';

/**
 * Runs a part of a timer or loop that takes in what others wrote: an exception is logged, and does not end the process.
 * Returns whether there was none, for a watchdog.
 */
export function guarded(logger: Logger, part: string, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (err) {
    logger.error({ err, part }, 'Failed unexpectedly; what was known before stays');
    return false;
  }
}
