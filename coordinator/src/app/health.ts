import type { Clock } from '@rollcall/common/clock.ts';
import { HealthChecks, Watchdog } from '@rollcall/common/health.ts';
import type { Watches } from '../watch/watches.ts';
import type { WriteQueue } from '../write/write-queue.ts';

const STALLED_MS = 30_000;
/** Far more than the rounds of one node take, each request of which is bounded by 10 s. */
const WRITE_STALLED_MS = 300_000;

export type HealthSources = {
  writer: Pick<WriteQueue, 'busyMs'>;
  watches: Watches;
  clock: Clock;
  signal: AbortSignal;
};

/** The checks of /healthz and /readyz. Call `beat` while the main loop runs. */
export function createHealth({ writer, watches, clock, signal }: HealthSources) {
  const health = new HealthChecks();
  const readiness = new HealthChecks();
  const watchdog = new Watchdog({ clock, limitMs: STALLED_MS, signal });
  health.add('main-loop', watchdog.check);
  health.add('writes', () => {
    const busyMs = writer.busyMs();
    return busyMs > WRITE_STALLED_MS ? `a write has not ended for ${Math.round(busyMs / 1000)} s` : undefined;
  });
  readiness.add('caches', () => (watches.unsynced().length > 0 ? `not listed yet: ${watches.unsynced()}` : undefined));
  return { health, readiness, beat: () => watchdog.beat() };
}
