import { describe, expect, test } from 'vitest';
import { checkLabel, checkListen, checkSubdomain, isSubdomain, PORT } from './checks.ts';
import { fromText } from './values.ts';

const longName = (length: number) => `${'a.'.repeat(126)}${'a'.repeat(length - 252)}`;

describe('a DNS name', () => {
  test.each(['a', 'a-1', 'node-1.example.com', '10.0.0.1', longName(253)])('may be %s', (text) => {
    expect(isSubdomain(text)).toBe(true);
    expect(checkSubdomain(text)).toBeUndefined();
  });

  test.each(['', 'A', 'a_b', '-a', 'a-', 'a..b', '.a', 'a.', 'a b', longName(254)])('may not be "%s"', (text) => {
    expect(isSubdomain(text)).toBe(false);
    expect(checkSubdomain(text)).toMatch(/^must be a DNS name in lower case/);
  });
});

describe('a DNS label', () => {
  test.each(['a', '1', 'a-b', 'a'.repeat(63)])('may be %s', (text) => {
    expect(checkLabel(text)).toBeUndefined();
  });

  test.each(['', 'a.b', 'A', '-a', 'a-', 'a'.repeat(64)])('may not be "%s"', (text) => {
    expect(checkLabel(text)).toMatch(/^must be a DNS label/);
  });
});

test('a listen address is what the server reads', () => {
  expect(checkListen('[::]:8086')).toBeUndefined();
  expect(checkListen('off')).toBeUndefined();
  expect(checkListen('8086')).toMatch(/^must be HOST:PORT/);
});

test('a port is from 1 to 65535', () => {
  const read = (text: string) => fromText({ ...PORT, help: '' }, text);
  expect([read('1'), read('65535')]).toEqual([{ value: 1 }, { value: 65_535 }]);
  for (const text of ['0', '65536']) expect(read(text)).toHaveProperty('problem');
});
