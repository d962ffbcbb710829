import { type ProblemStatus, problemTitle } from '@rollcall/common/problem.ts';
import { expect, test } from 'vitest';
import { jsonAnswer, refuse } from './response.ts';

test.each<[ProblemStatus, string]>([
  [400, 'Bad Request'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [408, 'Request Timeout'],
  [411, 'Length Required'],
  [413, 'Content Too Large'],
  [415, 'Unsupported Media Type'],
  [431, 'Request Header Fields Too Large'],
  [500, 'Internal Server Error'],
  [503, 'Service Unavailable'],
])('a refusal with %d is called %s, with its reason beside it', (status, title) => {
  const { body, ...rest } = refuse(status, 'why', { allow: 'POST' });
  expect(rest).toEqual({ status, type: 'application/problem+json', headers: { allow: 'POST' } });
  expect(JSON.parse(String(body))).toEqual({ type: 'about:blank', title, status, detail: 'why' });
  expect(problemTitle(status)).toBe(title);
});

test('a document is answered as JSON', () => {
  expect(jsonAnswer({ a: 1 })).toEqual({ status: 200, type: 'application/json', body: '{"a":1}' });
});
