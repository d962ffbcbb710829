import type { DriftCause, DriftDirection } from '@rollcall/common/console.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Drift } from './drift.ts';
import { DriftTotals } from './drift-totals.ts';

function lie(key: string, direction: DriftDirection, cause: DriftCause = 'unwritten'): Drift {
  return { kind: 'label', key, service: 's', direction, cause, evidence: `${key} is otherwise` };
}

const node = { name: 'n' };
const at = (monotonicMs: number) => ({ monotonicMs, wallMs: 1_700_000_000_000 + monotonicMs });

describe('the book', () => {
  test('counts a lie from when it is first seen to when it is seen no more', () => {
    const book = new DriftTotals();
    book.saw(node, [lie('a', 'said-ready')], 1000);
    book.saw(node, [lie('a', 'said-ready')], 2000);
    expect([...book.seconds(4000)]).toEqual([{ key: 'a', direction: 'said-ready', seconds: 3 }]);
    book.saw(node, [], 5000);
    expect([...book.seconds(60_000)]).toEqual([{ key: 'a', direction: 'said-ready', seconds: 4 }]);
    const [entry] = book.entriesOf(node, at(60_000));
    expect(entry).toEqual({ node: 'n', ...lie('a', 'said-ready'), seconds: 4, times: 1 });
  });

  test('says since when one goes on, and how often it began', () => {
    const book = new DriftTotals();
    for (const [lies, ms] of [
      [1, 0],
      [0, 100],
      [1, 500],
    ] as const) {
      book.saw(node, lies ? [lie('a', 'said-not-ready', 'held-back')] : [], ms);
    }
    const [entry] = book.entriesOf(node, at(1500));
    expect(entry).toMatchObject({ seconds: 1.1, times: 2, since: '2023-11-14T22:13:20Z', cause: 'held-back' });
  });

  test('goes on counting by another cause', () => {
    const book = new DriftTotals();
    book.saw(node, [lie('a', 'said-ready', 'unwritten')], 0);
    book.saw(node, [lie('a', 'said-ready', 'contested')], 1000);
    book.saw(node, [], 3000);
    const seconds = [...book.entriesOf(node, at(3000))].map(({ cause, seconds: lasted }) => [cause, lasted]);
    expect(seconds).toEqual([
      ['unwritten', 1],
      ['contested', 2],
    ]);
    expect(book.keys(3000)).toEqual([
      { kind: 'label', key: 'a', service: 's', saidReadySeconds: 3, saidNotReadySeconds: 0, nodesNow: 0 },
    ]);
  });

  test('keeps what nodes did that are gone, and forgets the nodes', () => {
    const book = new DriftTotals();
    book.saw(node, [lie('a', 'said-ready')], 0);
    book.forget(node, 2000);
    expect([...book.entriesOf(node, at(9000))]).toEqual([]);
    expect(book.keys(9000)).toMatchObject([{ key: 'a', saidReadySeconds: 2, nodesNow: 0 }]);
  });

  test('has room for so many keys, and counts the others together', () => {
    const book = new DriftTotals();
    for (let n = 0; n < 2000; n += 1) book.saw({ name: `n${n}` }, [lie(`key-${n}`, 'said-ready')], 0);
    const keys = book.keys(1000);
    expect(keys.length).toBeLessThan(600);
    expect(keys.reduce((sum, each) => sum + each.saidReadySeconds, 0)).toBeCloseTo(2000);
    expect(keys[0]).toMatchObject({ key: 'other', nodesNow: 1500 });
  });
});

test('in any history says what a count of each millisecond says', () => {
  const KEYS = ['a', 'b'];
  const DIRECTIONS = ['said-ready', 'said-not-ready'] as const;
  const CAUSES = ['unwritten', 'contested'] as const;
  const lies = fc.uniqueArray(
    fc.record({
      key: fc.constantFrom(...KEYS),
      direction: fc.constantFrom(...DIRECTIONS),
      cause: fc.constantFrom(...CAUSES),
    }),
    { selector: ({ key }) => key, maxLength: 2 },
  );
  const step = fc.record({
    forMs: fc.integer({ min: 0, max: 40 }),
    node: fc.integer({ min: 0, max: 2 }),
    lies,
    isGone: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (history) => {
      const book = new DriftTotals();
      let subjects = [0, 1, 2].map((n) => ({ name: `n${n}` }));
      const told = new Map<object, { key: string; direction: DriftDirection; cause: DriftCause }[]>();
      const counted = new Map<string, number>();
      const countedOf = new Map<object, Map<string, number>>();
      let nowMs = 0;
      for (const { forMs, node: index, lies: now, isGone } of history) {
        for (let ms = 0; ms < forMs; ms += 1) {
          for (const [subject, all] of told) {
            for (const { key, direction, cause } of all) {
              counted.set(`${key} ${direction}`, (counted.get(`${key} ${direction}`) ?? 0) + 1);
              const own = countedOf.get(subject) ?? new Map<string, number>();
              countedOf.set(subject, own);
              const id = `${key} ${direction} ${cause}`;
              own.set(id, (own.get(id) ?? 0) + 1);
            }
          }
        }
        nowMs += forMs;
        const subject = subjects[index] ?? node;
        if (isGone) {
          book.forget(subject, nowMs);
          told.delete(subject);
          countedOf.delete(subject);
          subjects = subjects.with(index, { name: subject.name });
        } else {
          book.saw(
            subject,
            now.map(({ key, direction, cause }) => lie(key, direction, cause)),
            nowMs,
          );
          told.set(subject, now);
        }
      }
      for (const { key, direction, seconds } of book.seconds(nowMs)) {
        expect(seconds * 1000).toBeCloseTo(counted.get(`${key} ${direction}`) ?? 0);
        counted.delete(`${key} ${direction}`);
      }
      expect([...counted.values()].filter((ms) => ms > 0)).toEqual([]);
      for (const subject of subjects) {
        for (const { key, direction, cause, seconds } of book.entriesOf(subject, at(nowMs))) {
          const ms = countedOf.get(subject)?.get(`${key} ${direction} ${cause}`) ?? 0;
          expect(Math.abs(seconds * 1000 - ms)).toBeLessThanOrEqual(5);
        }
      }
    }),
  );
});

test('of keys that come and go, no more are remembered of a node than there is room for', () => {
  const book = new DriftTotals();
  for (let at = 0; at < 20_000; at += 1) book.saw(node, [lie(`example.com/build-${at}`, 'said-not-ready')], at);
  expect([...book.entriesOf(node, at(20_000))].length).toBeLessThanOrEqual(4096);
});
