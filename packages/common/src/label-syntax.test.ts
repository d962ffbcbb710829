import { describe, expect, test } from 'vitest';
import { isAnnotationKey, isLabelKey, isLabelValue } from './label-syntax.ts';

describe('a label key', () => {
  test.each(['a', 'A1', 'a-b_c.d', 'example.com/a', 'a/B', `${'x'.repeat(253)}/a`, 'x'.repeat(63), 'x.y-z.io/9'])(
    'may be %s',
    (key) => {
      expect(isLabelKey(key)).toBe(true);
    },
  );

  test.each([
    '',
    '/',
    'a/',
    '/a',
    'a/b/c',
    '-a',
    'a-',
    'a b',
    'a!',
    'ä',
    'A.io/b',
    '-a.io/b',
    'a..io/b',
    'a_b/c',
    `${'x'.repeat(254)}/a`,
    'x'.repeat(64),
    'a\n',
  ])('may not be %j', (key) => {
    expect(isLabelKey(key)).toBe(false);
  });
});

test('an annotation key may have an upper-case prefix', () => {
  expect(isAnnotationKey('Example.com/Key')).toBe(true);
  expect(isAnnotationKey('a b')).toBe(false);
});

describe('a label value', () => {
  test.each(['', 'a', 'true', 'A.b-c_9', 'x'.repeat(63)])('may be %j', (value) => {
    expect(isLabelValue(value)).toBe(true);
  });

  test.each(['-a', 'a-', 'a b', '.', 'a/b', 'x'.repeat(64), 'a\n'])('may not be %j', (value) => {
    expect(isLabelValue(value)).toBe(false);
  });
});
