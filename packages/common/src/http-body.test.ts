import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { BodyReader, ClientGoneError } from './http-body.ts';

const incoming = (length: number) =>
  Object.assign(new PassThrough(), { headers: { 'content-length': String(length) } }) as unknown as IncomingMessage &
    PassThrough;

const reader = (limits: { totalMax?: number } = {}) =>
  new BodyReader({ what: 'A report', bytesMax: () => 100, ...limits });

describe('the head of a body', () => {
  const check = (headers: Record<string, string>) => () =>
    reader().check({ headers: { 'content-type': 'application/json', 'content-length': '7', ...headers } });

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
    expect(() => reader().check({ headers })).toThrow(expect.objectContaining({ status: 411 }));
  });

  test('that says too much tells how much is allowed', () => {
    expect(check({ 'content-length': '101' })).toThrow('A report must have at most 100 bytes');
  });
});

describe('a body', () => {
  test('is read whole, in one piece or several', async () => {
    const [one, several, bytes, none] = [incoming(6), incoming(6), incoming(6), incoming(0)];
    const bodies = [one, several, bytes, none].map((request) => reader().read(request));
    one.end('abcdef');
    several.write('abc');
    several.end('def');
    for (const byte of 'abcdef') bytes.write(byte);
    bytes.end();
    none.end();
    const read = await Promise.all(bodies);
    expect(read.map(({ body }) => body.toString())).toEqual(['abcdef', 'abcdef', 'abcdef', '']);
  });

  test('that arrives byte by byte takes no more memory than twice its bytes', async () => {
    const request = incoming(100);
    const reading = reader().read(request);
    for (let index = 0; index < 65; index += 1) request.write('x');
    request.end();
    const { body } = await reading;
    expect([body.length, body.buffer.byteLength]).toEqual([65, 100]);
  });

  test('of a client that leaves, or whose time is over, is not waited for', async () => {
    const [leaving, failing, late, gone] = [incoming(6), incoming(6), incoming(6), incoming(6)];
    const time = new AbortController();
    const bodies = [reader().read(leaving), reader().read(failing), reader().read(late, time.signal)];
    leaving.write('ab');
    leaving.destroy();
    failing.destroy(new Error('reset'));
    time.abort();
    for (const body of bodies) await expect(body).rejects.toBeInstanceOf(ClientGoneError);
    gone.destroy();
    await expect(reader().read(gone)).rejects.toBeInstanceOf(ClientGoneError);
    await expect(reader().read(incoming(6), AbortSignal.abort())).rejects.toBeInstanceOf(ClientGoneError);
  });

  test('is refused while others take up the total, by what has arrived, until they are answered', async () => {
    const bodies = reader({ totalMax: 10 });
    const [first, second, third, fourth] = [incoming(8), incoming(100), incoming(8), incoming(8)];
    const reading = bodies.read(first);
    first.end('12345678');
    const { closed } = await reading;
    // What is only said to come takes nothing from others.
    void bodies.read(second).catch(() => {});
    const refused = bodies.read(third);
    third.end('12345678');
    await expect(refused).rejects.toMatchObject({ status: 503 });
    closed();
    closed();
    const taken = bodies.read(fourth);
    fourth.end('12345678');
    expect((await taken).body.toString()).toBe('12345678');
  });
});
