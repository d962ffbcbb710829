import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  cachedInput,
  type Hash,
  hexOf,
  imageCacheDir,
  MissingInput,
  outputOf,
  UnreachableInput,
} from './cached-input.ts';
import { reasonToSkip } from './missing-input.test-fixtures.ts';

let dir: string;
let fetches: number;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'rollcall-cache-'));
  fetches = 0;
});

afterEach(() => rmSync(dir, { recursive: true }));

function fetching(content: string): (into: string) => Promise<string> {
  return async (into) => {
    fetches += 1;
    writeFileSync(path.join(into, 'fetched'), content);
    return path.join(into, 'fetched');
  };
}

const hash: Hash = { algorithm: 'sha256', hex: hexOf('content') };

test('fetches what it does not have, and keeps it', async () => {
  for (let time = 0; time < 2; time += 1)
    expect(`${await cachedInput(dir, hash, 'it', fetching('content'))}`).toBe('content');
  expect(fetches).toBe(1);
  expect(readdirSync(dir)).toEqual([`sha256-${hash.hex}`]);
});

test('fetches again what was damaged', async () => {
  const kept = path.join(dir, `sha256-${hash.hex}`);
  writeFileSync(kept, 'damaged');
  await cachedInput(dir, hash, 'it', fetching('content'));
  expect(readFileSync(kept, 'utf8')).toBe('content');
});

test('refuses, and does not keep, what has another hash', async () => {
  await expect(cachedInput(dir, hash, 'it', fetching('forged'))).rejects.toThrow(/^it: its sha256 is .*, not /);
  expect(readdirSync(dir)).toEqual([]);
});

test('says which command a machine lacks, and what one that failed had to say', async () => {
  await expect(outputOf('no-such-command', [])).rejects.toThrow('no-such-command: not installed on this machine');
  await expect(outputOf('ls', ['/no/such/directory'])).rejects.toThrow(/^ls: .*\/no\/such\/directory/);
  await expect(outputOf('no-such-command', [])).rejects.toBeInstanceOf(MissingInput);
});

test('keeps what has a hash of another kind under that', async () => {
  const longer: Hash = { algorithm: 'sha512', hex: hexOf('content', 'sha512') };
  const cache = path.join(dir, 'not', 'there', 'yet');
  expect(`${await cachedInput(cache, longer, 'it', fetching('content'))}`).toBe('content');
  expect(readdirSync(cache)).toEqual([`sha512-${longer.hex}`]);
  expect(longer.hex).toHaveLength(128);
});

test('leaves nothing behind of what could not be fetched', async () => {
  const failing = async (into: string) => {
    writeFileSync(path.join(into, 'part'), '');
    throw new MissingInput('gone');
  };
  await expect(cachedInput(dir, hash, 'it', failing)).rejects.toThrow('gone');
  expect(readdirSync(dir)).toEqual([]);
});

test('keeps downloads where the environment says, or in the home directory', () => {
  expect(imageCacheDir({ XDG_CACHE_HOME: '/cache' })).toBe('/cache/rollcall/image');
  const home = path.join(homedir(), '.cache/rollcall/image');
  expect([imageCacheDir({}), imageCacheDir({ XDG_CACHE_HOME: '' })]).toEqual([home, home]);
});

test('a test goes without an input that this machine lacks, and in CI only without one that no server gives', () => {
  const [lacking, unreachable, defect] = [new MissingInput('no apt'), new UnreachableInput('gone'), new Error('bug')];
  for (const error of [lacking, unreachable]) expect(reasonToSkip(error, undefined)).toContain(error.message);
  expect(reasonToSkip(unreachable, 'true')).toContain('gone');
  expect(() => reasonToSkip(lacking, 'true')).toThrow(lacking);
  for (const ci of ['true', undefined]) expect(() => reasonToSkip(defect, ci)).toThrow(defect);
});

describe('a command', () => {
  const sh = (script: string, cwd?: string) => outputOf('/bin/sh', ['-c', script], cwd);

  test('gives its output, from the directory that it is to run in', async () => {
    writeFileSync(path.join(dir, 'here'), '');
    expect(`${await sh('ls', dir)}`).toBe('here\n');
    expect(`${await sh('printf x')}`).toBe('x');
  });

  test('that fails is told with its first three lines that are no warnings', async () => {
    const script = 'for line in "W: old" a "" b c d; do echo "$line" >&2; done; exit 1';
    await expect(sh(script)).rejects.toThrow(/^sh: a; b; c$/);
  });

  test('that fails without a word is told as it was called', async () => {
    await expect(sh('exit 3')).rejects.toThrow(/^sh: Error: Command failed: \/bin\/sh -c exit 3/);
  });
});
