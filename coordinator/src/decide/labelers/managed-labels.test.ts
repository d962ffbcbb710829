import { expect, test } from 'vitest';
import { formatManagedLabels, parseManagedLabels } from './pool-keys.ts';

test('keys are written sorted, and read in any order and with spaces', () => {
  expect(formatManagedLabels(['team', 'environment'])).toBe('["environment","team"]');
  expect(parseManagedLabels(' [ "team", "environment", "team" ]')).toEqual(new Set(['environment', 'team']));
});

test('no annotation, and an empty list, say that nothing is managed', () => {
  expect(parseManagedLabels(undefined)).toEqual(new Set());
  expect(parseManagedLabels('[]')).toEqual(new Set());
});

test.each(['', 'team', '["team"', '{"team":"x"}', 'null', '"team"', '[1]', '["team",null]', '[["team"]]'])(
  '%j does not tell what is managed',
  (text) => {
    expect(parseManagedLabels(text)).toBeUndefined();
  },
);
