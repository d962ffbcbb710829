import type { Clock } from './clock.ts';

/** A function that has `work` done `afterMs` later, once for all calls until then. */
export function gathered(clock: Clock, afterMs: number, work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    clock.after(afterMs, () => {
      isDue = false;
      work();
    });
  };
}
