import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canMatch, globMatches, isGlob } from './glob.ts';

/** The same by a regular expression, which is slow in the worst case. */
function matchesByExpression(pattern: string, text: string): boolean {
  const escaped = pattern.replace(/[.+^$()|[\]\\{}-]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}$`).test(text);
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

  test('takes no more steps than both lengths allow, whatever the pattern', () => {
    const started = performance.now();
    for (let run = 0; run < 100; run += 1) globMatches(`${'a*'.repeat(150)}b`, 'a'.repeat(317));
    // A regular expression for it would not come to an end.
    expect(performance.now() - started).toBeLessThan(2000);
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
