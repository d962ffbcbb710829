import { expect, test } from 'vitest';
import type { Claim, JudgedNode } from '../labelers/labeler.ts';
import { AT_ONCE, BlastRadius } from './blast-radius.ts';
import { delayClaims } from './delay-claims.ts';

const LIST = 'list';
const now = { monotonicMs: 1000, wallMs: 1_700_000_000_000 };

function label(key: string, stance: Claim['stance'], more: Partial<Claim> = {}): Claim {
  return { kind: 'label', key, value: 'v', stance, ownership: 'exclusive', reason: 'r', ...more };
}

function listOf(value: string): Claim {
  return { ...label(LIST, value === '' ? 'withhold' : 'want'), kind: 'annotation', value };
}

const node = { name: 'n', labels: { a: '1', b: '2' } } as unknown as JudgedNode;

/** As `key stance value`, by a guard that lets no label go any more. */
function delayed(claims: readonly Claim[]): string[] {
  const guard = new BlastRadius(60_000);
  for (let i = 0; i < AT_ONCE; i += 1) {
    for (const key of ['a', 'b', 'c']) guard.holdsUntilMs(`other-${i}`, key, 'set', now.monotonicMs);
  }
  const kept = delayClaims(claims, node, { list: LIST, guard, now });
  return kept.map(({ key, stance, value }) => `${key} ${stance} ${value}`);
}

test('a label that stays is held with the value that it has, and stays listed beside those that are wanted', () => {
  const claims = [label('a', 'withhold', { configuredBy: 'set' }), label('z', 'want'), listOf('["z"]')];
  expect(delayed(claims)).toEqual(['a hold 1', 'z want v', 'list want ["a","z"]']);
});

test('the list stays where nothing else is on it', () => {
  const claims = [label('a', 'withhold', { configuredBy: 'set' }), listOf('')];
  expect(delayed(claims)).toEqual(['a hold 1', 'list want ["a"]']);
});

test('what goes by what the node is, or is not there, is as it was', () => {
  const claims = [label('a', 'withhold'), label('c', 'withhold', { configuredBy: 'set' }), listOf('')];
  expect(delayed(claims)).toEqual(['a withhold v', 'c withhold v', 'list withhold ']);
});

test('what is no label is as it was, whatever its key', () => {
  const taint: Claim = { ...label('a', 'withhold', { configuredBy: 'set' }), kind: 'taint' };
  expect(delayed([taint, listOf('')])).toEqual(['a withhold v', 'list withhold ']);
});

test('a label that may go at once goes', () => {
  const going = [label('a', 'withhold', { configuredBy: 'set' }), listOf('')];
  expect(delayClaims(going, node, { list: LIST, guard: new BlastRadius(60_000), now })).toEqual(going);
});

test('a label that is asked for again is not held any more', () => {
  const guard = new BlastRadius(60_000);
  for (let i = 0; i < AT_ONCE; i += 1) guard.holdsUntilMs(`other-${i}`, 'a', 'set', now.monotonicMs);
  const delay = (claim: Claim) => delayClaims([claim], node, { list: LIST, guard, now });
  delay(label('a', 'withhold', { configuredBy: 'set' }));
  expect(guard.held()).toHaveLength(1);
  delay(label('a', 'want'));
  expect(guard.held()).toEqual([]);
});

test('no other annotation lists what stays', () => {
  const note: Claim = { ...listOf('["z"]'), key: 'note' };
  const claims = [label('a', 'withhold', { configuredBy: 'set' }), note, listOf('')];
  expect(delayed(claims)).toEqual(['a hold 1', 'note want ["z"]', 'list want ["a"]']);
});

test('the reason says until when', () => {
  const guard = new BlastRadius(60_000);
  for (let i = 0; i < AT_ONCE; i += 1) guard.holdsUntilMs(`other-${i}`, 'a', 'set', now.monotonicMs);
  const [claim] = delayClaims([label('a', 'withhold', { configuredBy: 'set' })], node, { list: LIST, guard, now });
  expect(claim?.reason).toMatch(/^r; stays until 2023-11-14T22:14:20\S*, since many nodes would lose it at once$/);
});
