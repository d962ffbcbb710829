import { describe, expect, test } from 'vitest';
import { createIntern } from './intern.ts';

const device = (serial: string) => ({ bus: 'usb', attributes: { vendor: '18d1', serial } });

describe('an intern', () => {
  test('stores equal objects once, unless they are described at length', () => {
    const intern = createIntern<object>();
    expect(intern(device('x'))).toBe(intern(device('x')));
    expect(intern(device('x'))).toEqual(device('x'));
    const long = device('x'.repeat(2000));
    expect(intern(long)).toBe(long);
    expect(intern(device('x'.repeat(2000)))).not.toBe(long);
  });

  test('returns equal texts', () => {
    const intern = createIntern<string>();
    expect(['v', 'w', 'v', 'x'.repeat(3000), ''].map((text) => intern(text))).toEqual([
      ...['v', 'w', 'v', 'x'.repeat(3000), ''],
    ]);
  });

  test('begins anew after so many characters', () => {
    const intern = createIntern<object>();
    const first = intern(device('x'));
    for (let index = 0; index < 1900; index += 1) intern(device(String(index).padEnd(1900, '-')));
    expect(intern(device('x'))).toBe(first);
    for (let index = 0; index < 500; index += 1) intern(device(String(index).padEnd(1900, '+')));
    expect(intern(device('x'))).not.toBe(first);
  });
});
