import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readTar, writeTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

const LONG = `${'directory/'.repeat(12)}file`;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'rollcall-tar-'));
});

afterEach(() => rmSync(dir, { recursive: true }));

function sample(): Tree {
  const tree: Tree = new Map();
  addFile(tree, 'usr/bin/program', 'x'.repeat(513), 0o755);
  addFile(tree, 'empty', '');
  tree.set('lib', { type: 'symlink', target: 'usr/lib' });
  tree.set('tmp', { type: 'directory', mode: 0o1777 });
  addFile(tree, LONG, 'deep');
  return tree;
}

test('writes what tar reads: parents first, all of it owned by root and without a time', () => {
  const archive = path.join(dir, 'sample.tar');
  writeFileSync(archive, writeTar(sample()));
  const listed = execFileSync('tar', ['-tvf', archive, '--numeric-owner', '--utc', '--full-time'], {
    encoding: 'utf8',
  });
  const lines = listed
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '));
  expect(lines.filter((line) => !line.includes('directory/'))).toEqual([
    '-rw-r--r-- 0/0 0 1970-01-01 00:00:00 empty',
    'lrwxrwxrwx 0/0 0 1970-01-01 00:00:00 lib -> usr/lib',
    'drwxrwxrwt 0/0 0 1970-01-01 00:00:00 tmp/',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00:00 usr/',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00:00 usr/bin/',
    '-rwxr-xr-x 0/0 513 1970-01-01 00:00:00 usr/bin/program',
  ]);
  execFileSync('tar', ['-xf', archive, '-C', dir]);
  expect(readFileSync(path.join(dir, LONG), 'utf8')).toBe('deep');
});

test('writes the same bytes for the same tree, in whatever order it was made', () => {
  const turned = new Map([...sample()].reverse());
  expect(writeTar(turned).equals(writeTar(sample()))).toBe(true);
});

test('reads back what it wrote', () => {
  const files = readTar(writeTar(sample()), (name) => !name.startsWith('usr'));
  expect(files.get(LONG)).toEqual({ type: 'file', mode: 0o644, content: Buffer.from('deep') });
  expect(files.get('lib')).toEqual({ type: 'symlink', target: 'usr/lib' });
  expect(files.get('tmp')).toEqual({ type: 'directory', mode: 0o1777 });
  expect(files.has('usr/bin/program')).toBe(false);
});

test('reads archives of GNU tar, with names that are longer than a header', () => {
  const name = `${'n'.repeat(150)}.crt`;
  mkdirSync(path.join(dir, 'in'));
  writeFileSync(path.join(dir, 'in', name), 'long');
  writeFileSync(path.join(dir, 'in', 'short'), 'short');
  const archive = execFileSync('tar', ['--format=gnu', '-cf', '-', '-C', path.join(dir, 'in'), '.']);
  const files = readTar(archive, () => true);
  expect(files.get(name)).toMatchObject({ content: Buffer.from('long') });
  expect(files.get('short')).toMatchObject({ content: Buffer.from('short') });
});

test('refuses a name that no header holds', () => {
  const tree: Tree = new Map();
  addFile(tree, 'n'.repeat(101), '');
  expect(() => writeTar(tree)).toThrow('too long for a tar header');
});
