import { describe, expect, test } from 'vitest';
import { formatSelector, formatUnion, keysOfSelector, type LabelSelector, selects } from './label-selector.ts';

const LABELS = { app: 'mirror', tier: 'node' };

describe('a selector', () => {
  test.each<[string, LabelSelector, boolean]>([
    ['nothing', {}, true],
    ['labels that are there', { matchLabels: { app: 'mirror', tier: 'node' } }, true],
    ['another value', { matchLabels: { app: 'cache' } }, false],
    ['a value in a list', { matchExpressions: [{ key: 'app', operator: 'In', values: ['cache', 'mirror'] }] }, true],
    ['a value that is in no list', { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['cache'] }] }, true],
    [
      'no value of a list, where there is none',
      { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['a'] }] },
      true,
    ],
    [
      'a value of a list, where there is none',
      { matchExpressions: [{ key: 'x', operator: 'In', values: ['a'] }] },
      false,
    ],
    ['a label that is there', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }, true],
    ['a label that every object has', { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, false],
    ['that a label is not there', { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
    ['that an unused label is not there', { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }, true],
    ['both', { matchLabels: { app: 'mirror' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] }, false],
  ])('that asks for %s', (_what, selector, expected) => {
    expect(selects(selector, LABELS)).toBe(expected);
  });

  test('that was not given selects everything', () => {
    expect(selects(undefined, {})).toBe(true);
  });

  test('tells the keys that it looks at', () => {
    const matchExpressions = [{ key: 'b', operator: 'Exists' }] as const;
    expect(keysOfSelector({ matchLabels: { a: '1' }, matchExpressions })).toEqual(['a', 'b']);
    expect(keysOfSelector(undefined)).toEqual([]);
  });

  test('is written as the API server reads it', () => {
    const matchExpressions = [
      { key: 'b', operator: 'In', values: ['x', 'y'] },
      { key: 'c', operator: 'NotIn', values: ['z'] },
      { key: 'd', operator: 'Exists' },
      { key: 'e', operator: 'DoesNotExist' },
    ] as const;
    expect(formatSelector({ matchLabels: { a: '1' }, matchExpressions })).toBe('a=1,b in (x,y),c notin (z),d,!e');
  });
});

describe('what is watched for several selectors', () => {
  const component = (value: string): LabelSelector => ({ matchLabels: { component: value } });

  test('is what they ask for, where it is the same', () => {
    expect(formatUnion([component('a'), component('a')])).toBe('component=a');
  });

  test('is any of the values of one label', () => {
    expect(formatUnion([component('a'), component('b'), component('a')])).toBe('component in (a,b)');
  });

  test.each<[string, LabelSelector]>([
    ['another label', { matchLabels: { app: 'b' } }],
    ['more than one label', { matchLabels: { component: 'b', app: 'b' } }],
    ['everything', {}],
    ['what is not a value', { matchExpressions: [{ key: 'component', operator: 'Exists' }] }],
  ])('is everything where one asks for %s', (_what, other) => {
    expect(formatUnion([component('a'), other])).toBe('');
    expect(formatUnion([other, component('a')])).toBe('');
  });
});
