import { POOL_LABELS_MAX } from '@rollcall/common/pool-labels.ts';
import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { keysOn, LISTED_KEYS_MAX, listedOf } from './node-keys.ts';
import { SERVICES_MAX } from './services/budgets.ts';

function listing(count: number) {
  const ids = Array.from({ length: count }, (_, index) => [`label:a${index}`, 'rule']);
  return { annotations: { [KEYS_ANNOTATION]: JSON.stringify(Object.fromEntries(ids)) } };
}

test('a list that is longer than any of rollcall’s counts as empty', () => {
  expect(keysOn(listing(LISTED_KEYS_MAX)).size).toBe(LISTED_KEYS_MAX);
  expect(listedOf(listing(LISTED_KEYS_MAX + 1), 'label')).toEqual(new Set());
});

test('what pools and NodeServices may set together leaves room in a list for rules, devices and facts', () => {
  expect(POOL_LABELS_MAX + 3 * SERVICES_MAX).toBeLessThan(LISTED_KEYS_MAX - 1400);
});
