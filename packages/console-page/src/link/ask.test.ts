import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { ask, sentenceOf } from './ask.ts';
import { browserClock } from './browser-clock.ts';
import { standInForFetch } from './fetch.test-fixtures.ts';

function asking() {
  const clock = new FakeClock();
  const asked = standInForFetch();
  const leaving = new AbortController();
  const answer = ask('v1/nodes', clock, leaving.signal);
  answer.catch(() => {});
  const [first] = asked;
  if (!first) throw new Error('Nothing was asked');
  return { clock, leaving, answer, first };
}

test('a document is asked for anew each time', async () => {
  const { answer, first, clock } = asking();
  expect(first).toMatchObject({ path: 'v1/nodes', cache: 'no-store' });
  first.answer(Response.json({ nodes: [] }));
  expect(await answer).toEqual({ nodes: [] });
  expect(clock.pendingTimers).toBe(0);
});

test.each([
  [404, 'The coordinator does not know it (any more)'],
  [500, 'The coordinator answered 500'],
  [204, 'Unexpected end of JSON input'],
])('an answer with the status %d is an error', async (status, message) => {
  const { answer, first, clock } = asking();
  first.answer(new Response(null, { status }));
  await expect(answer).rejects.toThrow(message);
  expect(clock.pendingTimers).toBe(0);
});

test('an answer that does not come within 15 seconds is not waited for', async () => {
  const { answer, first, clock } = asking();
  await clock.advance(14_999);
  expect(first.isAborted()).toBe(false);
  await clock.advance(1);
  expect(first.isAborted()).toBe(true);
  await expect(answer).rejects.toThrow('The coordinator did not answer in time');
});

test('who leaves does not wait, and is not told that it took too long', async () => {
  const { answer, first, leaving } = asking();
  leaving.abort(new Error('left'));
  expect(first.isAborted()).toBe(true);
  await expect(answer).rejects.toThrow('left');
});

test('what went wrong is a sentence', () => {
  expect(sentenceOf(new TypeError('Failed to fetch'))).toBe('The coordinator cannot be reached');
  expect(sentenceOf(new Error('It is so'))).toBe('It is so');
  expect(sentenceOf('text')).toBe('text');
});

test('the clock of the browser calls back, unless that is canceled', async () => {
  const called: string[] = [];
  const cancel = browserClock.after(1, () => called.push('canceled'));
  await new Promise<void>((resolve) => {
    cancel();
    browserClock.after(2, resolve);
  });
  expect(called).toEqual([]);
  expect(Math.abs(browserClock.now() - Date.now())).toBeLessThan(1000);
  expect(Math.abs(browserClock.monotonic() - performance.now())).toBeLessThan(1000);
});
