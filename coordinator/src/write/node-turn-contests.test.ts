import { expect, test } from 'vitest';
import type { ConditionChange } from '../decide/intent/plan.ts';
import { NODE, started } from './node-turn.test-fixtures.ts';
import { ADMISSION } from './skipped-keys.ts';
import { withdrawal } from './write-queue.test-fixtures.ts';

/** What a turn makes of keys that do not stay as they are written. */

const managedFields = [{ manager: 'argo', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:ready': {} } } } }];

test('a label that is put back each time waits from the fourth write on, and its rival is read and told once', async () => {
  const { newTurn, written, contests, reads, skipped } = started({ withdrawal }, { isLagging: true, managedFields });
  for (let count = 0; count < 8; count += 1) expect(await newTurn().run()).toEqual({ kind: 'holds' });
  expect(written).toEqual(['withdraw', 'withdraw', 'withdraw', 'withdraw']);
  expect(contests).toEqual([[{ kind: 'label', key: 'ready', wanted: undefined, rival: 'argo' }]]);
  const key = { kind: 'label', key: 'ready', cause: 'contested', wanted: undefined, rival: 'argo', nextTryMs: 1000 };
  expect(skipped.keysFor('n')).toMatchObject([key]);
  expect(reads()).toBe(1);
});

test('a rival that cannot be read is told as unknown', async () => {
  const { newTurn, contests } = started({ withdrawal }, { isLagging: true });
  for (let count = 0; count < 5; count += 1) await newTurn().run();
  expect(contests).toMatchObject([[{ key: 'ready', rival: 'a writer that managedFields does not name' }]]);
});

test('a key that the answer does not show as it was written is told with admission as its rival, for no request', async () => {
  const set = { labels: { a: '1', b: '1' }, annotations: {}, force: false };
  const { turn, contests, reads } = started({ set }, { managedFields });
  await turn.run();
  expect(contests).toMatchObject([[{ kind: 'label', key: 'b', wanted: '1', rival: ADMISSION }]]);
  expect(reads()).toBe(0);
});

test('only keys that are newly contested are told, also where a label and an annotation have the same name', async () => {
  const { newTurn, replan, contests } = started({ set: { labels: { b: '1' }, annotations: {}, force: false } });
  await newTurn().run();
  replan({ set: { labels: {}, annotations: { b: 'x', c: 'x' }, force: false } });
  await newTurn().run();
  expect(contests.map((keys) => keys.map(({ kind, key }) => `${kind} ${key}`))).toEqual([
    ['label b'],
    ['annotation b', 'annotation c'],
  ]);
});

test('a condition that comes back each time waits, and no request is sent for none', async () => {
  const conditions: ConditionChange = { write: 'remove', conditions: [{ type: 'c', index: 0 }] };
  const { turn, written } = started({ conditions }, { isLagging: true });
  expect(await turn.run()).toEqual({ kind: 'holds' });
  expect(written).toEqual(['conditions', 'conditions', 'conditions', 'conditions']);
});

test('a label that is let go of is no longer remembered as written', async () => {
  const seen = {
    ...NODE,
    labels: { k: '1' },
    annotations: {},
    owned: { labels: new Set(['k']), annotations: new Set<string>() },
  };
  const nothing = { labels: {}, annotations: {}, force: false };
  const { turn, skipped } = started({ set: nothing }, { seen });
  skipped.wrote(NODE, [{ kind: 'label', key: 'k', wanted: '1', held: true, keepsAway: false }]);
  await turn.run();
  expect(skipped.remembered).toBe(0);
});

test('who may not write makes no plan', async () => {
  const { turn, written, planned } = started({ withdrawal }, { mayBegin: false });
  expect(await turn.run()).toEqual({ kind: 'dropped' });
  expect([written, planned()]).toEqual([[], 0]);
});
