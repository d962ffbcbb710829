import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RuleDirectoryFixture } from './rule-directory.test-fixtures.ts';
import { TreeReader } from './tree-reader.ts';

let fixture: RuleDirectoryFixture;

beforeEach(async () => {
  fixture = await RuleDirectoryFixture.create();
});

afterEach(() => fixture.close());

test('a scan finds every change since the one before, however fast it follows', async () => {
  const reader = new TreeReader(fixture.root, () => undefined);
  const file = join(fixture.root, 'a');
  const missed: number[] = [];
  // The same file with the same size, more often than many a file system's clock ticks.
  for (let count = 100; count < 400; count += 1) {
    await writeFile(file, `x${count}`);
    const [condition] = (await reader.scan()).files.get('a')?.conditions ?? [];
    if (condition?.text !== `x${count}`) missed.push(count);
  }
  expect(missed).toEqual([]);
});

test('a scan parses a file again only where its content is another', async () => {
  await fixture.write({ 'n/a': 'x' });
  const reader = new TreeReader(fixture.root, () => undefined);
  const conditions = async () => (await reader.scan()).files.get('n/a')?.conditions;
  const first = await conditions();
  await fixture.write({ 'n/a': 'x' });
  // The same object is what was kept.
  expect(await conditions()).toBe(first);
  await fixture.write({ 'n/a': 'y' });
  expect(await conditions()).not.toEqual(first);
  await rm(join(fixture.root, 'n/a'));
  expect(await conditions()).toBeUndefined();
});

test('files beyond 1 MiB together are named, and their rules do not count', async () => {
  const kib60 = ' '.repeat(60 * 1024);
  const names = Array.from({ length: 18 }, (_, index) => `n/file-${String(index).padStart(2, '0')}`);
  await fixture.write(Object.fromEntries(names.map((name) => [name, `x${kib60}`])));
  const { files, problems } = await new TreeReader(fixture.root, () => undefined).scan();
  // 17 × 60 KiB fit into 1,024 KiB.
  expect([...files.keys()]).toEqual(names.slice(0, 17));
  const problem = 'is left out: all rule files can have 1024 KiB together';
  expect(problems).toEqual([{ file: names[17], problem }]);
});
