import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { ClientGoneError, checkBodyHead, parseJsonObject, readBody } from './report-handler.ts';

const incoming = () => new PassThrough() as unknown as IncomingMessage & PassThrough;

describe('the head of a body', () => {
  const check = (headers: Record<string, string>) => () =>
    checkBodyHead(
      {
        headers: { 'content-type': 'application/json', 'content-length': '7', ...headers },
      } as unknown as IncomingMessage,
      100,
    );

  test.each([
    {},
    { 'content-type': 'application/json; charset=utf-8' },
    { 'content-type': 'Application/JSON ;charset="UTF-8"' },
    { 'content-encoding': 'identity' },
    { 'content-encoding': 'Identity' },
    { 'content-length': '100' },
  ])('is good: %j', (headers) => {
    expect(check(headers as Record<string, string>)).not.toThrow();
  });

  test.each([
    [415, { 'content-type': 'application/json; charset="utf-8' }],
    [415, { 'content-type': 'application/json-patch+json' }],
    [415, { 'content-type': 'application/json; charset=latin1' }],
    [415, { 'content-encoding': 'gzip' }],
    [415, { 'content-encoding': '' }],
    [413, { 'content-length': '101' }],
  ])('is refused with %i: %j', (status, headers) => {
    expect(check(headers as Record<string, string>)).toThrow(expect.objectContaining({ status }));
  });

  test('is refused with 411 if it does not say the length', () => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    expect(() => checkBodyHead({ headers } as unknown as IncomingMessage, 100)).toThrow(
      expect.objectContaining({ status: 411 }),
    );
  });

  test('that says too much tells how much is allowed', () => {
    expect(check({ 'content-length': '101' })).toThrow('A report must have at most 100 bytes');
  });
});

describe('a body', () => {
  test('is read whole, in one piece or several', async () => {
    const [one, several, none] = [incoming(), incoming(), incoming()];
    const bodies = [one, several, none].map((request) => readBody(request));
    one.end('abcdef');
    several.write('abc');
    several.end('def');
    none.end();
    expect((await Promise.all(bodies)).map(String)).toEqual(['abcdef', 'abcdef', '']);
  });

  test('of a client that leaves is not waited for', async () => {
    const [leaving, failing, gone] = [incoming(), incoming(), incoming()];
    const bodies = [readBody(leaving), readBody(failing)];
    leaving.write('ab');
    leaving.destroy();
    failing.destroy(new Error('reset'));
    for (const body of bodies) await expect(body).rejects.toBeInstanceOf(ClientGoneError);
    gone.destroy();
    await expect(readBody(gone)).rejects.toBeInstanceOf(ClientGoneError);
  });
});

test.each([
  ['{"a":1}', { a: 1 }],
  ['{}', {}],
])('%s is a JSON object', (text, value) => {
  expect(parseJsonObject(Buffer.from(text))).toEqual(value);
});

test.each([
  ['[1]', 'The body is not a JSON object'],
  ['null', 'The body is not a JSON object'],
  ['7', 'The body is not a JSON object'],
  ['{', 'The body is not JSON'],
  ['\xff', 'The body is not UTF-8'],
])('%j is none, and that is told', (text, message) => {
  expect(() => parseJsonObject(Buffer.from(text, 'latin1'))).toThrow(expect.objectContaining({ status: 400, message }));
});

test('a body that is nested too deeply is refused', () => {
  const body = Buffer.from(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
  expect(() => parseJsonObject(body)).toThrow(
    expect.objectContaining({ status: 400, message: 'The body is nested too deeply' }),
  );
});
