import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { designRecords, SECTIONS } from './design-records.ts';
import { PAGES } from './navigation.ts';

const ROOT = path.resolve(PAGES, '../..');
/** A record is read in a minute. */
const WORDS_MAX = 300;

const records = designRecords();

test('records have a number each, which grows with their dates', () => {
  expect(records.length).toBeGreaterThan(30);
  const numbers = records.map(({ file }) => /^(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1] ?? file);
  expect(numbers).toEqual([...new Set(numbers)]);
  const dates = records.map(({ date }) => date);
  expect(dates).toEqual(dates.toSorted());
});

test.each(records)('$file has every section once, with text, in its order', ({ sections }) => {
  expect([...sections.keys()]).toEqual([...SECTIONS]);
  expect([...sections.values()].filter((text) => text === '')).toEqual([]);
});

test.each(records)('$file is short', ({ sections }) => {
  expect([...sections.values()].join(' ').split(/\s+/).length).toBeLessThanOrEqual(WORDS_MAX);
});

test.each(records)('$file names tests that exist', ({ sections }) => {
  const files = [...(sections.get('Tests') ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !/\.test\.ts$/.test(file) || !existsSync(path.join(ROOT, file)))).toEqual([]);
});
