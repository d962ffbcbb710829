import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doubtAfter, NO_METADATA, type NodeMetadata, nodeChange } from './node-change.ts';
import { applyChange, metadata } from './notify.test-fixtures.ts';

describe('a message', () => {
  test('has everything as added of a node that was never seen (M-2)', () => {
    const now = { labels: { a: '1', b: '' }, annotations: { c: '{"x":"ü"}' } };
    expect(nodeChange('n', NO_METADATA, now)).toEqual({
      node: 'n',
      labelsAdded: { a: '1', b: '' },
      labelsDeleted: [],
      labelsUpdated: {},
      annotationsAdded: { c: '{"x":"ü"}' },
      annotationsDeleted: [],
      annotationsUpdated: {},
    });
  });

  test('says what came, what went and what is another, each on its own, with all fields there (M-1)', () => {
    const told = { labels: { same: '1', other: '1', gone: '1' }, annotations: { same: '1', other: '1', gone: '1' } };
    const now = { labels: { same: '1', other: '2', new: '1' }, annotations: { same: '1', other: '', new: '1' } };
    expect(JSON.parse(JSON.stringify(nodeChange('n', told, now)))).toEqual({
      node: 'n',
      labelsAdded: { new: '1' },
      labelsDeleted: ['gone'],
      labelsUpdated: { other: '2' },
      annotationsAdded: { new: '1' },
      annotationsDeleted: ['gone'],
      annotationsUpdated: { other: '' },
    });
  });

  test('is none where nothing differs, in whatever order it stands (M-3)', () => {
    expect(nodeChange('n', metadata({ a: '1', b: '2' }), metadata({ b: '2', a: '1' }))).toBeUndefined();
    expect(nodeChange('n', NO_METADATA, metadata({}))).toBeUndefined();
  });

  test('takes keys for keys that every object seems to have', () => {
    expect(nodeChange('n', NO_METADATA, metadata({ constructor: 'x' }))?.labelsAdded).toEqual({ constructor: 'x' });
    expect(nodeChange('n', metadata({ constructor: 'x' }), NO_METADATA)?.labelsDeleted).toEqual(['constructor']);
  });

  test('settles what is in doubt, also where it is as it was', () => {
    const told = metadata({ a: '1', b: '1' });
    const lost = nodeChange('n', told, metadata({ a: '2', c: '1' }));
    const doubt = lost && doubtAfter(lost);
    expect(doubt).toEqual({ labels: ['c', 'a', 'b'], annotations: [] });
    expect(nodeChange('n', told, told, doubt)).toMatchObject({
      labelsAdded: {},
      labelsUpdated: { a: '1', b: '1' },
      labelsDeleted: ['c'],
    });
  });

  test('settles a single key that is in doubt, although nothing else was seen since', () => {
    const told = metadata({ a: '1' });
    expect(nodeChange('n', told, told, { labels: ['a'], annotations: [] })).toMatchObject({
      labelsUpdated: { a: '1' },
    });
    expect(nodeChange('n', told, told, { labels: ['b'], annotations: [] })).toMatchObject({ labelsDeleted: ['b'] });
  });

  test('keeps no more than a thousand keys in doubt', () => {
    const many = metadata(Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`k${index}`, ''])));
    const change = nodeChange('n', NO_METADATA, many);
    expect(change && doubtAfter(change).labels).toHaveLength(1000);
  });
});

const values = fc.dictionary(fc.constantFrom('a', 'b', 'constructor', 'x/y'), fc.constantFrom('', '1', '2'), {
  noNullPrototype: true,
});
const anyMetadata: fc.Arbitrary<NodeMetadata> = fc.record({ labels: values, annotations: values });

test('a message makes what is now out of what was told, whether or not lost ones were heard', () => {
  fc.assert(
    fc.property(anyMetadata, fc.array(fc.tuple(anyMetadata, fc.boolean())), anyMetadata, (told, lost, now) => {
      let receiver = told;
      let doubt: ReturnType<typeof doubtAfter> = { labels: [], annotations: [] };
      for (const [meanwhile, heard] of lost) {
        const change = nodeChange('n', told, meanwhile, doubt);
        if (!change) continue;
        if (heard) receiver = applyChange(receiver, change);
        doubt = doubtAfter(change);
      }
      const change = nodeChange('n', told, now, doubt);
      expect(change ? applyChange(receiver, change) : receiver).toEqual(now);
    }),
  );
});
