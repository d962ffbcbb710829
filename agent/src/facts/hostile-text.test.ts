import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FeatureSets, takeFeatures } from './parse-features.ts';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const pieces = fc.constantFrom(
  'key',
  'other',
  '__proto__',
  'constructor',
  '=',
  '#',
  '# +no-label',
  '# +no-feature',
  '# +expiry-time=2020-01-01T00:00:00Z',
  '# +expiry-time=2030-13-99T99:99:99+99:99',
  '# +expiry-time=',
  ' ',
  '\t',
  '\r',
  '\n',
  '\n',
  '\0',
  '\u2028',
  'é',
);
const text = fc.oneof(
  fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
  fc.string({ unit: 'binary', maxLength: 300 }),
);

function taken(...texts: string[]): FeatureSets {
  const sets: FeatureSets = { label: new Map(), feature: new Map() };
  for (const one of texts) takeFeatures(one, NOW_MS, sets);
  return sets;
}

test('a feature file of any text gives at most one entry for each of its lines, and the same twice', () => {
  fc.assert(
    fc.property(text, (content) => {
      const sets = taken(content);
      const lines = content.split('\n').map((line) => line.trim());
      for (const set of [sets.label, sets.feature]) {
        expect(set.size).toBeLessThanOrEqual(lines.length);
        for (const [key, value] of set) {
          const written = lines.includes(`${key}=${value}`) || (value === 'true' && lines.includes(key));
          expect(written).toBe(true);
          expect(key).not.toMatch(/^#/);
        }
      }
      expect(taken(content, content)).toEqual(sets);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

test('a file cannot take back what another file said', () => {
  const line = fc.constantFrom(
    'key',
    'other',
    'key=1',
    '# +no-label',
    '# +no-feature',
    '# +expiry-time=2020-01-01T00:00:00Z',
  );
  const lines = fc.array(line, { maxLength: 6 }).map((all) => all.join('\n'));
  const file = fc.oneof(lines, text);
  fc.assert(
    fc.property(file, file, (first, second) => {
      const before = taken(first);
      const after = taken(first, second);
      for (const key of before.label.keys()) expect(after.label.has(key)).toBe(true);
      for (const key of before.feature.keys()) expect(after.feature.has(key)).toBe(true);
    }),
    { numRuns: fuzzRuns(1000) },
  );
});
