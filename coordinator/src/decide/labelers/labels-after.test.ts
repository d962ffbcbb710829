import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { type LabelWishes, labelsAfter } from './labeler.ts';

const OURS = new Set(['ours', 'both']);

/** The labels afterwards of a node that has one label of ours, one of another writer, and one of both. */
function after(
  wishes: Record<string, [stance: 'present' | 'keep' | 'absent', ownership: 'exclusive' | 'forced' | 'shared']>,
) {
  const labels = { ours: '1', theirs: '1', both: '1' };
  const seen = snapshot({ labels, ownedLabels: OURS, sharedLabels: new Set(['both']) });
  const asked: LabelWishes = new Map(
    Object.entries(wishes).map(([key, [stance, ownership]]) => [key, { stance, ownership, value: '2' }]),
  );
  return { ...labelsAfter({ ...seen, readiness: new Map(), ageMs: 0 }, asked) };
}

const all = (...wish: ['present' | 'keep' | 'absent', 'exclusive' | 'forced' | 'shared']) =>
  after({ ours: wish, theirs: wish, both: wish, absent: wish });

test('a label that only rollcall applied goes where no labeler claims it, and one that others applied stays', () => {
  expect(after({})).toEqual({ theirs: '1', both: '1' });
});

test('what is held stays as it is, there or not', () => {
  expect(all('keep', 'exclusive')).toEqual({ ours: '1', theirs: '1', both: '1' });
});

test('a withheld label goes unless others applied it, or goes anyway if it is exclusive', () => {
  expect(all('absent', 'shared')).toEqual({ theirs: '1', both: '1' });
  expect(all('absent', 'forced')).toEqual({ theirs: '1', both: '1' });
  expect(all('absent', 'exclusive')).toEqual({});
});

test('a wanted label comes, but does not change a label of others unless it is set by force', () => {
  expect(all('present', 'shared')).toEqual({ ours: '2', theirs: '1', both: '2', absent: '2' });
  expect(all('present', 'forced')).toEqual({ ours: '2', theirs: '2', both: '2', absent: '2' });
  expect(all('present', 'exclusive')).toEqual({ ours: '2', theirs: '2', both: '2', absent: '2' });
});
