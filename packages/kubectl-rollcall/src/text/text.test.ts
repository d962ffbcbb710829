import { clean, cleanDocument } from '@rollcall/common/clean.ts';
import { duration } from '@rollcall/common/duration.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { count, listed } from './count.ts';
import { Page } from './page.ts';
import { parseDuration } from './parse-duration.ts';
import { table } from './table.ts';
import { shortened, widthOf, wrapped } from './width.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom('日', '🧨', 'é', ' ', 'a', '-', '/'), fc.string({ minLength: 1, maxLength: 1 })),
  maxLength: 120,
});

describe('what others wrote', () => {
  test('can neither move the cursor nor turn around what follows', () => {
    expect(clean('a\u001b[31mb\r\n\u202ec\u0007')).toBe('a\\u{1b}[31mb\\u{d}\\u{a}\\u{202e}c\\u{7}');
    expect(clean('<script>é日🧨')).toBe('<script>é日🧨');
    expect(cleanDocument({ a: ['\u0000'], '\u001b': { n: 1, x: null } })).toEqual({
      a: ['\\u{0}'],
      '\\u{1b}': { n: 1, x: null },
    });
  });
});

test('a table lines up, and is no wider than it may be as long as something gives way', () => {
  const rows = fc.array(fc.tuple(anyText.map(clean), anyText.map(clean), fc.nat()), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 60, max: 200 }), (all, columns) => {
      const lines = table(
        all,
        [
          { title: 'NAME', cell: ([name]) => name, gives: true },
          { title: 'COUNT', cell: ([, , n]) => String(n), isNumber: true },
          { title: 'WHAT', cell: ([, what]) => what, gives: true },
        ],
        columns,
      );
      expect(lines).toHaveLength(all.length + 1);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    }),
  );
});

test('the columns of a table begin at the same place in every line', () => {
  const lines = table(
    [
      { a: 'x', b: '日本', n: 5 },
      { a: 'a longer one', b: 'y', n: 5000 },
    ],
    [
      { title: 'A', cell: ({ a }) => a },
      { title: 'N', cell: ({ n }) => String(n), isNumber: true },
      { title: 'B', cell: ({ b }) => b },
    ],
    undefined,
  );
  expect(lines).toEqual(['A                 N   B', 'x                 5   日本', 'a longer one   5000   y']);
});

test('a text that is too wide loses its middle', () => {
  expect(shortened('gitpod.io/ws-daemon_ready_ns_default', 20)).toBe('gitpod.io/…s_default');
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 30 }), (text, columns) => {
      expect(widthOf(shortened(text, columns))).toBeLessThanOrEqual(
        Math.max(columns, widthOf(text) <= columns ? columns : 0),
      );
    }),
  );
  expect(wrapped('one two three', 8)).toEqual(['one two', 'three']);
});

test('numbers, lists and times are written as people read them', () => {
  expect([count(1, 'node'), count(5000, 'node'), count(2, 'policy', 'policies')]).toEqual([
    '1 node',
    '5,000 nodes',
    '2 policies',
  ]);
  expect([listed([]), listed(['a']), listed(['a', 'b', 'c']), listed(['a', 'b', 'c', 'd'], 2)]).toEqual([
    '',
    'a',
    'a, b and c',
    'a, b and 2 more',
  ]);
  expect([0, 119_000, 120_000, 7_200_000, 200_000_000].map(duration)).toEqual(['0s', '119s', '2m', '2h', '2d']);
  expect(['90', '90s', '5m', '1.5h', '200ms', 'soon', ''].map(parseDuration)).toEqual([
    90_000,
    90_000,
    300_000,
    5_400_000,
    200,
    undefined,
    undefined,
  ]);
});

test('colors are for terminals that have them', () => {
  const of = (colors: boolean) => new Page({ columns: 80, colors }).line('no', { tone: 'bad' }).text;
  expect(of(false)).toBe('no\n');
  expect(of(true)).toBe('\u001b[31mno\u001b[39m\n');
});
