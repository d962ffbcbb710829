import { describe, expect, it } from 'vitest';
import { readBearerToken } from './report-handler.ts';

describe('readBearerToken', () => {
  it('reads a token, whatever the case of the scheme', () => {
    expect(readBearerToken('Bearer abc.def-_~+/==')).toBe('abc.def-_~+/==');
    expect(readBearerToken('bearer   abc')).toBe('abc');
  });

  it.each(['', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b', 'Bearer a,b', 'Bearer =', 'abc', ` Bearer abc`])(
    'does not take %j for a token',
    (header) => {
      expect(readBearerToken(header)).toBeUndefined();
    },
  );

  it('does not look at a token of absurd length', () => {
    expect(readBearerToken(`Bearer ${'a'.repeat(8192)}`)).toHaveLength(8192);
    expect(readBearerToken(`Bearer ${'a'.repeat(8210)}`)).toBeUndefined();
  });
});
