import { describe, expect, it } from 'vitest';
import { judgeStatus } from './http-check.ts';
import { openLineFor } from './testing/ask-once.ts';

describe('the settings of a probe by HTTP', () => {
  it.each(['a', '', '/a b', '/ä', '/a#b', '/a\r\nb', 7, null])('may not have the path %j', (path) => {
    expect(() => openLineFor({ kind: 'http', path })).toThrow('its path is not valid');
  });

  it.each([{ 'a b': 'c' }, { '': 'c' }, { a: 7 }, { a: 'b\r\nc' }, { a: 'ä' }, ['a'], 'a', null])(
    'may not have the headers %j',
    (headers) => {
      expect(() => openLineFor({ kind: 'http', headers })).toThrow(/^its headers.* is not valid$/);
    },
  );

  it.each([['99'], ['600'], ['200-'], ['2xx'], ['399-200'], [200], '200', { length: 1 }])(
    'may not have the statuses %j',
    (expectedStatuses) => {
      expect(() => openLineFor({ kind: 'http', expectedStatuses })).toThrow(/^its expectedStatuses.* is not valid$/);
    },
  );

  it.each(['http', 'https'])('are refused by a probe of the kind %s when they are wrong', (kind) => {
    expect(() => openLineFor({ kind, path: 'a' })).toThrow('its path is not valid');
  });

  it('are refused with one that this agent does not know, by which the verdict may be another', () => {
    expect(() => openLineFor({ kind: 'http', method: 'HEAD' })).toThrow(
      /^version \S+ of the agent does not know its setting method$/,
    );
    expect(() => openLineFor({ kind: 'http', caBundle: 'x' })).toThrow('does not know its setting caBundle');
  });

  it('are refused with a CA that is none', () => {
    expect(() => openLineFor({ kind: 'https', caBundle: 'LS0t' })).toThrow('its caBundle contains no certificate');
  });
});

describe('a status', () => {
  const judge = (status: number) => judgeStatus(status, { expectedStatuses: ['200-299', '404'] });

  it.each([200, 250, 299, 404])('is healthy where it is expected: %i', (status) => {
    expect(judge(status)).toEqual({ healthy: true, says: `answered ${status} as expected` });
  });

  it.each([199, 300, 403, 405])('is not healthy where it is not: %i', (status) => {
    expect(judge(status)).toEqual({ healthy: false, says: `answered ${status}, 200-299 or 404 was expected` });
  });

  it('has to be 200 where no other is expected', () => {
    expect([200, 204].map((status) => judgeStatus(status, {}).healthy)).toEqual([true, false]);
  });
});
