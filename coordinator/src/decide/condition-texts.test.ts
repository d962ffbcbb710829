import { expect, test } from 'vitest';
import type { NodeRecord } from '../state/node-record.ts';
import { ConditionTexts } from './condition-texts.ts';

test('texts of a node change at most once in ten seconds, and the node is looked at again then, once', () => {
  const texts = new ConditionTexts();
  const [record, ended] = ['n', 'gone'].map((name) => ({ name, ended: name === 'gone' }) as NodeRecord);
  if (!record || !ended) throw new Error('no records');
  expect(texts.isDue(record, 0)).toBe(true);
  texts.wrote(record, 1000);
  texts.wrote(ended, 1000);
  expect([texts.isDue(record, 10_999), texts.tick(10_999)]).toEqual([false, []]);
  expect([texts.isDue(record, 11_000), texts.tick(11_000), texts.tick(11_000)]).toEqual([true, ['n'], []]);
});
