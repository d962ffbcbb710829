/** What files in `features.d` say, by key: what NFD makes labels of, and what it keeps for its rules. */
export type FeatureSets = { label: Map<string, string>; feature: Map<string, string> };

/**
 * Takes in a file as NFD has it: `KEY` (which is `true`) or `KEY=VALUE` on a line, with `# +no-label` and `# +no-feature`
 * for the next line and `# +expiry-time=RFC3339` for all that follow. What it says replaces what files before it said.
 * `nowMs` is by the wall clock.
 */
export function takeFeatures(text: string, nowMs: number, into: FeatureSets): void {
  // Within a file, a line that is not for labels takes back what one before it said, and no other file's.
  const own: FeatureSets = { label: new Map(), feature: new Map() };
  let expiresMs = Number.POSITIVE_INFINITY;
  let skipped = new Set<keyof FeatureSets>();
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue;
    if (line.startsWith('#')) {
      const [, directive, time = ''] = /^# \+([a-z-]+)(?:=(.*))?$/.exec(line) ?? [];
      if (directive === 'no-label') skipped.add('label');
      if (directive === 'no-feature') skipped.add('feature');
      if (directive === 'expiry-time') expiresMs = timeOf(time.trim()) ?? expiresMs;
      continue;
    }
    if (expiresMs < nowMs) continue;
    const [key = '', ...values] = line.split('=');
    for (const set of ['label', 'feature'] as const) {
      if (skipped.has(set)) own[set].delete(key);
      else own[set].set(key, values.length === 0 ? 'true' : values.join('='));
    }
    skipped = new Set();
  }
  for (const set of ['label', 'feature'] as const) for (const [key, value] of own[set]) into[set].set(key, value);
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function timeOf(text: string): number | undefined {
  const ms = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
