import { expect, test } from 'vitest';
import { nodeRecord } from '../../state/node-record.test-fixtures.ts';
import type { ObservedNode } from '../../state/observed-node.ts';
import { type Change, ChangeLog, changesBetween } from './changes.ts';
import { mergeClaims } from './intent.ts';
import { valueOn } from './kinds/kinds.ts';
import { claim, observed } from './plan-node.test-fixtures.ts';

const NODE: ObservedNode = {
  ...observed({ l: 'true' }),
  annotations: { a: 'x' },
  taints: [
    { key: 't', value: 'v', effect: 'NoSchedule' },
    { key: 'bare', effect: 'NoExecute' },
  ],
  conditions: [{ type: 'c', status: 'Unknown', reason: '', message: '', lastTransitionTime: '', index: 0 }],
};

test.each([
  ['label', 'l', 'true'],
  ['annotation', 'a', 'x'],
  ['taint', 't', 'v:NoSchedule'],
  ['taint', 'bare', ':NoExecute'],
  ['condition', 'c', 'Unknown'],
  ['label', 'a', undefined],
  ['annotation', 'l', undefined],
  ['taint', 'l', undefined],
  ['condition', 'l', undefined],
] as const)('the value of a %s %s is %j', (kind, key, value) => {
  expect(valueOn(NODE, { kind, key })).toBe(value);
});

test('a change is of a key that labelers speak about, and differs', () => {
  const intent = mergeClaims([claim({ key: 'l', reason: 'why' }), claim({ key: 'same' })]);
  const after = { ...NODE, labels: { l: 'false', other: 'new' } };
  expect(changesBetween(NODE, after, intent)).toEqual([
    { kind: 'label', key: 'l', from: 'true', to: 'false', reason: 'why' },
  ]);
});

function change(key: string): Change {
  return { kind: 'label', key, from: undefined, to: 'true', reason: '' };
}

test('the log keeps the last ten changes of a Node, each with its time', () => {
  const log = new ChangeLog();
  const record = nodeRecord();
  expect(log.of(record)).toEqual([]);
  log.add(record, [change('first')], 1);
  expect(log.of(record)).toEqual([{ ...change('first'), atMs: 1 }]);
  log.add(record, [], 2);
  for (let index = 0; index < 10; index += 1) log.add(record, [change(`k${index}`)], 3);
  expect(log.of(record).map(({ key }) => key)).toEqual(Array.from({ length: 10 }, (_, index) => `k${index}`));
  expect(log.of(nodeRecord())).toEqual([]);
});

test('the log keeps the changes of the 5,000 Nodes that changed last', () => {
  const log = new ChangeLog();
  const records = Array.from({ length: 5000 }, () => nodeRecord());
  const [first, second, third] = records;
  if (!first || !second || !third) throw new Error('there are 5,000');
  for (const record of records) log.add(record, [change('k')], 1);
  // It is the last now, and stays.
  log.add(first, [change('again')], 2);
  expect(log.of(second)).toHaveLength(1);
  log.add(nodeRecord(), [change('k')], 3);
  expect([log.of(first), log.of(second), log.of(third)].map(({ length }) => length)).toEqual([2, 0, 1]);
  log.add(nodeRecord(), [change('k')], 4);
  expect(log.of(third)).toEqual([]);
});
