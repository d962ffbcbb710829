import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { DEBIAN_LOCK_FILE } from './image.ts';
import { standInFor } from './packed.test-fixtures.ts';
import { run } from './program.test-fixtures.ts';

const image = (...args: string[]) => run(path.join(import.meta.dirname, 'main.ts'), args, process.env);

test('names its options, and the platforms that there are', () => {
  const { status, stdout, stderr } = image('--help');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('(all: linux/amd64, linux/arm64)');
});

test.each([
  [['--platform', 'linux/riscv64'], 'linux/riscv64: no such platform; there are linux/amd64, linux/arm64'],
  [['--plattform', 'linux/amd64'], "Unknown option '--plattform'"],
])('refuses %j', (args, message) => {
  const { status, stdout, stderr } = image(...args);
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toContain(message);
});

test('leaves the packages of Debian as they are pinned where apt knows no newer ones', () => {
  standInFor(process.env, 'apt-get', "echo 'E: no such release' >&2; exit 100");
  const before = readFileSync(DEBIAN_LOCK_FILE, 'utf8');
  const { status, stderr } = image('--relock', 'none', '--debian-mirror', 'http://m.example/debian/');
  expect([status, stderr]).toEqual([1, 'apt-get: E: no such release']);
  expect(readFileSync(DEBIAN_LOCK_FILE, 'utf8')).toBe(before);
});
