const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Returns a duration such as `500ms`, `1.5s` or `1h30m` in whole milliseconds, which agents take alone; `undefined` where the text is none. */
export function durationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h)/g))
    sum += Number(number) * (UNITS_MS[unit] ?? 0);
  return Math.round(sum);
}
