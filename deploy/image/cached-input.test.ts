import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cachedInput, type Hash, hexOf, MissingInput, outputOf } from './cached-input.ts';

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
