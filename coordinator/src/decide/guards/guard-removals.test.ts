import { expect, test } from 'vitest';
import type { Claim, EvaluatedNode } from '../labelers/labeler.ts';
import { AT_ONCE, BlastRadius, guardRemoval } from './blast-radius.ts';

const now = { monotonicMs: 1000, wallMs: 1_700_000_000_000 };

function leaving(change: Partial<Claim> = {}): Claim {
  const base = {
    kind: 'label',
    key: 'a',
    value: 'v',
    stance: 'absent',
    ownership: 'exclusive',
    reason: 'r',
  } as const;
  return { ...base, cause: 'configuration', ...change };
}

const node = {
  name: 'n',
  labels: { a: '1', b: '2', shared: '3' },
  ownedLabels: new Set(['b', 'shared']),
  sharedLabels: new Set(['shared']),
} as unknown as EvaluatedNode;

/** A guard that lets no further node lose these labels. */
function spent(object?: string): BlastRadius {
  const guard = new BlastRadius(60_000, () => []);
  for (let i = 0; i < AT_ONCE; i += 1) {
    for (const key of ['a', 'b', 'c', 'shared']) guard.record({ node: `other-${i}`, key, object }, now.monotonicMs);
  }
  return guard;
}

/** The entry as it is planned, and then written. */
function guarded(entry: Claim, guard = spent()): Claim {
  let recordIt: (() => void) | undefined;
  const after = guardRemoval(entry, node, { guard, now, note: (_key, record) => (recordIt = record) });
  recordIt?.();
  return after;
}

test('a label that many nodes would lose for what was configured stays with its value, and the reason names the end', () => {
  expect(guarded(leaving())).toMatchObject({ stance: 'keep', value: '1' });
  expect(guarded(leaving()).reason).toMatch(/^r; stays until 2023-11-14T22:14:20\S*, since many nodes would lose it/);
  expect(guarded(leaving({ key: 'b', ownership: 'shared' }))).toMatchObject({ stance: 'keep', value: '2' });
});

test.each<[string, Partial<Claim>]>([
  ['that leaves for what was seen', { cause: 'evidence' }],
  ['that leaves for silence', { cause: 'silence' }],
  ['that is not there', { key: 'c' }],
  ['that others applied as well', { key: 'shared', ownership: 'shared' }],
  ['that rollcall did not apply', { ownership: 'forced' }],
])('a label %s is as it was', (_what, change) => {
  const entry = leaving(change);
  expect(guarded(entry)).toBe(entry);
});

test('a taint and a condition never wait', () => {
  for (const kind of ['taint', 'condition'] as const)
    expect(guarded(leaving({ kind }))).toMatchObject({ stance: 'absent' });
});

test('a label that may go at once goes', () => {
  const entry = leaving();
  expect(guarded(entry, new BlastRadius(60_000, () => []))).toBe(entry);
});

test('what leaves by evidence counts as configured while its rule has just been changed with others', () => {
  const guard = spent('rule a');
  const entry = leaving({ cause: 'evidence', object: 'rule a' });
  expect(guarded(entry, guard)).toBe(entry);
  guard.changed(['rule a', 'rule b'], now.monotonicMs);
  expect(guarded(entry, guard)).toMatchObject({ stance: 'keep' });
});

test('a label that is asked for again is not held any more', () => {
  const guard = spent();
  guarded(leaving(), guard);
  expect(guard.held(now.monotonicMs)).toHaveLength(1);
  guarded(leaving({ stance: 'present' }), guard);
  expect(guard.held(now.monotonicMs)).toEqual([]);
});

test('a label that waits waits on while it is not known whether it is wanted, until its delay is over', () => {
  const guard = spent();
  guarded(leaving(), guard);
  const untilMs = guard.heldUntilMs({ node: 'n', key: 'a', object: undefined }, now.monotonicMs);
  guarded(leaving({ stance: 'keep' }), guard);
  guarded(leaving(), guard);
  expect(guard.held(now.monotonicMs)).toHaveLength(1);
  expect(guard.heldUntilMs({ node: 'n', key: 'a', object: undefined }, now.monotonicMs + 1000)).toBe(untilMs);
});

test.each<[string, Partial<Claim>]>([
  ['leaves by evidence', { cause: 'evidence' }],
  ['is applied by others as well', { ownership: 'forced' }],
])('a held label that now %s is not held any more', (_what, change) => {
  const guard = spent();
  guarded(leaving(), guard);
  guarded(leaving(change), guard);
  expect(guard.held(now.monotonicMs)).toEqual([]);
});

test.each<[string, Partial<Claim>, boolean]>([
  ['is to be there has it back', { stance: 'present' }, true],
  ['is kept and is there has it back', { stance: 'keep' }, true],
  ['is kept and is not there still counts', { stance: 'keep', key: 'c' }, false],
])('a node whose lost label %s', (_what, change, isBack) => {
  const guard = new BlastRadius(60_000, () => []);
  const key = change.key ?? 'a';
  guard.record({ node: 'n', key, object: undefined }, now.monotonicMs);
  for (let i = 1; i < AT_ONCE; i += 1) guard.record({ node: `other-${i}`, key, object: undefined }, now.monotonicMs);
  guarded(leaving(change), guard);
  const isHeld = guard.heldUntilMs({ node: 'another', key, object: undefined }, now.monotonicMs) !== undefined;
  expect(isHeld).toBe(!isBack);
});
