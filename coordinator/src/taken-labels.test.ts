import { expect, test } from 'vitest';
import { observed } from './intent/plan-node.test-fixtures.ts';
import { TakenLabels } from './taken-labels.ts';

const had = observed({ a: 'gold', b: 'true', kept: 'true', ignored: 'true' });
const has = observed({ kept: 'true' });

function taken(): TakenLabels {
  const labels = new TakenLabels(new Set(['ignored']));
  labels.took(['a', 'b', 'kept', 'ignored', 'absent'], had, has);
  return labels;
}

test('what a removal took is remembered with its value, but for what nobody is evicted for', () => {
  expect(taken().of('n')).toEqual({ a: 'gold', b: 'true' });
  expect(taken().of('other')).toBeUndefined();
});

test('several removals add up', () => {
  const labels = taken();
  labels.took(['kept'], has, observed({}));
  expect(labels.of('n')).toEqual({ a: 'gold', b: 'true', kept: 'true' });
});

test('it is forgotten when it is noted, or is back, with the same value', () => {
  const labels = taken();
  labels.noted('n', { a: 'silver', b: 'true' });
  expect(labels.of('n')).toEqual({ a: 'gold' });
  labels.seen(observed({ a: 'silver' }));
  expect(labels.of('n')).toEqual({ a: 'gold' });
  labels.seen(had);
  expect(labels.of('n')).toBeUndefined();
});

test('it is forgotten with its node, and with the term', () => {
  const labels = taken();
  labels.forget('n');
  expect(labels.of('n')).toBeUndefined();
  const other = taken();
  other.clear();
  expect(other.of('n')).toBeUndefined();
});
