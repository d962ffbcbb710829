import { silentLogger } from '@rollcall/common/logging.ts';
import { expect, test } from 'vitest';
import { LeaderNews } from './lease-observer.ts';
import { acquired, type Lease, released } from './lease-record.ts';

const EMPTY: Lease = { metadata: { name: 'l', uid: 'u', resourceVersion: '1' }, spec: {} };

function held(identity: string, leaderUrl = `https://${identity}`, schedulerUrl = ''): Lease {
  const candidate = { identity, leaderUrl, schedulerUrl, consoleUrl: '', leaseDurationMs: 15_000 };
  return acquired(EMPTY, candidate, 1, 'now');
}

function started(onTold: () => void = () => {}) {
  const told: unknown[] = [];
  const counts = { changes: 0 };
  const news = new LeaderNews({
    logger: silentLogger(),
    callbacks: {
      onLeaderChanged: (...where) => {
        told.push(where);
        onTold();
      },
    },
    metrics: {
      leaderChanged: () => {
        counts.changes += 1;
      },
    },
  });
  return { news, told, counts };
}

test('a leader is reported once, with its address', () => {
  const { news, told, counts } = started();
  news.take(held('a'));
  news.take(held('a'));
  expect(told).toEqual([['https://a', 'a', undefined, undefined]]);
  expect(counts.changes).toBe(1);
});

test('a leader whose address changes is reported, but does not count as another leader', () => {
  const { news, told, counts } = started();
  news.take(held('a'));
  news.take(held('a', 'https://moved', 'https://scheduler'));
  expect(told.at(-1)).toEqual(['https://moved', 'a', 'https://scheduler', undefined]);
  expect([told.length, counts.changes]).toEqual([2, 1]);
  news.take(held('b'));
  expect([told.length, counts.changes]).toEqual([3, 2]);
});

test('the lack of a leader is reported when the Lease was released, and not when a name is missing', () => {
  const { news, told, counts } = started();
  news.take(EMPTY);
  expect(told).toEqual([]);
  news.take(held('a'));
  news.take({ ...held('a'), spec: { ...held('a').spec, holderIdentity: '' } });
  expect(told).toHaveLength(1);
  news.take(released(held('a'), 'later'));
  expect(told.slice(1)).toEqual([[undefined, undefined, undefined, undefined]]);
  expect(counts.changes).toBe(1);
});

test('a listener that throws still receives the next change', () => {
  const { news, told } = started(() => {
    throw new Error('on purpose');
  });
  news.take(held('a'));
  news.take(held('b'));
  expect(told).toHaveLength(2);
});
