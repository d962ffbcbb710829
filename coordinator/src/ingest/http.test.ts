import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { ClientGoneError, checkBodyHead, parseJsonObject, readBody, sendRefusal } from './http.ts';
import { ReportRefusal } from './report-refusal.ts';

const incoming = () => new PassThrough() as unknown as IncomingMessage & PassThrough;

describe('the head of a body', () => {
  const check = (headers: Record<string, string>) => () =>
    checkBodyHead({ headers: { 'content-type': 'application/json', ...headers } } as unknown as IncomingMessage, 100);

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

  test('that says too much ends the connection, and tells how much is allowed', () => {
    expect(check({ 'content-length': '101' })).toThrow(
      expect.objectContaining({ close: true, message: 'A report must have at most 100 bytes' }),
    );
  });
});

describe('a body', () => {
  test('is read whole, in one piece or several, up to the last allowed byte', async () => {
    const [one, several, none] = [incoming(), incoming(), incoming()];
    const bodies = [one, several, none].map((request) => readBody(request, 6));
    one.end('abcdef');
    several.write('abc');
    several.end('def');
    none.end();
    expect((await Promise.all(bodies)).map(String)).toEqual(['abcdef', 'abcdef', '']);
  });

  test('that is too long is refused, and no more of it is kept', async () => {
    const request = incoming();
    const body = readBody(request, 5);
    request.write('abc');
    request.write('def');
    await expect(body).rejects.toMatchObject({ status: 413, close: true });
    expect(request.listenerCount('data')).toBe(0);
  });

  test('of a client that leaves is not waited for', async () => {
    const [leaving, failing, gone] = [incoming(), incoming(), incoming()];
    const bodies = [readBody(leaving, 5), readBody(failing, 5)];
    leaving.write('ab');
    leaving.destroy();
    failing.destroy(new Error('reset'));
    for (const body of bodies) await expect(body).rejects.toBeInstanceOf(ClientGoneError);
    gone.destroy();
    await expect(readBody(gone, 5)).rejects.toBeInstanceOf(ClientGoneError);
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

describe('a refusal that ends the connection', () => {
  function refused(close: boolean) {
    const clock = new FakeClock();
    const request = incoming();
    const calls: string[] = [];
    const response = {
      writeHead: (status: number, headers: Record<string, unknown>) =>
        void calls.push(`head ${status} ${headers['connection']} ${headers['cache-control']}`),
      write: () => void calls.push('write'),
      end: (body?: string) => void calls.push(body === undefined ? 'end' : 'end with the body'),
    };
    sendRefusal(request, response as unknown as ServerResponse, new ReportRefusal(413, 'x', { close }), clock);
    return { clock, request, calls };
  }

  const SENT = ['head 413 close no-store', 'write'];

  test('is answered at once where it does not', () => {
    const { calls, clock } = refused(false);
    expect(calls).toEqual(['head 413 undefined no-store', 'end with the body']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('reads on for a second, so that the client sees the answer', async () => {
    const { calls, clock, request } = refused(true);
    request.write('x'.repeat(1000));
    await clock.advance(999);
    expect(calls).toEqual(SENT);
    await clock.advance(1);
    expect(calls).toEqual([...SENT, 'end']);
    expect(request.listenerCount('data')).toBe(0);
  });

  test('reads on for 4 MiB at most', async () => {
    const { calls, clock, request } = refused(true);
    request.emit('data', Buffer.alloc(4 * 1024 * 1024));
    expect(calls).toEqual(SENT);
    request.emit('data', Buffer.alloc(1));
    expect(calls).toEqual([...SENT, 'end']);
    expect(clock.pendingTimers).toBe(0);
  });

  test.each(['end', 'close'])('is over with the request: %s', (event) => {
    const { calls, clock, request } = refused(true);
    request.emit(event);
    expect(calls).toEqual([...SENT, 'end']);
    expect(clock.pendingTimers).toBe(0);
  });
});
