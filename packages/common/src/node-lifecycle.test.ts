import { expect, test } from 'vitest';
import { isDisturbed, LIFECYCLE_CONDITIONS } from './node-lifecycle.ts';

test('a node is disturbed by every lifecycle condition but a plan', () => {
  expect(LIFECYCLE_CONDITIONS.filter((type) => !isDisturbed([type]))).toEqual(['MaintenancePlanned']);
  expect(isDisturbed(['MaintenancePlanned', 'DrainInProgress'])).toBe(true);
  expect(isDisturbed([])).toBe(false);
});
