import { describe, expect, test } from 'vitest';
import { newsOf, started, status, UNREACHABLE } from './event-recorder.test-fixtures.ts';

function differences(times: readonly number[]): number[] {
  return times.slice(1).map((ms, index) => ms - (times[index] ?? 0));
}

describe('a request that fails', () => {
  test.each([
    ['unreachable', UNREACHABLE] as const,
    ['500', status(500)] as const,
    ['429', status(429)] as const,
    ['401', status(401)] as const,
    ['403', status(403)] as const,
  ])('with %s is repeated a few times with growing pauses, and then given up with one line', async (_name, error) => {
    const { clock, sent, lost, recorder, outcomes } = started(() => ({ error }));
    recorder.record(newsOf('n'));
    await clock.advance(600_000);
    expect(differences(sent.map(({ atMs }) => atMs))).toEqual([376, 751, 1501, 3001, 6001]);
    expect(lost).toEqual([error]);
    expect(await outcomes()).toEqual({ failed: 1 });
    expect(clock.pendingTimers).toBe(0);
  });

  test.each([400, 404, 413, 422])('with %d is not repeated', async (code) => {
    const { clock, sent, lost, recorder, outcomes } = started(() => ({ error: status(code) }));
    recorder.record(newsOf('n'));
    await clock.advance(600_000);
    expect(sent).toHaveLength(1);
    expect(lost).toHaveLength(1);
    expect(await outcomes()).toEqual({ failed: 1 });
  });

  test('for a reason that has nothing to do with the API server is not repeated', async () => {
    const { clock, sent, recorder, outcomes } = started(() => ({ error: new Error('on purpose') }));
    recorder.record(newsOf('n'));
    await clock.advance(600_000);
    expect(sent).toHaveLength(1);
    expect(await outcomes()).toEqual({ failed: 1 });
  });

  test('waits as long as the API server asks', async () => {
    const { clock, sent, recorder, outcomes } = started((_request, count) =>
      count === 1 ? { error: status(429, 20_000) } : {},
    );
    recorder.record(newsOf('n'));
    await clock.advance(60_000);
    expect(differences(sent.map(({ atMs }) => atMs))).toEqual([20_001]);
    expect(await outcomes()).toEqual({ created: 1 });
  });

  test('carries what came meanwhile when it is repeated', async () => {
    const { clock, sent, recorder, outcomes } = started((_request, count) =>
      count === 1 ? { error: UNREACHABLE } : {},
    );
    recorder.record(newsOf('n'));
    await clock.advance(100);
    recorder.record(newsOf('n'));
    await clock.advance(60_000);
    expect(sent.map(({ method, body }) => [method, body['count']])).toEqual([
      ['POST', 1],
      ['POST', 2],
    ]);
    expect(await outcomes()).toEqual({ created: 1, raised: 1 });
  });

  test('is not repeated when the fence has closed meanwhile, or the program stops', async () => {
    for (const end of ['fence', 'stop']) {
      const { clock, sent, state, recorder, outcomes, stop } = started(() => ({ error: UNREACHABLE }));
      recorder.record(newsOf('n'));
      await clock.advance(10);
      if (end === 'stop') stop();
      else state.remainingMs = 0;
      await clock.advance(60_000);
      expect(sent).toHaveLength(1);
      expect(await outcomes()).toEqual({ dropped: 1 });
    }
  });

  test('for good leaves the count to the next time', async () => {
    const { clock, sent, recorder } = started((_request, count) => (count === 1 ? { error: status(422) } : {}));
    recorder.record(newsOf('n'));
    await clock.advance(1000);
    recorder.record(newsOf('n'));
    await clock.advance(1000);
    expect(sent.map(({ method, body }) => [method, body['count']])).toEqual([
      ['POST', 1],
      ['POST', 2],
    ]);
  });
});

describe('an Event', () => {
  test('that was deleted meanwhile is made anew with its count and its first time', async () => {
    const { clock, sent, recorder, outcomes } = started(({ method }) =>
      method === 'PATCH' ? { error: status(404) } : {},
    );
    recorder.record(newsOf('n'));
    await clock.advance(60_000);
    recorder.record(newsOf('n'));
    await clock.advance(60_000);
    expect(sent.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(sent[2]?.body).toMatchObject({ count: 2, firstTimestamp: '2026-01-01T00:00:00Z' });
    expect(await outcomes()).toEqual({ created: 2 });
  });

  test('whose creation was not answered but done is not made twice', async () => {
    const errors = [UNREACHABLE, status(409), undefined];
    const { clock, sent, recorder, outcomes } = started((_request, count) => {
      const error = errors[count - 1];
      return error ? { error } : {};
    });
    recorder.record(newsOf('n'));
    await clock.advance(60_000);
    expect(sent.map(({ method }) => method)).toEqual(['POST', 'POST', 'PATCH']);
    expect(await outcomes()).toEqual({ raised: 1 });
  });

  test('that is neither there nor can be made is given up at some time', async () => {
    const { clock, sent, recorder, outcomes } = started(({ method }) => ({
      error: status(method === 'POST' ? 409 : 404),
    }));
    recorder.record(newsOf('n'));
    await clock.advance(60_000);
    expect(sent).toHaveLength(6);
    expect(await outcomes()).toEqual({ failed: 1 });
  });
});
