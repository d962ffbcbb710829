import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readToken } from './coordinator-client.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-token-'));
const file = path.join(directory, 'token');

afterAll(() => rmSync(directory, { recursive: true }));

test('reads the token without the line end', () => {
  writeFileSync(file, 'aaa.bbb-_c.~+/=\n');
  expect(readToken(file)).toBe('aaa.bbb-_c.~+/=');
});

test.each([[''], ['\n'], ['two words'], ['a\nb'], ['naïve']])('refuses %j', (content) => {
  writeFileSync(file, content);
  expect(() => readToken(file)).toThrow(expect.objectContaining({ code: 'TOKEN_UNREADABLE' }));
});

test('says which file is missing, and nothing of what was in it', () => {
  const missing = path.join(directory, 'missing');
  expect(() => readToken(missing)).toThrow(
    expect.objectContaining({ code: 'TOKEN_UNREADABLE', fields: { path: missing } }),
  );
});
