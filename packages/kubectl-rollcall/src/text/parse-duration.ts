import { durationMs } from '@rollcall/common/duration-ms.ts';

/** Reads `90`, `90s`, `5m`, `1h30m`, in milliseconds; `undefined` where it is no time span. */
export function parseDuration(text: string): number | undefined {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : durationMs(text);
}
