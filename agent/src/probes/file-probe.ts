import type { FileSettings } from '@rollcall/common/checks/kinds/file.ts';
import { clean } from '@rollcall/common/clean.ts';
import { lineWithoutConnection } from './idle-line.ts';
import { createProbe } from './probe.ts';
import type { ProbeKind } from './types.ts';

/** Characters of a line that is shown as the reason. */
const SHOWN_MAX = 200;

/**
 * Healthy while there is a regular file; with `maxAge`, one that was written to within that time; with `newerThan`, one that
 * was written to since the node, or the pod of the service, started; with `expectedFirstLine`, one that begins with this
 * line: otherwise its line is the reason. Nothing else of it is read.
 */
export const file: ProbeKind<FileSettings> = {
  kind: 'file',
  pathOf: ({ path }) => path,
  prepare({ maxAgeMs = Number.POSITIVE_INFINITY, newerThan, expectedFirstLine }, { clock, paths, podStart, uptimeMs }) {
    if (newerThan === 'Pod' && podStart === undefined) return 'the coordinator does not say when its pod started';
    const seen = { modifiedMs: Number.NaN, sinceMs: 0 };
    /** A time of the file may be in the future, if the clock was wrong: the file is as old as it was seen to be. */
    const ageMs = (modifiedMs: number) => {
      if (seen.modifiedMs !== modifiedMs) Object.assign(seen, { modifiedMs, sinceMs: clock.monotonic() });
      return Math.max(clock.now() - modifiedMs, clock.monotonic() - seen.sinceMs);
    };
    const startMs = () =>
      newerThan === 'Pod' ? Date.parse(podStart ?? '') : clock.now() - (uptimeMs ?? kernelUptimeMs)();
    const probe = createProbe('file', clock, async (target, signal) => {
      const found = await paths.find('path' in target ? target.path : '', signal, expectedFirstLine !== undefined);
      if ('says' in found) return found;
      found.close();
      if (found.kind !== 'file') return { healthy: false, isProof: true, says: 'is not a regular file' };
      const isFresh = ageMs(found.modifiedMs) <= maxAgeMs;
      if (!isFresh) return { healthy: false, says: `was not written to for more than ${maxAgeMs / 1000} s` };
      if (newerThan !== undefined && found.modifiedMs < startMs())
        return {
          healthy: false,
          says: `was not written to since ${newerThan === 'Pod' ? 'the pod' : 'the node'} started`,
        };
      const { firstLine = '' } = found;
      if (expectedFirstLine !== undefined && firstLine !== expectedFirstLine) {
        return { healthy: false, says: firstLine === '' ? 'has no first line' : `says: ${shown(firstLine)}` };
      }
      const isPlain =
        maxAgeMs === Number.POSITIVE_INFINITY && newerThan === undefined && expectedFirstLine === undefined;
      return {
        healthy: true,
        says: isPlain ? 'is there' : expectedFirstLine === undefined ? 'is fresh' : 'says what is expected',
      };
    });
    return lineWithoutConnection(probe);
  },
};

function shown(line: string): string {
  return clean([...line].slice(0, SHOWN_MAX).join(''));
}

function kernelUptimeMs(): number {
  return process.getBuiltinModule('node:os').uptime() * 1000;
}
