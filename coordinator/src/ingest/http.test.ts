import { expect, test } from 'vitest';
import { parseJsonObject } from './report-handler.ts';

test.each([
  ['{"a":1}', { a: 1 }],
  ['{}', {}],
])('%s is a JSON object', (text, value) => {
  expect(parseJsonObject(Buffer.from(text))).toEqual(value);
});

test.each([
  ['[1]', 'The body is not a JSON object'],
  ['null', 'The body is not a JSON object'],
  ['7', 'The body is not a JSON object'],
  ['{', 'The body is not JSON'],
  ['\xff', 'The body is not UTF-8'],
])('%j is none, and that is told', (text, message) => {
  expect(() => parseJsonObject(Buffer.from(text, 'latin1'))).toThrow(expect.objectContaining({ status: 400, message }));
});

test('a body that is nested too deeply is refused', () => {
  const body = Buffer.from(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
  expect(() => parseJsonObject(body)).toThrow(
    expect.objectContaining({ status: 400, message: 'The body is nested too deeply' }),
  );
});
