import { expect, test } from 'vitest';
import { type Claimant, ownerOf } from './key-owner.ts';

const claimant = (name: string, createdAtMs: number, isOnNodes = false): Claimant => ({ name, createdAtMs, isOnNodes });

test.each<[string, Claimant[], string]>([
  ['the one that has it on Nodes', [claimant('old', 1), claimant('young', 2, true)], 'young'],
  ['the oldest, where it is on no Node', [claimant('young', 2), claimant('old', 1)], 'old'],
  ['the oldest, where several have it on Nodes', [claimant('young', 2, true), claimant('old', 1, true)], 'old'],
  ['the first by name, of one age', [claimant('b', 1), claimant('a', 1)], 'a'],
  ['an object, before a rule', [claimant('rule a', Number.POSITIVE_INFINITY), claimant('z', 9e15)], 'z'],
  ['a rule that has it on Nodes', [claimant('rule a', Number.POSITIVE_INFINITY, true), claimant('z', 1)], 'rule a'],
])('a key belongs to %s', (_what, claimants, owner) => {
  expect(ownerOf(claimants)?.name).toBe(owner);
  expect(ownerOf(claimants.toReversed())?.name).toBe(owner);
});

test('a key without a claimant has no owner', () => {
  expect(ownerOf([])).toBeUndefined();
});
