import { describe, expect, test } from 'vitest';
import type { Value } from './option.ts';
import { fromFile, fromText } from './values.ts';

const TEXT: Value = { type: 'string', help: '', check: (value) => (value === 'bad' ? 'must be good' : undefined) };
const CHOICE: Value = { type: 'string', choices: ['tcp', 'tls'], help: '' };
const FLAG: Value = { type: 'boolean', help: '' };
const WHOLE: Value = { type: 'number', min: 1, max: 10, help: '' };
const BROKEN: Value = { type: 'number', min: 0.2, max: 10, integer: false, help: '' };
const LIST: Value = { type: 'list', help: '', check: (value) => (value.length > 2 ? 'must be short' : undefined) };

describe('fromText', () => {
  test.each<[Value, string, unknown]>([
    [TEXT, '', ''],
    [TEXT, ' a ', ' a '],
    [CHOICE, 'tls', 'tls'],
    [FLAG, 'true', true],
    [FLAG, 'T', true],
    [FLAG, '1', true],
    [FLAG, 'False', false],
    [FLAG, '0', false],
    [WHOLE, '10', 10],
    [BROKEN, '0.2', 0.2],
    [LIST, ' a, ,b ', ['a', 'b']],
    [LIST, '', []],
  ])('gives the %o for "%s"', (option, text, value) => {
    expect(fromText(option, text)).toEqual({ value });
  });

  test.each<[Value, string, RegExp]>([
    [TEXT, 'bad', /must be good/],
    [CHOICE, 'udp', /must be one of tcp, tls, got "udp"/],
    [FLAG, 'yes', /must be true or false, got "yes"/],
    [FLAG, '', /must be true or false/],
    [WHOLE, '0', /a whole number from 1 to 10, got 0/],
    [WHOLE, '11', /from 1 to 10, got 11/],
    [WHOLE, '1.5', /a whole number/],
    [WHOLE, '0x5', /must be a number/],
    [WHOLE, '1e1', /must be a number/],
    [WHOLE, '', /must be a number/],
    [BROKEN, '0.1', /a number from 0.2 to 10, got 0.1/],
    [LIST, 'a,b,c', /must be short/],
  ])('refuses for %o "%s"', (option, text, problem) => {
    expect(fromText(option, text)).toEqual({ problem: expect.stringMatching(problem) });
  });

  test('does not repeat a whole novel', () => {
    const { problem } = fromText(FLAG, 'x'.repeat(1000)) as { problem: string };
    expect(problem.length).toBeLessThan(120);
  });
});

describe('fromFile', () => {
  test.each<[Value, unknown, unknown]>([
    [TEXT, 'a', 'a'],
    [FLAG, false, false],
    [WHOLE, 3, 3],
    [LIST, ['a', 'b'], ['a', 'b']],
    [LIST, 'a,b', ['a', 'b']],
  ])('takes for %o %j', (option, given, value) => {
    expect(fromFile(option, given)).toEqual({ value });
  });

  test.each<[Value, unknown, RegExp]>([
    [TEXT, 7, /must be a string, got 7/],
    [TEXT, 'bad', /must be good/],
    [FLAG, 'true', /must be a boolean/],
    [WHOLE, '3', /must be a number/],
    [WHOLE, 30, /from 1 to 10/],
    [WHOLE, Number.NaN, /from 1 to 10/],
    [LIST, [1], /must be a list of strings/],
    [LIST, { a: 1 }, /must be a list of strings/],
    [LIST, ['a', 'b', 'c'], /must be short/],
  ])('refuses for %o %j', (option, given, problem) => {
    expect(fromFile(option, given)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
