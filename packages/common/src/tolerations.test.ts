import { expect, test } from 'vitest';
import { type Toleration, tolerates } from './tolerations.ts';

const TAINT = { key: 'a', value: 'x', effect: 'NoSchedule' } as const;

test.each<[Toleration, boolean]>([
  [{ operator: 'Exists' }, true],
  [{ operator: 'Exists', effect: 'NoSchedule' }, true],
  [{ operator: 'Exists', effect: 'NoExecute' }, false],
  [{ key: 'a', operator: 'Exists' }, true],
  [{ key: 'b', operator: 'Exists' }, false],
  [{ key: 'a', value: 'x' }, true],
  [{ key: 'a', operator: 'Equal', value: 'y' }, false],
  [{ key: 'a' }, false],
  [{}, false],
  [{ key: 'a', operator: 'Lt', value: '3' }, false],
])('%j', (toleration, expected) => {
  expect(tolerates([toleration], TAINT)).toBe(expected);
});

test.each<[string, string, string, boolean]>([
  ['Lt', '3', '2', true],
  ['Lt', '3', '3', false],
  ['Gt', '-3', '2', true],
  ['Gt', '3', '3', false],
  ['Gt', '3', 'x', false],
  ['Lt', 'x', '1', false],
])('%s %s of the value %s', (operator, value, has, expected) => {
  expect(tolerates([{ key: 'a', operator, value }], { ...TAINT, value: has })).toBe(expected);
});
