import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from './client.ts';
import { LeaderRequests } from './leader-requests.ts';

const WRITE: KubeRequest = { method: 'POST', path: '/', timeoutMs: 3000 };

/** Requests that take as long as their path says, in milliseconds, and fail at `/fail`. */
function rig() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const state = { remainingMs: 10_000 };
  const sent: KubeRequest[] = [];
  const request = async (asked: KubeRequest) => {
    sent.push(asked);
    await new Promise<void>((resolve) => clock.after(Number(asked.path.slice(1)) || 1, resolve));
    if (asked.path === '/fail') throw new Error('on purpose');
    return asked.path;
  };
  const client = { request: request as KubeClient['request'] };
  const requests = new LeaderRequests({ client, fence: { remainingMs: () => state.remainingMs }, signal: stop.signal });
  return { clock, stop, state, sent, requests };
}

test('a request has its time, or what is left of the right to write', async () => {
  const { clock, state, sent, requests } = rig();
  const answer = requests.request(WRITE);
  state.remainingMs = 200;
  void requests.request({ ...WRITE, method: 'PATCH' });
  await clock.advance(1);
  expect(await answer).toBe('/');
  expect(sent).toEqual([WRITE, { ...WRITE, method: 'PATCH', timeoutMs: 200 }]);
});

test.each(['fence', 'stop'])('nothing is sent without the right to write: %s', async (end) => {
  const { stop, state, sent, requests } = rig();
  expect(requests.mayBegin).toBe(true);
  if (end === 'stop') stop.abort();
  else state.remainingMs = 0;
  expect(requests.mayBegin).toBe(false);
  await expect(requests.request(WRITE)).rejects.toMatchObject({ code: 'LEADERSHIP_LOST' });
  expect(sent).toEqual([]);
});

test('all is settled when the last request under way has ended, well or not', async () => {
  const { clock, stop, requests } = rig();
  await requests.settled();
  for (const path of ['/100', '/400', '/200']) void requests.request({ ...WRITE, path });
  const failing = expect(requests.request({ ...WRITE, path: '/fail' })).rejects.toThrow('on purpose');
  stop.abort();
  let isSettled = false;
  void requests.settled().then(() => {
    isSettled = true;
  });
  await clock.advance(399);
  expect(isSettled).toBe(false);
  await clock.advance(1);
  expect(isSettled).toBe(true);
  await failing;
});
