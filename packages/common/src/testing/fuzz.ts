import fc from 'fast-check';

// By default, fast-check generates at most ten items or so, whatever `maxLength` says. vitest loads this file before each test.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

/** Makes the properties of hostile inputs run so many times as often as in the suite. */
// biome-ignore lint/style/noProcessEnv: a setting of the tests
const FACTOR = Number(process.env['ROLLCALL_FUZZ_FACTOR'] ?? 1);

/** Runs of a property: `runs` in the suite, and `ROLLCALL_FUZZ_FACTOR` times as many in a larger run. */
export function fuzzRuns(runs: number): number {
  return Math.max(1, Math.round(runs * FACTOR));
}

/** Time limit of a property, in milliseconds: far beyond what `runs` take on two busy cores. */
export function fuzzTimeoutMs(runs: number): number {
  return 120_000 + fuzzRuns(runs) * 200;
}
