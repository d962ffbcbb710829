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

test('a refused key is left out of a withdrawal, and the others stay in it', () => {
  const { refused } = started();
  const left = refused.without(node, { labels: ['k', 'l'], annotations: ['k'] });
  expect(left).toEqual({ labels: ['l'], annotations: ['k'] });
});

test('the list that says whose a refused label is stays with it', () => {
  const { refused } = started();
  const LIST = 'nodepool.banzaicloud.io/managed-labels';
  expect(refused.without(node, { labels: ['k', 'l'], annotations: [LIST, 'x'] })).toEqual({
    labels: ['l'],
    annotations: ['x'],
  });
  expect(refused.without(node, { labels: ['l'], annotations: [LIST] })?.annotations).toEqual([LIST]);
});

test('nothing is left of a withdrawal of refused keys only', () => {
  const { refused } = started();
  expect(refused.without(node, { labels: ['k'], annotations: [] })).toBeUndefined();
  expect(refused.without(node, undefined)).toBeUndefined();
});

test('a refused key is tried again after a while, and is said to be due once', async () => {
  const { clock, refused } = started();
  await clock.advance(REFUSED_FOR_MS - 1);
  expect(refused.dueInMs('n')).toBe(1);
  expect(refused.without(node, { labels: ['k'], annotations: [] })).toBeUndefined();
  await clock.advance(1);
  expect(refused.dueInMs('n')).toBe(0);
  expect(refused.dueInMs('n')).toBeUndefined();
  expect(refused.without(node, { labels: ['k'], annotations: [] })).toEqual({ labels: ['k'], annotations: [] });
});

test('no key is tried again while more are found', async () => {
  const { clock, refused } = started();
  await clock.advance(REFUSED_FOR_MS - 1);
  refused.add(node, [{ ...refusal, key: 'l' }]);
  await clock.advance(REFUSED_FOR_MS - 1);
  expect(refused.without(node, { labels: ['k', 'l'], annotations: [] })).toBeUndefined();
  await clock.advance(1);
  expect(refused.without(node, { labels: ['k', 'l'], annotations: [] })).toBeDefined();
});

test('another node of the same name has nothing to do with it', () => {
  const { refused } = started();
  expect(refused.without({ name: 'n', uid: 'w' }, { labels: ['k'], annotations: [] })).toBeDefined();
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
