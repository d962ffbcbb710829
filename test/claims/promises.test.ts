import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../tidy/sources.ts';
import { PROMISES } from './promises.ts';

test('every row of what an attacker can do names tests, and each of them exists', () => {
  const [, table = ''] =
    /^\| who has .*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(readFileSync(path.join(ROOT, 'SECURITY.md'), 'utf8')) ?? [];
  const rows = table.trimEnd().split('\n');
  expect(rows.length).toBeGreaterThan(14);
  for (const row of rows) {
    const [, who, ...cells] = row.split('|');
    const shownBy = cells.at(-2) ?? '';
    const files = [...shownBy.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file = '']) => file);
    expect([who, files.length > 0, files.filter((file) => !existsSync(path.join(ROOT, file)))]).toEqual([
      who,
      true,
      [],
    ]);
  }
});

test.each(PROMISES)('$area: "$promise" has its test', ({ file, test: name }) => {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  // The name is the first argument of `test` or `it`, also after a table.
  expect(
    [...text.matchAll(/^\s*(?:.*\b(?:test|it)\b.*\(|\](?: as const)?\)\(|)'((?:[^'\\]|\\.)+)'/gm)].map(
      ([, found]) => found,
    ),
  ).toContain(name);
});
