import { expect, test } from 'vitest';
import { checkSelector, formatSelector, parseSelector, selects } from './label-selector.ts';

test.each([
  ['component=workspace', 'component=workspace'],
  [' a == b , example.com/c!=d ', 'a=b,example.com/c notin (d)'],
  ['tier in (a, b),!old,new', 'tier in (a,b),!old,new'],
  ['tier notin (a)', 'tier notin (a)'],
  ['empty=', 'empty='],
])('%s is read as %s', (text, formatted) => {
  expect(formatSelector(parseSelector(text) ?? {})).toBe(formatted);
  expect(checkSelector(text)).toBeUndefined();
});

test.each(['', ',', 'a=b,', 'a=b c', '=b', 'a in b', 'a in (b', 'a in ((b))', 'a in (b c)', '-a', 'a/b/c', 'a==b=c'])(
  '%j is no selector',
  (text) => {
    expect(parseSelector(text)).toBeUndefined();
    expect(checkSelector(text)).toContain('label selector');
  },
);

test('what is not there is unlike any value', () => {
  const selector = parseSelector('a!=b');
  expect([{}, { a: 'c' }, { a: 'b' }].map((labels) => selects(selector, labels))).toEqual([true, true, false]);
});
