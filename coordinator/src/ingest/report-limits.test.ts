import { once } from 'node:events';
import { connect } from 'node:net';
import { REPORT_BODY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import { reportsServer, sample, send, wire } from './reports-server.test-fixtures.ts';

const heartbeat = { node: 'n1', boot: 'b', sequence: 1, digest: 'd' };

/** The statuses of so many requests, one after the other. */
async function statuses(count: number, ask: () => ReturnType<typeof send>): Promise<number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index += 1) all.push((await ask()).status);
  return all;
}

describe('the bytes that a node may send', () => {
  const text = wire(heartbeat);

  test('are half a mebibyte at once, and no more', async () => {
    const { port } = await reportsServer();
    const half = text + ' '.repeat(REPORT_BODY_BYTES_MAX / 2 - text.length);
    const fitting = (512 * 1024) / half.length;
    const all = await statuses(fitting + 4, () => send(port, half));
    // One more where the machine is slow, as every second gives 64 KiB.
    expect(all.slice(0, fitting)).toEqual(Array(fitting).fill(200));
    expect(all.slice(fitting)).toContain(429);
  });

  test('say when to come back', async () => {
    const { port } = await reportsServer();
    const large = text + ' '.repeat(REPORT_BODY_BYTES_MAX - text.length);
    let answer = await send(port, large);
    for (let index = 0; index < 20 && answer.status === 200; index += 1) answer = await send(port, large);
    const seconds = Number(answer.headers['retry-after']);
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(REPORT_BODY_BYTES_MAX / (64 * 1024));
    expect(JSON.parse(answer.body).detail).toBe('Node n1 sends too many or too large reports');
  });
});

test('a server that is not told otherwise gives clients so much time and room, and keeps their connections', async () => {
  const { server } = await reportsServer();
  expect([server.requestTimeout, server.headersTimeout, server.keepAliveTimeout]).toEqual([10_000, 10_000, 120_000]);
  expect(server.maxHeadersCount).toBe(100);
});

test('a connection has 10 s to its first request, whether it sends nothing, or the head byte by byte', async () => {
  const { port } = await reportsServer();
  const lifetime = async (begin: string, drip: string) => {
    const startMs = performance.now();
    // What is not read is no end either.
    const socket = connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    socket.write(begin);
    const timer = setInterval(() => socket.write(drip), 500);
    await once(socket, 'close');
    clearInterval(timer);
    return performance.now() - startMs;
  };
  const lifetimes = await Promise.all([lifetime('', ''), lifetime('POST /v1/reports HTTP/1.1\r\nX-Slow: ', 'x')]);
  expect(Math.min(...lifetimes)).toBeGreaterThan(9_000);
  expect(Math.max(...lifetimes)).toBeLessThan(15_000);
});

test('how long an answer took is counted in seconds', async () => {
  const { port, registry } = await reportsServer();
  await send(port, heartbeat);
  const sum = (await sample(registry, 'rollcall_coordinator_report_duration_seconds_sum')) ?? -1;
  expect(sum).toBeGreaterThan(0);
  expect(sum).toBeLessThan(5);
});

test('a path may have a query, and nothing else before or after it', async () => {
  const { port } = await reportsServer();
  expect(await statuses(1, () => send(port, heartbeat, { path: '/v1/reports?a=b' }))).toEqual([200]);
  for (const path of ['/v1/reports/', '//v1/reports', '/V1/reports', '/?/v1/reports']) {
    expect(await send(port, heartbeat, { path })).toMatchObject({ status: 404 });
  }
});
