import { describe, expect, test } from 'vitest';
import { CodedError, describeError, hasCode } from './coded-error.ts';

describe('CodedError', () => {
  test('carries code, cause and fields', () => {
    const cause = new Error('disk');
    const error = new CodedError('LISTEN_FAILED', 'Cannot listen', { cause, fields: { address: ':1' } });
    expect(error).toMatchObject({ name: 'CodedError', code: 'LISTEN_FAILED', message: 'Cannot listen', cause });
    expect(error.fields).toEqual({ address: ':1' });
  });

  test('has no cause when there is none', () => {
    expect('cause' in new CodedError('LISTEN_FAILED', 'x')).toBe(false);
  });
});

describe('hasCode', () => {
  test('tells codes apart, and errors of other kinds', () => {
    const error = new CodedError('LISTEN_FAILED', 'x');
    expect(hasCode(error, 'LISTEN_FAILED')).toBe(true);
    expect(hasCode(error, 'CONFIG_INVALID')).toBe(false);
    expect(hasCode(Object.assign(new Error('x'), { code: 'LISTEN_FAILED' }), 'LISTEN_FAILED')).toBe(false);
    expect(hasCode(undefined, 'LISTEN_FAILED')).toBe(false);
  });
});

describe('describeError', () => {
  test('joins the messages of an error and of its causes, each once', () => {
    const root = new Error('refused');
    const middle = new Error('refused', { cause: root });
    expect(describeError(new Error('Cannot reach it', { cause: middle }))).toBe('Cannot reach it: refused');
  });

  test('falls back on the code, then on the name, of an error without a message', () => {
    expect(describeError(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
    expect(describeError(new TypeError())).toBe('TypeError');
  });

  test.each([
    ['text', 'text'],
    [7, '7'],
    [null, 'null'],
    [undefined, ''],
  ])('describes %j, which is no error', (thrown, expected) => {
    expect(describeError(thrown)).toBe(expected);
  });

  test('goes down no more than eight levels', () => {
    let error = new Error('10');
    for (let level = 9; level >= 1; level -= 1) error = new Error(String(level), { cause: error });
    expect(describeError(error)).toBe('1: 2: 3: 4: 5: 6: 7: 8');
  });

  test('comes to an end when causes go in a circle', () => {
    const a = new Error('a');
    a.cause = new Error('b', { cause: a });
    expect(describeError(a)).toBe('a: b');
  });
});
