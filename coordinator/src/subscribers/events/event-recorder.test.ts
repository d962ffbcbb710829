import { describe, expect, test } from 'vitest';
import { newsOf, started } from './event-recorder.test-fixtures.ts';

const MINUTE_MS = 60_000;

describe('news', () => {
  test('waits while there is something more important to send, but not for ever', async () => {
    const { clock, sent, state, recorder } = started();
    state.mustYield = true;
    recorder.record(newsOf('n'));
    await clock.advance(5000);
    expect(sent).toEqual([]);
    state.mustYield = false;
    await clock.advance(200);
    expect(sent).toHaveLength(1);
    state.mustYield = true;
    recorder.record(newsOf('m'));
    await clock.advance(31_000);
    expect(sent).toHaveLength(2);
  });

  test('goes out one by one while there still is something more important to send', async () => {
    const { clock, sent, state, recorder } = started(() => ({ afterMs: 50 }));
    state.mustYield = true;
    for (let index = 0; index < 100; index += 1) recorder.record(newsOf(`n${index}`));
    await clock.advance(31_000);
    expect(sent.length).toBeGreaterThan(10);
    expect(state.mostUnderWay).toBe(1);
    state.mustYield = false;
    await clock.advance(1000);
    expect(state.mostUnderWay).toBe(4);
  });

  test('becomes an Event beside its object, and in the namespace default for one that has none', async () => {
    const { clock, sent, recorder, outcomes } = started();
    recorder.record(newsOf('n1'));
    const subject = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', namespace: 'gitpod' };
    recorder.record(newsOf('d', { subject, type: 'Normal' }));
    await clock.advance(10);
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /api/v1/namespaces/default/events',
      'POST /api/v1/namespaces/gitpod/events',
    ]);
    expect(sent[1]?.body).toMatchObject({ involvedObject: subject, metadata: { namespace: 'gitpod' } });
    expect(await outcomes()).toEqual({ created: 2 });
  });

  test('that comes again within 10 minutes raises the Event by its name, and later makes another', async () => {
    const { clock, sent, recorder, outcomes } = started();
    recorder.record(newsOf('n'));
    await clock.advance(MINUTE_MS);
    recorder.record(newsOf('n'));
    await clock.advance(10 * MINUTE_MS);
    recorder.record(newsOf('n'));
    await clock.advance(10 * MINUTE_MS + 1);
    recorder.record(newsOf('n'));
    await clock.advance(10);
    expect(sent.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH', 'POST']);
    const metadata = sent[0]?.body['metadata'] as { name: string } | undefined;
    expect(sent[1]?.path).toBe(`/api/v1/namespaces/default/events/${metadata?.name}`);
    expect(sent[1]?.body).toEqual({ count: 2, lastTimestamp: '2026-01-01T00:01:00Z' });
    expect(sent[2]?.body).toEqual({ count: 3, lastTimestamp: '2026-01-01T00:11:00Z' });
    expect(sent[3]?.body).toMatchObject({ count: 1, firstTimestamp: '2026-01-01T00:21:00Z' });
    expect(await outcomes()).toEqual({ created: 2, raised: 2 });
  });

  test('is another Event when its object, type, reason or message differs', async () => {
    const { clock, sent, recorder } = started();
    recorder.record(newsOf('n'));
    recorder.record(newsOf('m'));
    recorder.record(newsOf('n', { type: 'Normal' }));
    recorder.record(newsOf('n', { reason: 'ServiceReady' }));
    recorder.record(newsOf('n', { message: 'something else' }));
    await clock.advance(10);
    expect(sent.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'POST', 'POST']);
  });

  test('that comes while its Event is being created is told in one request afterwards', async () => {
    const { clock, sent, recorder, outcomes } = started(() => ({ afterMs: 100 }));
    recorder.record(newsOf('n'));
    await clock.advance(10);
    for (let index = 0; index < 30; index += 1) recorder.record(newsOf('n'));
    await clock.advance(1000);
    expect(sent.map(({ method, body }) => [method, body['count']])).toEqual([
      ['POST', 1],
      ['PATCH', 31],
    ]);
    expect(await outcomes()).toEqual({ created: 1, raised: 30 });
  });
});

describe('an object that flaps', () => {
  test('gets 25 requests and one more every 5 minutes, and its count is true again with the next', async () => {
    const { clock, sent, recorder, outcomes } = started();
    for (let index = 0; index < 100; index += 1) {
      recorder.record(newsOf('n'));
      await clock.advance(10);
    }
    expect(sent).toHaveLength(25);
    await clock.advance(5 * MINUTE_MS);
    recorder.record(newsOf('n'));
    recorder.record(newsOf('other'));
    await clock.advance(10);
    expect(sent).toHaveLength(27);
    expect(sent[25]?.body['count']).toBe(101);
    expect(await outcomes()).toEqual({ created: 2, raised: 25, suppressed: 75 });
  });

  test('is bounded as well when every message differs', async () => {
    const { clock, sent, recorder, outcomes } = started();
    for (let index = 0; index < 100; index += 1) recorder.record(newsOf('n', { message: `for the ${index}th time` }));
    await clock.advance(1000);
    expect(sent).toHaveLength(25);
    expect(await outcomes()).toEqual({ created: 25, suppressed: 75 });
  });
});

describe('the queue', () => {
  test('sends four at a time, in order', async () => {
    const { clock, sent, state, recorder } = started(() => ({ afterMs: 10 }));
    for (let index = 0; index < 10; index += 1) recorder.record(newsOf(`n${index}`));
    await clock.advance(100);
    expect(state.mostUnderWay).toBe(4);
    const names = sent.map(({ body }) => (body['involvedObject'] as { name: string }).name);
    expect(names).toEqual(Array.from({ length: 10 }, (_, index) => `n${index}`));
  });

  test('holds 3,000 Events, and lets go of the oldest', async () => {
    const { clock, sent, recorder, outcomes } = started(() => ({ afterMs: 10 }));
    for (let index = 0; index < 3014; index += 1) recorder.record(newsOf(`n${index}`));
    expect(await outcomes()).toEqual({ dropped: 10 });
    await clock.advance(20_000);
    expect(await outcomes()).toEqual({ dropped: 10, created: 3004 });
    const names = sent.map(({ body }) => (body['involvedObject'] as { name: string }).name);
    expect(names.slice(3, 5)).toEqual(['n3', 'n14']);
  });

  test('counts what it let go of when the same happens again', async () => {
    const { clock, sent, recorder, outcomes } = started(() => ({ afterMs: 10 }));
    for (let index = 0; index < 3005; index += 1) recorder.record(newsOf(`n${index}`));
    await clock.advance(20_000);
    recorder.record(newsOf('n4'));
    await clock.advance(10);
    expect(sent.at(-1)).toMatchObject({ method: 'POST', body: { involvedObject: { name: 'n4' }, count: 2 } });
    await clock.advance(10);
    expect(await outcomes()).toEqual({ dropped: 1, created: 3005 });
  });
});

describe('the fence', () => {
  test('at 0 lets nothing begin, neither new nor repeated, and nothing waits for it', async () => {
    const { clock, sent, state, recorder, outcomes } = started(() => ({ afterMs: 10 }));
    for (let index = 0; index < 6; index += 1) recorder.record(newsOf(`n${index}`));
    state.remainingMs = 0;
    recorder.record(newsOf('late'));
    await clock.advance(20);
    state.remainingMs = MINUTE_MS;
    await clock.advance(MINUTE_MS);
    expect(sent).toHaveLength(4);
    expect(await outcomes()).toEqual({ created: 4, dropped: 3 });
    expect(clock.pendingTimers).toBe(0);
  });

  test('at 0 keeps news out, even if it could be sent later', async () => {
    const { clock, sent, state, recorder, outcomes } = started(() => ({ afterMs: 10 }));
    for (let index = 0; index < 4; index += 1) recorder.record(newsOf(`n${index}`));
    state.remainingMs = 0;
    recorder.record(newsOf('late'));
    state.remainingMs = MINUTE_MS;
    await clock.advance(MINUTE_MS);
    expect(sent).toHaveLength(4);
    expect(await outcomes()).toEqual({ created: 4, dropped: 1 });
  });

  test('bounds how long a request may take', async () => {
    const { clock, sent, state, recorder } = started();
    recorder.record(newsOf('a'));
    state.remainingMs = 300;
    recorder.record(newsOf('b'));
    await clock.advance(10);
    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([3000, 300]);
  });
});

describe('stopping', () => {
  test('waits for the requests under way, drops the rest, and leaves no timer', async () => {
    const { clock, sent, recorder, settled, outcomes, stop } = started(() => ({ afterMs: 1000 }));
    for (let index = 0; index < 10; index += 1) recorder.record(newsOf(`n${index}`));
    await clock.advance(10);
    recorder.record(newsOf('n0'));
    stop();
    recorder.record(newsOf('late'));
    const order: string[] = [];
    void settled().then(() => order.push('settled'));
    await clock.advance(900);
    expect(order).toEqual([]);
    await clock.advance(200);
    expect(order).toEqual(['settled']);
    await clock.advance(MINUTE_MS);
    expect(sent).toHaveLength(4);
    expect(await outcomes()).toEqual({ created: 4, dropped: 8 });
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('while there is something more important to send', () => {
  test('the same news is told in one request, which costs its object one', async () => {
    const { clock, sent, state, recorder } = started();
    state.mustYield = true;
    recorder.record(newsOf('n'));
    recorder.record(newsOf('n'));
    for (let index = 0; index < 24; index += 1) recorder.record(newsOf('n', { message: `${index}` }));
    state.mustYield = false;
    await clock.advance(1000);
    expect(sent).toHaveLength(25);
    expect(sent[0]?.body).toMatchObject({ count: 2 });
  });

  test('news waits for 30 s, counted anew each time', async () => {
    const { clock, sent, state, recorder } = started();
    for (const round of [1, 2]) {
      state.mustYield = true;
      recorder.record(newsOf(`n${round}`));
      await clock.advance(29_999);
      expect(sent).toHaveLength(round - 1);
      await clock.advance(1);
      expect(sent).toHaveLength(round);
      state.mustYield = false;
      recorder.record(newsOf(`m${round}`));
      await clock.advance(30_000);
      sent.pop();
    }
  });

  test('no timer runs where no news waits', async () => {
    const { clock, state, recorder } = started();
    recorder.record(newsOf('n'));
    state.mustYield = true;
    await clock.advance(1000);
    expect(clock.pendingTimers).toBe(0);
  });
});

test('what was told is not lost', async () => {
  const { clock, lost, recorder } = started();
  recorder.record(newsOf('n'));
  await clock.advance(1000);
  expect(lost).toEqual([]);
});
