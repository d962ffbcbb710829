import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBearerToken, readTokenTimes } from './bearer-token.ts';

function jwt(claims: unknown): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
}

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

describe('readTokenTimes', () => {
  it('reads when a JWT was issued and when it expires', () => {
    expect(readTokenTimes(jwt({ iat: 100, exp: 3700, sub: 'x' }))).toEqual({ issuedAt: 100, expiresAt: 3700 });
  });

  it('leaves out what is not a time', () => {
    expect(readTokenTimes(jwt({ iat: '100' }))).toEqual({});
    expect(readTokenTimes(jwt(null))).toEqual({});
    expect(readTokenTimes(jwt([1]))).toEqual({});
  });

  it('gives nothing, and never throws, for what is not a JWT', () => {
    fc.assert(fc.property(fc.string(), (text) => Object.keys(readTokenTimes(text)).length === 0));
    expect(readTokenTimes('a.b.c')).toEqual({});
  });
});
