import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DirectoryWatchers } from './rule-directory.ts';

let root: string;
let hints: number;
let watchers: DirectoryWatchers;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rollcall-watchers-'));
  hints = 0;
  watchers = new DirectoryWatchers(() => {
    hints += 1;
  });
});

afterEach(async () => {
  watchers.close();
  await rm(root, { recursive: true, force: true });
});

const touch = (name: string) => writeFile(join(root, name), 'x');

/** A change in another directory, which is watched as well, and comes after those before it. */
async function hintsBefore(change: () => Promise<void>): Promise<number> {
  let isOver = false;
  const other = await mkdtemp(join(tmpdir(), 'rollcall-watchers-'));
  const last = new DirectoryWatchers(() => {
    isOver = true;
  });
  last.set(new Map([[other, '1']]));
  await change();
  await writeFile(join(other, 'last'), 'x');
  await vi.waitFor(() => expect(isOver).toBe(true));
  last.close();
  await rm(other, { recursive: true });
  return hints;
}

test('a change in a directory is a hint', async () => {
  watchers.set(new Map([[root, '1']]));
  await touch('a');
  await vi.waitFor(() => expect(hints).toBeGreaterThan(0));
});

test('what is not there to stay is none, but the swap of a ConfigMap is', async () => {
  watchers.set(new Map([[root, '1']]));
  expect(
    await hintsBefore(async () => {
      await touch('.a.swp');
      await touch('..data_tmp');
    }),
  ).toBe(0);
  await rename(join(root, '..data_tmp'), join(root, '..data'));
  await vi.waitFor(() => expect(hints).toBeGreaterThan(0));
});

test('a directory that is not among them any more, or that was closed, gives no hints', async () => {
  watchers.set(new Map([[root, '1']]));
  watchers.set(new Map());
  expect(await hintsBefore(() => touch('a'))).toBe(0);
  watchers.set(new Map([[root, '1']]));
  watchers.close();
  expect(await hintsBefore(() => touch('b'))).toBe(0);
});

test('one that takes the place of another is watched instead', async () => {
  const path = join(root, 'n');
  await mkdir(path);
  watchers.set(new Map([[path, '1']]));
  await rename(path, join(root, 'old'));
  await mkdir(path);
  watchers.set(new Map([[path, '2']]));
  await hintsBefore(async () => {});
  hints = 0;
  await writeFile(join(path, 'a'), 'x');
  await vi.waitFor(() => expect(hints).toBeGreaterThan(0));
});

test('one that cannot be watched is passed over, and watched once it can be', async () => {
  const path = join(root, 'n');
  const both = new Map([
    [path, '1'],
    [root, '1'],
  ]);
  watchers.set(both);
  await mkdir(path);
  await vi.waitFor(() => expect(hints).toBeGreaterThan(0));
  watchers.set(both);
  await hintsBefore(async () => {});
  hints = 0;
  await writeFile(join(path, 'a'), 'x');
  await vi.waitFor(() => expect(hints).toBeGreaterThan(0));
});
