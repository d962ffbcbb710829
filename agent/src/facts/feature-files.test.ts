import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { PathTurns } from '../path-turns.ts';
import { mayMountHung, mountHung } from '../probes/testing/hung-mount.ts';
import { eventually, within } from '../probes/testing/limits.ts';
import { openFeatureFiles } from './feature-files.ts';

/** Time enough for what answers, also on a machine that is busy. */
const LONG_MS = 10_000;
const SHORT_MS = 300;

let root: string;
let directory: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'rollcall-features-'));
  directory = path.join(root, 'features.d');
  mkdirSync(directory);
});

afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(path.join(directory, name), text);

async function features(at = directory): Promise<Record<string, string> | undefined> {
  const sets = await openFeatureFiles(at, new FakeClock(), new PathTurns()).read(within(LONG_MS));
  return sets && Object.fromEntries(sets.feature);
}

test('files are read in the order of their names, hidden ones left out', async () => {
  write('b', 'x=b\ny');
  write('a', 'x=a\nz');
  write('.c', 'x=c');
  expect(await features()).toEqual({ x: 'b', y: 'true', z: 'true' });
});

test('an empty directory says that nothing is there, and none says nothing', async () => {
  expect(await features()).toEqual({});
  rmSync(directory, { recursive: true });
  expect(await features()).toBeUndefined();
});

test('a mounted ConfigMap is read, whose files are links within the directory', async () => {
  mkdirSync(path.join(directory, '..2026'));
  writeFileSync(path.join(directory, '..2026/vendor'), 'x=1');
  symlinkSync('..2026', path.join(directory, '..data'));
  symlinkSync('..data/vendor', path.join(directory, 'vendor'));
  expect(await features()).toEqual({ x: '1' });
});

test('no file stays open', async () => {
  write('a', 'x');
  const open = () => readdirSync('/dev/fd').length;
  const before = open();
  for (let look = 0; look < 20; look += 1) await features();
  expect(open()).toBe(before);
});

test('the directory itself may be a link', async () => {
  write('a', 'x');
  const link = path.join(root, 'link');
  symlinkSync(directory, link);
  expect(await features(link)).toEqual({ x: 'true' });
});

describe('what is no feature file does not count:', () => {
  test('a FIFO, a socket, a directory', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(directory, 'fifo')]);
    mkdirSync(path.join(directory, 'sub'));
    const server = createServer().listen(path.join(directory, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    write('z', 'x');
    expect(await features()).toEqual({ x: 'true' });
    server.close();
  });

  test('links that lead out of the directory, in a circle, or nowhere', async () => {
    writeFileSync(path.join(root, 'secret'), 'x=secret');
    mkdirSync(path.join(root, 'features.d-other'));
    writeFileSync(path.join(root, 'features.d-other/secret'), 'x=secret');
    symlinkSync('../secret', path.join(directory, 'out'));
    symlinkSync('../features.d-other/secret', path.join(directory, 'beside'));
    symlinkSync('/dev/zero', path.join(directory, 'zero'));
    symlinkSync('circle', path.join(directory, 'circle'));
    symlinkSync('nowhere', path.join(directory, 'dangling'));
    write('z', 'y');
    expect(await features()).toEqual({ y: 'true' });
  });
});

describe('the features are unknown', () => {
  test('while one is larger than NFD reads', async () => {
    write('a', 'x');
    write('huge', `y\n${'#'.repeat(65_534)}`);
    expect(await features()).toEqual({ x: 'true', y: 'true' });
    write('huge', `y\n${'#'.repeat(65_535)}`);
    expect(await features()).toBeUndefined();
  });

  test('while all of them are too large together', async () => {
    for (const name of ['a', 'b', 'c', 'd']) write(name, `${name}\n${'#'.repeat(65_534)}`);
    expect(await features()).toMatchObject({ a: 'true', d: 'true' });
    write('e', 'e');
    expect(await features()).toBeUndefined();
  });

  test('while there are too many', async () => {
    for (let file = 0; file < 256; file += 1) write(`${file}`, `x${file}`);
    expect(Object.keys((await features()) ?? {})).toHaveLength(256);
    write('one-more', 'x');
    expect(await features()).toBeUndefined();
  });

  test('while one may not be read', async () => {
    write('a', 'x');
    chmodSync(path.join(directory, 'a'), 0);
    chmodSync(root, 0o755);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(await features()).toBeUndefined();
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });
});

describe('a read waits for its turn', () => {
  test('and says nothing when that does not come in time', async () => {
    write('a', 'x');
    const turns = new PathTurns();
    const files = openFeatureFiles(directory, new FakeClock(), turns);
    await turns.begin(directory, within(LONG_MS));
    expect(await files.read(within(1))).toBeUndefined();
    turns.end(directory);
    expect((await files.read(within(LONG_MS)))?.feature.get('x')).toBe('true');
    expect(await turns.begin(directory, within(LONG_MS))).toBeUndefined();
  });
});

describe.runIf(mayMountHung())('a directory that hangs', () => {
  test('says nothing, holds one thread however often it is read, and is read again once it answers', async () => {
    const mount = mountHung();
    onTestFinished(() => mount?.end());
    const link = path.join(root, 'link');
    symlinkSync(mount?.directory ?? '', link);
    const files = openFeatureFiles(link, new FakeClock(), new PathTurns());
    for (let read = 0; read < 6; read += 1) expect(await files.read(within(SHORT_MS))).toBeUndefined();
    expect(await stat(root)).toBeDefined();
    mount?.end();
    rmSync(link);
    symlinkSync(directory, link);
    write('a', 'x');
    await eventually(async () => expect((await files.read(within(LONG_MS)))?.feature.get('x')).toBe('true'));
  });
});
