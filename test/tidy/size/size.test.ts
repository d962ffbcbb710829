import { expect, test } from 'vitest';
import { BUDGETS, sizeOf, sourceFiles, tokensIn } from './size.ts';

const files = sourceFiles();

test.each(BUDGETS.map((budget) => [budget.what, budget] as const))(
  '%s is not larger than it may be',
  (_what, budget) => {
    const size = sizeOf(files.filter(({ path: name }) => budget.of(name)));
    expect(size.files).toBeGreaterThan(100);
    for (const [column, limit] of Object.entries(budget.limit)) {
      expect([column, size[column as keyof typeof size]]).toEqual([column, expect.any(Number)]);
      expect(size[column as keyof typeof size]).toBeLessThanOrEqual(limit);
    }
  },
);

test.each([
  ['const a = 1;', 5],
  ['/** Two\n * lines. */\nconst a = 1; // and more', 5],
  ["import { a,\n b } from 'c';\nexport { d } from 'e';\na();", 4],
  ["f('two words', `a b c`);", 7],
  ['this.#private ??= 1.5;', 8],
])('comments and imports count for nothing, and each name, number, text or sign for one: %s', (text, tokens) => {
  expect(tokensIn(text)).toBe(tokens);
});
