import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, repositoryFiles } from '../tidy/sources.ts';

const FOLDER = 'test/e2e/incidents';
const PAGE = readFileSync(path.join(ROOT, FOLDER, 'README.md'), 'utf8');
const rows = PAGE.split('\n').filter((line) => line.startsWith('| `'));
const tests = repositoryFiles().filter(({ path: name }) => name.startsWith(`${FOLDER}/`) && name.endsWith('.test.ts'));

test('each row has a test, and each test a row', () => {
  const named = rows.map((row) => /^\| `([^`]+)`/.exec(row)?.[1]);
  expect(named.toSorted()).toEqual(tests.map(({ path: name }) => path.basename(name)).toSorted());
});

test.each(tests)('$path begins with the sentence of its row', ({ path: name, text }) => {
  const comment = /^(?:\/\/.*\n)+/.exec(text)?.[0] ?? '';
  const sentence = comment.replaceAll('// ', '').trim().replaceAll('\n', ' ');
  expect(sentence).toMatch(/\.$/);
  const row = rows.find((each) => each.startsWith(`| \`${path.basename(name)}\` |`)) ?? '';
  expect(row.endsWith(`| ${sentence} |`) ? sentence : row).toBe(sentence);
});
