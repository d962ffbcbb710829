import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './sources.ts';

/** Read in five minutes. What explains a decision belongs into a record of its own. */
const WORDS_MAX = 1200;

const text = readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8');

test('ARCHITECTURE.md is short', () => {
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(WORDS_MAX);
});

test('ARCHITECTURE.md has ten invariants, each with a test', () => {
  const section = /^## Ten invariants\n(?<rows>[\s\S]*?)^## /m.exec(text)?.groups?.['rows'] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| invariant |'));
  expect(rows).toHaveLength(10);
  const tests = rows.map((row) =>
    [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  expect(rows.filter((_, index) => tests[index]?.length === 0)).toEqual([]);
  expect(tests.flat().filter((name) => !/\.test\.ts$/.test(name) || !existsSync(path.join(ROOT, name)))).toEqual([]);
});

test('every file that ARCHITECTURE.md names exists, from the root or below coordinator/src', () => {
  const files = [...text.matchAll(/`([a-z][\w./-]*\.ts)`/g)].map(([, name = '']) => name);
  expect(files.length).toBeGreaterThan(30);
  const isThere = (name: string) => ['', 'coordinator/src'].some((base) => existsSync(path.join(ROOT, base, name)));
  expect(files.filter((name) => !isThere(name))).toEqual([]);
});
