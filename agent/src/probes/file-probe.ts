import { lineWithoutConnection } from './idle-line.ts';
import { createProbe } from './probe.ts';
import type { ProbeKind } from './types.ts';

/**
 * Healthy while there is a regular file; with `maxAgeMilliseconds`, one that was written to within that time. It is not
 * opened, and nothing of it is read.
 */
export const file: ProbeKind = {
  kind: 'file',
  pathOf: ({ path = '' }) => path,
  prepare({ maxAgeMilliseconds = Number.POSITIVE_INFINITY }, { clock, paths }) {
    if (typeof maxAgeMilliseconds !== 'number' || !(maxAgeMilliseconds > 0))
      return 'its maxAgeMilliseconds is not a number above 0';
    const probe = createProbe('file', clock, async (target, signal) => {
      const found = await paths.find('path' in target ? target.path : '', signal);
      if ('says' in found) return found;
      found.close();
      if (found.kind !== 'file') return { healthy: false, isProof: true, says: 'is not a regular file' };
      const isFresh = clock.now() - found.modifiedMs <= maxAgeMilliseconds;
      if (!isFresh) return { healthy: false, says: `was not written to for more than ${maxAgeMilliseconds / 1000} s` };
      return { healthy: true, says: maxAgeMilliseconds === Number.POSITIVE_INFINITY ? 'is there' : 'is fresh' };
    });
    return lineWithoutConnection(probe);
  },
};
