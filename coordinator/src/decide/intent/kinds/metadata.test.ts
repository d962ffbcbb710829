import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import type { SeenNode } from './kind.ts';
import { keepingIn, keysOfSet, restrictSet, valueIn, withdrawWrite } from './metadata.ts';

const SET = { labels: { a: '1', b: '2' }, annotations: { note: 'x' }, force: true };

function seen(change: Partial<SeenNode>): SeenNode {
  const owned = { labels: new Set<string>(), annotations: new Set<string>() };
  return { name: 'n', uid: 'u', labels: {}, annotations: {}, owned, ...change };
}

const label = (key: string) => ({ kind: 'label', key }) as const;
const annotation = (key: string) => ({ kind: 'annotation', key }) as const;

test('the keys of a set, and of a withdrawal, are its labels and then its annotations', () => {
  const refs = [label('a'), label('b'), annotation('note')];
  expect(keysOfSet(SET)).toEqual(refs);
  const keys = { labels: ['a', 'b'], annotations: ['note'] };
  expect(withdrawWrite.suspects({ write: 'withdraw', keys }, undefined)).toEqual(refs);
});

test('a value is of its map, and of nothing that every object has', () => {
  expect([valueIn(SET, label('a')), valueIn(SET, annotation('note'))]).toEqual(['1', 'x']);
  expect([valueIn(SET, label('note')), valueIn(SET, annotation('a')), valueIn(SET, label('toString'))]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

describe('a restricted set', () => {
  test('has the keys that were picked, and is as forceful', () => {
    expect(restrictSet(SET, [label('a')], undefined)).toEqual({ labels: { a: '1' }, annotations: {}, force: true });
    expect(restrictSet({ ...SET, force: false }, [annotation('note')], undefined)).toEqual({
      labels: {},
      annotations: { note: 'x' },
      force: false,
    });
  });

  test('has what is ours of the others as it is on the Node', () => {
    const owned = { labels: new Set(['b']), annotations: new Set(['note']) };
    const node = seen({ labels: { a: 'theirs', b: 'old' }, annotations: { note: 'old' }, owned });
    expect(restrictSet(SET, [], node)).toEqual({ labels: { b: 'old' }, annotations: { note: 'old' }, force: true });
  });

  test('has nothing that is ours and gone', () => {
    const owned = { labels: new Set(['a']), annotations: new Set<string>() };
    expect(restrictSet(SET, [], seen({ owned }))).toEqual({ labels: {}, annotations: {}, force: true });
  });
});

describe('a list of labels', () => {
  const LIST = MANAGED_LABELS_ANNOTATION;
  const set = { labels: { a: '1', b: '2' }, annotations: { [LIST]: '["a","b"]' }, force: false };
  const listOf = (refs: Parameters<typeof restrictSet>[1], node: SeenNode | undefined) =>
    restrictSet(set, refs, node).annotations[LIST];

  test('that was picked names none that is left out', () => {
    expect(listOf([label('a'), label('b'), annotation(LIST)], undefined)).toBe('["a","b"]');
    expect(listOf([label('a'), annotation(LIST)], undefined)).toBe('["a"]');
  });

  test('goes where nothing is left of it', () => {
    expect(listOf([annotation(LIST)], undefined)).toBeUndefined();
    expect(restrictSet(set, [annotation(LIST)], undefined).annotations).toStrictEqual({});
  });

  test('names what it named before, where that is there', () => {
    const node = seen({ labels: { b: 'x' }, annotations: { [LIST]: '["b","gone"]' } });
    expect(listOf([label('a'), annotation(LIST)], node)).toBe('["a","b"]');
  });

  test('of which nothing is left stays as it was, where it is ours', () => {
    const owned = { labels: new Set<string>(), annotations: new Set([LIST]) };
    expect(listOf([annotation(LIST)], seen({ annotations: { [LIST]: '["c"]' }, owned }))).toBe('["c"]');
  });

  test('that was not picked stays as it was, where it is ours', () => {
    const owned = { labels: new Set<string>(), annotations: new Set([LIST]) };
    expect(listOf([label('a')], seen({ annotations: { [LIST]: '["c"]' }, owned }))).toBe('["c"]');
  });
});

describe('what a set would let go of', () => {
  const node = seen({
    labels: { a: '1', gone: 'old', theirs: 'x' },
    annotations: { [MANAGED_LABELS_ANNOTATION]: '["gone"]' },
    owned: { labels: new Set(['a', 'gone']), annotations: new Set([MANAGED_LABELS_ANNOTATION]) },
  });
  const bare = { labels: { a: '1' }, annotations: {}, force: false };

  test('is kept as it is, and listed as it was', () => {
    const kept = keepingIn(bare, [label('gone'), label('theirs'), label('a')], node);
    expect(kept).toStrictEqual({
      labels: { a: '1', gone: 'old' },
      annotations: { [MANAGED_LABELS_ANNOTATION]: '["gone"]' },
      force: false,
    });
    expect(keepingIn(bare, [], node)).toEqual(bare);
  });

  test('is kept in its list beside nothing that goes, also where the list itself is to be kept', () => {
    const more = { ...node.labels, also: 'old' };
    const listing = seen({ ...node, labels: more, annotations: { [MANAGED_LABELS_ANNOTATION]: '["gone","also"]' } });
    const kept = keepingIn(bare, [label('gone'), annotation(MANAGED_LABELS_ANNOTATION)], listing);
    expect(kept.annotations).toEqual({ [MANAGED_LABELS_ANNOTATION]: '["gone"]' });
  });

  test('is not kept where it is only to be another', () => {
    expect(keepingIn({ ...bare, labels: { a: '2' } }, [label('a')], node).labels).toEqual({ a: '2' });
  });
});
