import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { REFUSED_FOR_MS, type RefusedWithdrawal, RefusedWithdrawals } from './refused-withdrawals.ts';

const node = { name: 'n', uid: 'u' };
const refusal: RefusedWithdrawal = { kind: 'label', key: 'k', message: 'no' };

function started() {
  const clock = new FakeClock();
  const refused = new RefusedWithdrawals(clock);
  refused.add(node, [refusal]);
  return { clock, refused };
}

const LABEL = { kind: 'label', key: 'k' } as const;

test('only the refused key may not be removed', () => {
  const { refused } = started();
  expect(refused.has(node, LABEL)).toBe(true);
  expect(refused.has(node, { ...LABEL, key: 'l' })).toBe(false);
  expect(refused.has(node, { ...LABEL, kind: 'annotation' })).toBe(false);
});

test('a refused key is tried again after a while, and is said to be due once', async () => {
  const { clock, refused } = started();
  await clock.advance(REFUSED_FOR_MS - 1);
  expect(refused.dueInMs('n')).toBe(1);
  expect(refused.has(node, LABEL)).toBe(true);
  await clock.advance(1);
  expect(refused.dueInMs('n')).toBe(0);
  expect(refused.dueInMs('n')).toBeUndefined();
  expect(refused.has(node, LABEL)).toBe(false);
});

test('no key is tried again while more are found', async () => {
  const { clock, refused } = started();
  await clock.advance(REFUSED_FOR_MS - 1);
  refused.add(node, [{ ...refusal, key: 'l' }]);
  await clock.advance(REFUSED_FOR_MS - 1);
  expect(['k', 'l'].map((key) => refused.has(node, { ...LABEL, key }))).toEqual([true, true]);
  await clock.advance(1);
  expect(['k', 'l'].map((key) => refused.has(node, { ...LABEL, key }))).toEqual([false, false]);
});

test('another node of the same name has nothing to do with it', () => {
  const { refused } = started();
  expect(refused.has({ name: 'n', uid: 'w' }, LABEL)).toBe(false);
  expect(refused.size).toBe(0);
});

test('refusals are counted, shown and forgotten with the node', () => {
  const { refused } = started();
  refused.add(node, [{ ...refusal, key: 'l' }]);
  expect(refused.size).toBe(2);
  expect(refused.keysFor('n')).toEqual([refusal, { ...refusal, key: 'l' }]);
  refused.forget('n');
  expect(refused.keysFor('n')).toEqual([]);
});
