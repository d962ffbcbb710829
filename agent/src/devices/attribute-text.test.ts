import { expect, test } from 'vitest';
import { hexId, plainText } from './attribute-text.ts';

test.each([
  ['0x10de\n', '10de'],
  ['03e7\n', '03e7'],
  [' 0X10DE ', '10de'],
])('takes %j for an id', (text, id) => {
  expect(hexId(text, 4)).toBe(id);
});

test.each([[undefined], [''], ['0x\n'], ['10d'], ['10dee'], ['10dg'], ['0x0x10de'], ['10\0de'], ['١٠٠٠']])(
  'takes %j for none',
  (text) => {
    expect(hexId(text, 4)).toBeUndefined();
  },
);

test('keeps text as it is, but for the space around it', () => {
  expect(plainText(' Serial é 1\n')).toBe('Serial é 1');
  expect(plainText('x'.repeat(1024))).toHaveLength(1024);
});

test.each([[undefined], [''], ['\n'], ['a\0b'], ['a\u0085b'], ['a\uFFFDb'], ['\ud800'], ['x'.repeat(1025)]])(
  'takes %j for no text',
  (text) => {
    expect(plainText(text)).toBeUndefined();
  },
);
