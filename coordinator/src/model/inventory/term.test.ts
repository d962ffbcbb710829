import { expect, test } from 'vitest';
import { featureName } from './feature-name.ts';
import { compares, comparesInteger, comparesNumber, type Order } from './predicate.ts';

test.each<[Order['op'], boolean[]]>([
  ['=', [false, true, false]],
  ['>', [false, false, true]],
  ['>=', [false, true, true]],
  ['<', [true, false, false]],
  ['<=', [true, true, false]],
])('1, 2 and 3 %s 2: %j', (op, expected) => {
  const order: Order = { op, bound: [2] };
  expect([1, 2, 3].map((amount) => comparesNumber(order, amount))).toEqual(expected);
  expect(['1', '2', '3'].map((text) => compares(order, text))).toEqual(expected);
});

test.each([
  ['6', [6, 0], true],
  ['6', [6, 0, 1], false],
  ['6.0.1', [6], false],
  ['6.0', [6], true],
  ['6.1.9-arch', [6, 1, 9], true],
  ['-3', [-3], true],
  ['+5', [5], true],
  ['v1.2', [1, 2], true],
  ['v6.12.1-arch1', [6, 12, 1], true],
])('the version %s is %j: %s', (text, bound, expected) => {
  expect(compares({ op: '=', bound }, text)).toBe(expected);
});

test.each(['custom', 'version 1', '+v1', ''])('%j is no version, and compares in no way', (text) => {
  expect(compares({ op: '<', bound: [6] }, text)).toBeUndefined();
});

test('a label compares only if all of it is an integer', () => {
  const order: Order = { op: '<', bound: [4] };
  expect(['3', '-3', '4', '3.5', '3a', ''].map((text) => comparesInteger(order, text))).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('the name of a feature may have 120 characters', () => {
  const name = (length: number) => 'cpu.cpuid.'.padEnd(length, 'A');
  expect(featureName(name(120))).toEqual({ feature: 'cpu.cpuid', element: 'A'.repeat(110) });
  expect(featureName(name(121))).toBeUndefined();
});
