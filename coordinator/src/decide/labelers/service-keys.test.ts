import { SERVICE_KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { formatServiceKeys, parseServiceKeys, serviceKeysOn } from './service-keys.ts';

const NONE = { labels: new Set(), taints: new Set(), conditions: new Set() };

test('keys are written sorted and without kinds that have none, and read again', () => {
  const keys = { labels: new Set(['b', 'a']), taints: new Set<string>(), conditions: new Set(['c']) };
  const text = formatServiceKeys(keys);
  expect(text).toBe('{"labels":["a","b"],"conditions":["c"]}');
  expect(parseServiceKeys(text)).toEqual(keys);
});

test('without any key nothing is written, and nothing is read of what is absent', () => {
  expect(formatServiceKeys({ labels: new Set(), taints: new Set(), conditions: new Set() })).toBeUndefined();
  expect(parseServiceKeys(undefined)).toEqual(NONE);
  expect(parseServiceKeys('{}')).toEqual(NONE);
});

test('a kind that is not known is passed over', () => {
  expect(parseServiceKeys('{"taints":["t"],"moods":"good"}')).toEqual({ ...NONE, taints: new Set(['t']) });
});

test.each([
  '',
  'x',
  'null',
  '7',
  '[]',
  '{"labels":"a"}',
  '{"labels":[1]}',
  '{"taints":{}}',
  '{"taints":[null]}',
  '{"conditions":["c",1]}',
])('of %j nobody knows what it says, and a node with it has none', (text) => {
  expect(parseServiceKeys(text)).toBeUndefined();
  expect(serviceKeysOn({ annotations: { [SERVICE_KEYS_ANNOTATION]: text } })).toEqual(NONE);
});

test('a node says its keys in an annotation', () => {
  expect(serviceKeysOn({ annotations: { [SERVICE_KEYS_ANNOTATION]: '{"labels":["a"]}' } })).toEqual({
    ...NONE,
    labels: new Set(['a']),
  });
});
