import { describe, expect, it } from 'vitest';
import { judgeStatus, readHttpCheck } from './http-check.ts';
import { openLineFor } from './testing/ask-once.ts';

describe('the settings of a probe by HTTP', () => {
  it('default to the root, no headers and 200', () => {
    expect(readHttpCheck({ kind: 'http' })).toEqual({ path: '/', headers: {}, statuses: ['200'] });
  });

  it('are taken as they are told', () => {
    const told = { path: '/a%20b?c=d', headers: { 'x-a': 'b\tc', Accept: '' }, statuses: ['200-399', '404'] };
    expect(readHttpCheck({ kind: 'http', ...told })).toEqual(told);
  });

  it.each(['a', '', '/a b', '/ä', '/a#b', '/a\r\nb', 7, null])('may not have the path %j', (path) => {
    expect(readHttpCheck({ kind: 'http', path })).toBe('its path is not valid');
  });

  it.each([{ 'a b': 'c' }, { '': 'c' }, { a: 7 }, { a: 'b\r\nc' }, { a: 'ä' }, ['a'], 'a', null])(
    'may not have the headers %j',
    (headers) => {
      expect(readHttpCheck({ kind: 'http', headers })).toBe('its headers are not names with values');
    },
  );

  it.each([[], ['99'], ['600'], ['200-'], ['2xx'], [200], '200', { length: 1 }])(
    'may not have the statuses %j',
    (statuses) => {
      expect(readHttpCheck({ kind: 'http', statuses })).toBe('its statuses are not a list of statuses and ranges');
    },
  );

  it.each(['http', 'https'])('are refused by a probe of the kind %s when they are wrong', (kind) => {
    expect(() => openLineFor({ kind, path: 'a' })).toThrow('its path is not valid');
  });

  it('are refused with a CA that is none', () => {
    expect(() => openLineFor({ kind: 'https', caBundle: 'LS0t' })).toThrow('its caBundle contains no certificate');
  });
});

describe('a status', () => {
  const judge = (status: number) => judgeStatus(status, { path: '/', headers: {}, statuses: ['200-299', '404'] });

  it.each([200, 250, 299, 404])('is healthy where it is expected: %i', (status) => {
    expect(judge(status)).toEqual({ healthy: true, says: `answered ${status} as expected` });
  });

  it.each([199, 300, 403, 405])('is not healthy where it is not: %i', (status) => {
    expect(judge(status)).toEqual({ healthy: false, says: `answered ${status}, 200-299 or 404 was expected` });
  });
});
