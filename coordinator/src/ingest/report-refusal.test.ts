import { expect, test } from 'vitest';
import { type RefusalStatus, ReportRefusal, unauthenticated, unavailable } from './report-refusal.ts';

const STATUSES: RefusalStatus[] = [400, 401, 403, 404, 405, 408, 411, 413, 415, 422, 429, 431, 500, 503];

test('a refusal says its status, its title and its code as problem details', () => {
  const told = STATUSES.map((status) => JSON.parse(new ReportRefusal(status, 'It is so').toProblemJson()));
  expect(told.map(({ type, status, detail }) => [type, status, detail])).toEqual(
    STATUSES.map((status) => ['about:blank', status, 'It is so']),
  );
  expect(new Set(told.map(({ title }) => title)).size).toBe(STATUSES.length);
  const codes = Object.fromEntries(told.map(({ status, code }) => [status, code]));
  expect(codes).toMatchObject({ 400: 'REPORT_INVALID', 401: 'REPORT_UNAUTHENTICATED', 403: 'REPORT_FORBIDDEN' });
  expect(codes).toMatchObject({ 429: 'REPORT_THROTTLED', 500: 'REPORT_UNAVAILABLE', 503: 'REPORT_UNAVAILABLE' });
});

test('a refusal sends the headers that it was given, and the time to come back', () => {
  const plain = new ReportRefusal(400, 'x');
  expect([plain.headers, plain.field, plain.cause]).toEqual([{}, undefined, undefined]);
  const cause = new Error('y');
  const told = new ReportRefusal(429, 'x', {
    ...{ headers: { allow: 'POST' }, retryAfterSeconds: 0, field: 'a.b', cause },
  });
  expect([told.headers, told.field, told.cause]).toEqual([{ allow: 'POST', 'retry-after': '0' }, 'a.b', cause]);
  expect(JSON.parse(told.toProblemJson()).field).toBe('a.b');
  expect(told.fields).toMatchObject({ status: 429, field: 'a.b' });
});

test('who is not authenticated is challenged, with the error where there was a token', () => {
  expect(unauthenticated('x').headers).toEqual({ 'www-authenticate': 'Bearer realm="rollcall"' });
  expect(unauthenticated('x', 'invalid_request').headers['www-authenticate']).toBe(
    'Bearer realm="rollcall", error="invalid_request"',
  );
});

test('an unavailable answer asks to retry in a second by default', () => {
  const cause = new Error('y');
  expect([unavailable('x').headers, unavailable('x', 7, cause).headers]).toEqual([
    { 'retry-after': '1' },
    { 'retry-after': '7' },
  ]);
  expect(unavailable('x', 7, cause)).toMatchObject({ status: 503, cause });
});
