import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { NAMED } from '../mutants/named.ts';
import { SHIPPED } from '../mutants/shipped.ts';
import { isInShort, SHORT } from '../short.ts';
import { ROOT } from '../tidy/sources.ts';
import { PROMISES } from './promises.ts';

/** The rows of "What you can rely on", each with the files of its last cell. */
function readmeRows(): { what: string; files: string[] }[] {
  const [, table = ''] =
    /^\| what happens .*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(readFileSync(path.join(ROOT, 'README.md'), 'utf8')) ?? [];
  return table
    .trimEnd()
    .split('\n')
    .map((row) => {
      const [, what = '', ...cells] = row.split('|');
      return { what, files: [...(cells.at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file) };
    });
}

const ROWS = readmeRows();

test('the table of README.md is read', () => {
  expect(ROWS.length).toBeGreaterThan(7);
});

test.each([
  ...ROWS.map(({ what, files }) => ({ of: `what README.md says of: ${what}`, files })),
  ...PROMISES.map(({ promise, file }) => ({ of: `the promise of SECURITY.md: ${promise}`, files: [file] })),
  ...NAMED.map(({ name, caughtBy }) => ({ of: `the named mutant: ${name}`, files: [caughtBy] })),
  ...SHIPPED.map(({ name, caughtBy: [file] }) => ({ of: `the shipped defect: ${name}`, files: [file] })),
])('`npm test` shows $of', ({ files }) => {
  expect([files.length > 0, files.filter((file) => !isInShort(file))]).toEqual([true, []]);
});

test.each(Object.keys(SHORT))('%s of `npm test` exists', (file) => {
  expect(existsSync(path.join(ROOT, file))).toBe(true);
});
