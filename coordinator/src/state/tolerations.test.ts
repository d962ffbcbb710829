import { expect, test } from 'vitest';
import type { Toleration } from '../kube/objects.ts';
import { tolerates } from './observed-pod.ts';

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
])('%j', (toleration, expected) => {
  expect(tolerates([toleration], TAINT)).toBe(expected);
});
