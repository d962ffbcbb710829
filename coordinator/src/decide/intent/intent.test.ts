import { describe, expect, test } from 'vitest';
import { mergeClaims } from './intent.ts';
import { claim } from './plan-node.test-fixtures.ts';

/** The stance and ownership that come of two claims, whichever is made first. */
function merged(...claims: Parameters<typeof claim>[0][]): unknown[] {
  const named = claims.map(claim);
  return [named, named.toReversed()].map((each) => {
    const entry = mergeClaims(each).get('label:k');
    return entry && [entry.stance, entry.ownership, entry.labeler, entry.overruled.map(({ labeler }) => labeler)];
  });
}

describe('of two claims to a key', () => {
  // The names would decide for the other.
  test.each([
    ['present', 'keep'],
    ['present', 'absent'],
    ['keep', 'absent'],
  ] as const)('%s counts more than %s', (strong, weak) => {
    const result = [strong, 'exclusive', 'b', ['a']];
    expect(merged({ stance: strong, labeler: 'b' }, { stance: weak, labeler: 'a' })).toEqual([result, result]);
  });

  test.each([
    ['exclusive', 'forced'],
    ['exclusive', 'shared'],
    ['forced', 'shared'],
  ] as const)('of one stance, the one that is %s counts more than the one that is %s', (far, near) => {
    const result = ['present', far, 'b', []];
    expect(merged({ ownership: far, labeler: 'b' }, { ownership: near, labeler: 'a' })).toEqual([result, result]);
  });

  test('that are alike, the first by labeler, value and reason counts', () => {
    const last = { labeler: 'b', value: 'x', reason: 'y' };
    for (const first of [
      { ...last, labeler: 'a' },
      { ...last, value: 'w' },
      { ...last, reason: 'x' },
    ]) {
      for (const claims of [[first, last].map(claim), [last, first].map(claim)]) {
        expect(mergeClaims(claims).get('label:k')).toMatchObject(first);
      }
    }
  });

  test('the other is not overruled where it asks for the same', () => {
    const result = ['present', 'exclusive', 'a', []];
    expect(merged({ labeler: 'b' }, { labeler: 'a' })).toEqual([result, result]);
  });
});

test('one claim overrules none, and another key is another entry', () => {
  const intent = mergeClaims([claim(), claim({ key: 'other', value: 'x' }), claim({ kind: 'taint', value: 'x' })]);
  expect([...intent].map(([id, { value, overruled }]) => [id, value, overruled])).toEqual([
    ['label:k', 'true', []],
    ['label:other', 'x', []],
    ['taint:k', 'x', []],
  ]);
});
