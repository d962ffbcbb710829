import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePipe } from './rule-directory.test-fixtures.ts';
import { errorCode, RULE_FILE_BYTES_MAX, readText } from './tree-reader.ts';

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rollcall-read-'));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

async function read(content: string | Uint8Array) {
  await writeFile(join(dir, 'file'), content);
  return readText(join(dir, 'file'));
}

test('reads a text, up to the last allowed byte', async () => {
  expect(await read('')).toEqual({ text: '' });
  expect(await read('grün\r\n')).toEqual({ text: 'grün\r\n' });
  expect(await read('a'.repeat(RULE_FILE_BYTES_MAX))).toEqual({ text: 'a'.repeat(RULE_FILE_BYTES_MAX) });
});

test('tells what is wrong with a file', async () => {
  expect(await read('a'.repeat(RULE_FILE_BYTES_MAX + 1))).toEqual({ problem: 'is larger than 64 KiB' });
  expect(await read('a\0b')).toEqual({ problem: 'is not a text file' });
  expect(await read(Uint8Array.of(0x61, 0xff))).toEqual({ problem: 'is not UTF-8 text' });
  expect(await readText(join(dir, 'missing'))).toBe('gone');
  await mkdir(join(dir, 'directory'));
  expect(await readText(join(dir, 'directory'))).toEqual({ problem: 'cannot be read (EISDIR)' });
});

test('does not wait for a writer of a pipe', async () => {
  makePipe(join(dir, 'pipe'));
  expect(await readText(join(dir, 'pipe'))).toEqual({ text: '' });
});

test.runIf(process.platform === 'linux')('tells an error of the device', async () => {
  expect(await readText('/proc/self/mem')).toEqual({ problem: 'cannot be read (EIO)' });
});

test('an error without a code is told by its text', () => {
  expect(errorCode(Object.assign(new Error('x'), { code: 'EIO' }))).toBe('EIO');
  expect(errorCode(new Error('x'))).toBe('Error: x');
  expect([errorCode('text'), errorCode({ code: 'EIO' })]).toEqual(['text', '[object Object]']);
});
