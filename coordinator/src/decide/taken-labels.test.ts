import { expect, test } from 'vitest';
import { nodeRecord } from '../state/node-record.test-fixtures.ts';
import { observed } from './intent/plan-node.test-fixtures.ts';
import { TakenLabels } from './taken-labels.ts';

const had = observed({ a: 'gold', b: 'true', kept: 'true', ignored: 'true', configured: 'true' });
const has = observed({ kept: 'true' });
const n = nodeRecord();

function taken(): TakenLabels {
  const labels = new TakenLabels(({ label, cause }) => label === 'ignored' || cause === 'configuration');
  const causes = new Map([
    ['a', 'evidence'],
    ['configured', 'configuration'],
  ] as const);
  const keys = ['a', 'b', 'kept', 'ignored', 'configured', 'absent'];
  labels.took(n, { keys, causes, before: had, after: has });
  return labels;
}

test('a removed label is remembered with its value, unless no pod is evicted for it', () => {
  expect(taken().of(n)).toEqual({ a: 'gold', b: 'true' });
});

test('it is not remembered of another node, nor of this one in another term', () => {
  expect(taken().of(nodeRecord())).toBeUndefined();
});

test('of a removal that took nothing, nothing is remembered', () => {
  const labels = new TakenLabels(() => false);
  labels.took(n, { keys: ['kept', 'absent'], causes: new Map(), before: has, after: has });
  expect(labels.of(n)).toBeUndefined();
});

test('several removals add up', () => {
  const labels = taken();
  labels.took(n, { keys: ['kept'], causes: new Map(), before: has, after: observed({}) });
  expect(labels.of(n)).toEqual({ a: 'gold', b: 'true', kept: 'true' });
});

test('it is forgotten when it is noted, or is back, with the same value', () => {
  const labels = taken();
  labels.noted(n, { a: 'silver', b: 'true' });
  expect(labels.of(n)).toEqual({ a: 'gold' });
  labels.seen(n, observed({ a: 'silver' }));
  expect(labels.of(n)).toEqual({ a: 'gold' });
  labels.seen(n, had);
  expect(labels.of(n)).toBeUndefined();
});
