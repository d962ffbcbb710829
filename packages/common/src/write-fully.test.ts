import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeFully } from './write-fully.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-write-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

test('the whole text is written when it returns', () => {
  const file = path.join(directory, 'out');
  const fd = openSync(file, 'w');
  expect(writeFully(fd, 'née\n')).toBe(true);
  expect(writeFully(fd, '')).toBe(true);
  closeSync(fd);
  expect(readFileSync(file, 'utf8')).toBe('née\n');
});

test.runIf(existsSync('/dev/full'))('returns false where it could not be written', () => {
  const fd = openSync('/dev/full', 'w');
  expect(writeFully(fd, 'lost')).toBe(false);
  closeSync(fd);
});
