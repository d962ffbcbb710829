import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canMatch, globMatches, isGlob } from './glob.ts';

/** As many as all rule files can have: PREDICATES_MAX, of which each counts as ten. */
const PATTERNS_MAX = 1000;

/** The same by a regular expression, which is slow in the worst case. */
function matchesByExpression(pattern: string, text: string): boolean {
  const escaped = pattern.replace(/[.+^$()|[\]\\{}-]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}$`).test(text);
}

/** The same by a table of what each beginning of the pattern matches. */
function matchesByTable(pattern: string, text: string): boolean {
  let row = Array.from({ length: text.length + 1 }, (_, end) => end === 0);
  for (const char of pattern) {
    const next: boolean[] = [];
    for (let end = 0; end <= text.length; end += 1) {
      const [last, isBefore] = [text[end - 1], row[end - 1] === true];
      if (char === '*') next.push(row[end] === true || (next[end - 1] === true && last !== '/'));
      else next.push(isBefore && (char === '?' ? last !== '/' : last === char));
    }
    row = next;
  }
  return row[text.length] === true;
}

describe('a glob', () => {
  test.each([
    ['pci-*', 'pci-0880_1ac1.present', true],
    ['pci-*', 'pci-', true],
    ['pci-*', 'usb-', false],
    ['*.present', 'pci-0880_1ac1.present', true],
    ['*.present', 'pci-0880_1ac1.present.not', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['*', '', true],
    ['?', '', false],
    ['*/gpu', 'nvidia.com/gpu', true],
    ['*', 'nvidia.com/gpu', false],
    ['nvidia.com?gpu', 'nvidia.com/gpu', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-b-b-d', false],
  ])('%s against %s: %s', (pattern, text, expected) => {
    expect(globMatches(pattern, text)).toBe(expected);
  });

  test('agrees with the regular expression of the same meaning', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '/', '.'), { maxLength: 8 }).map((all) => all.join(''));
    const patterns = fc.array(fc.constantFrom('a', 'b', '/', '.', '*', '?'), { maxLength: 8 });
    fc.assert(
      fc.property(patterns, letters, (parts, text) => {
        const pattern = parts.join('');
        expect(globMatches(pattern, text)).toBe(matchesByExpression(pattern, text));
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  test('of any length agrees with a table of all beginnings', () => {
    const texts = fc.array(fc.constantFrom<string>('a', 'a', 'a', 'b'), { minLength: 60, maxLength: 120 });
    // Mostly the text itself, so that long patterns match.
    const changes = fc.array(fc.constantFrom('', '', '', '', '', '', '', '', '*', '?', '?'), {
      minLength: 120,
      maxLength: 120,
    });
    let matching = 0;
    fc.assert(
      fc.property(texts, changes, (text, change) => {
        const pattern = text.map((char, at) => change[at] || char).join('');
        // With a slash, and with a letter that is another.
        for (const given of [text, text.with(40, '/'), text.with(50, 'c'), text.toSpliced(45, 9)]) {
          const expected = matchesByTable(pattern, given.join(''));
          if (expected && pattern.length > 64) matching += 1;
          expect(globMatches(pattern, given.join(''))).toBe(expected);
        }
      }),
      { numRuns: 1000 },
    );
    expect(matching).toBeGreaterThan(500);
  });

  test.each([
    ['many stars', `${'a*'.repeat(150)}b`, 'a'.repeat(317)],
    ['a long part that nearly matches everywhere', `*${'a'.repeat(150)}b*`, 'a'.repeat(317)],
    ['a long part of any characters', `*${'?a'.repeat(75)}b*`, 'a'.repeat(317)],
    ['parts of any characters', `${'*??'.repeat(100)}b`, 'a'.repeat(317)],
    ['a long part after many that match', `${'*a'.repeat(50)}*${'a'.repeat(120)}b*`, 'a'.repeat(317)],
  ])('of the most patterns that rules can have holds the loop for no more than 50 ms: %s', (_what, pattern, text) => {
    const spent = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      for (let run = 0; run < PATTERNS_MAX; run += 1) globMatches(pattern, text);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    expect(Math.min(...spent)).toBeLessThan(50);
  });

  test('is told from plain text', () => {
    expect([isGlob('a*'), isGlob('a?'), isGlob('a')]).toEqual([true, true, false]);
  });

  test('can match when some valid text does', () => {
    const isWord = (text: string) => /^[a-z](?:[-a-z]*[a-z])?$/.test(text);
    const can = ['*', '?', 'a*', '*a', 'a-*', '*-a', 'a?-*'].map((glob) => canMatch(glob, isWord));
    expect(can).toEqual([true, true, true, true, true, true, true]);
    expect(['', '-*', '*-', 'A*', '*A', 'a/*'].map((glob) => canMatch(glob, isWord))).toEqual(Array(6).fill(false));
  });
});
