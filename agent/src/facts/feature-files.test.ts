import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFeatureFiles } from './feature-files.ts';

let root: string;
let directory: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'rollcall-features-'));
  directory = path.join(root, 'features.d');
  mkdirSync(directory);
});

afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(path.join(directory, name), text);

function features(): Record<string, string> | undefined {
  const sets = openFeatureFiles(directory, new FakeClock()).read();
  return sets && Object.fromEntries(sets.feature);
}

test('files are read in the order of their names, hidden ones left out', () => {
  write('b', 'x=b\ny');
  write('a', 'x=a\nz');
  write('.c', 'x=c');
  expect(features()).toEqual({ x: 'b', y: 'true', z: 'true' });
});

test('an empty directory says that nothing is there, and none says nothing', () => {
  expect(features()).toEqual({});
  rmSync(directory, { recursive: true });
  expect(features()).toBeUndefined();
});

test('a mounted ConfigMap is read, whose files are links within the directory', () => {
  mkdirSync(path.join(directory, '..2026'));
  writeFileSync(path.join(directory, '..2026/vendor'), 'x=1');
  symlinkSync('..2026', path.join(directory, '..data'));
  symlinkSync('..data/vendor', path.join(directory, 'vendor'));
  expect(features()).toEqual({ x: '1' });
});

test('no file stays open', () => {
  write('a', 'x');
  const open = () => readdirSync('/dev/fd').length;
  const before = open();
  for (let look = 0; look < 20; look += 1) features();
  expect(open()).toBe(before);
});

test('the directory itself may be a link', () => {
  write('a', 'x');
  const link = path.join(root, 'link');
  symlinkSync(directory, link);
  expect(openFeatureFiles(link, new FakeClock()).read()?.feature.get('x')).toBe('true');
});

describe('what is no feature file does not count:', () => {
  test('a FIFO, a socket, a directory', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(directory, 'fifo')]);
    mkdirSync(path.join(directory, 'sub'));
    const server = createServer().listen(path.join(directory, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    write('z', 'x');
    expect(features()).toEqual({ x: 'true' });
    server.close();
  });

  test('links that lead out of the directory, in a circle, or nowhere', () => {
    writeFileSync(path.join(root, 'secret'), 'x=secret');
    mkdirSync(path.join(root, 'features.d-other'));
    writeFileSync(path.join(root, 'features.d-other/secret'), 'x=secret');
    symlinkSync('../secret', path.join(directory, 'out'));
    symlinkSync('../features.d-other/secret', path.join(directory, 'beside'));
    symlinkSync('/dev/zero', path.join(directory, 'zero'));
    symlinkSync('circle', path.join(directory, 'circle'));
    symlinkSync('nowhere', path.join(directory, 'dangling'));
    write('z', 'y');
    expect(features()).toEqual({ y: 'true' });
  });
});

describe('nobody knows what the files say', () => {
  test('while one is larger than NFD reads', () => {
    write('a', 'x');
    write('huge', `y\n${'#'.repeat(65_534)}`);
    expect(features()).toEqual({ x: 'true', y: 'true' });
    write('huge', `y\n${'#'.repeat(65_535)}`);
    expect(features()).toBeUndefined();
  });

  test('while all of them are too large together', () => {
    for (const name of ['a', 'b', 'c', 'd']) write(name, `${name}\n${'#'.repeat(65_534)}`);
    expect(features()).toMatchObject({ a: 'true', d: 'true' });
    write('e', 'e');
    expect(features()).toBeUndefined();
  });

  test('while there are too many', () => {
    for (let file = 0; file < 256; file += 1) write(`${file}`, `x${file}`);
    expect(Object.keys(features() ?? {})).toHaveLength(256);
    write('one-more', 'x');
    expect(features()).toBeUndefined();
  });

  test('while one may not be read', () => {
    write('a', 'x');
    chmodSync(path.join(directory, 'a'), 0);
    chmodSync(root, 0o755);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(features()).toBeUndefined();
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });
});
