import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimsOf, signed, signingPair, USERNAME } from './bearer-auth.test-fixtures.ts';
import { readClaims } from './token-claims.ts';

function jwt(claims: unknown): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
}

describe('readClaims', () => {
  it('reads what a token of a service account says of itself', () => {
    const seconds = Date.UTC(2026, 0, 1) / 1000;
    expect(readClaims(signed(signingPair('ES256', 'k'), claimsOf()))).toEqual({
      algorithm: 'ES256',
      keyId: 'k',
      issuer: 'https://kubernetes.default.svc',
      audiences: ['rollcall-coordinator'],
      subject: USERNAME,
      pod: { name: 'agent-1', uid: 'pod-uid-1' },
      nodeName: 'n1',
      issuedAt: seconds,
      notBefore: seconds,
      expiresAt: seconds + 3600,
    });
  });

  it('takes one audience for a list of one', () => {
    expect(readClaims(jwt({ aud: 'a' }))?.audiences).toEqual(['a']);
  });

  it('leaves out what is of another type', () => {
    const claims = readClaims(
      jwt({ iat: '100', aud: [1, 'a'], sub: 7, 'kubernetes.io': { pod: 'p', node: { name: 1 } } }),
    );
    expect(claims).toMatchObject({ audiences: ['a'] });
    expect([claims?.issuedAt, claims?.subject, claims?.pod, claims?.nodeName]).toEqual(Array(4).fill(undefined));
  });

  it.each([
    ['no name', { pod: { uid: 'u' } }],
    ['no uid', { pod: { name: 'n' } }],
    ['an empty name', { pod: { name: '', uid: 'u' } }],
    ['an empty uid', { pod: { name: 'n', uid: '' } }],
    ['a uid that is none', { pod: { name: 'n', uid: 7 } }],
    ['nothing', { pod: null }],
  ])('knows no pod with %s', (_what, bound) => {
    expect(readClaims(jwt({ 'kubernetes.io': bound }))).toMatchObject({ pod: undefined });
  });

  it('takes no empty text, and no time that is not finite, for a claim', () => {
    const text = '{"sub":"","iss":"","exp":1e999,"nbf":0,"kubernetes.io":null}';
    const claims = readClaims(`e30.${Buffer.from(text).toString('base64url')}.c2ln`);
    expect(claims).toMatchObject({ algorithm: '', keyId: undefined, audiences: [], notBefore: 0 });
    expect([claims?.subject, claims?.issuer, claims?.expiresAt, claims?.pod]).toEqual(Array(4).fill(undefined));
  });

  it.each([
    '',
    'a',
    'a.b',
    'a.b.c',
    'a.b.c.d',
    jwt(null),
    jwt([1]),
    `${jwt({})}.x`,
    `${jwt({})}.`,
    jwt('x'),
    'e30..c2ln',
    'e30.e30.',
  ])('is nothing for %j', (token) => {
    expect(readClaims(token)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => readClaims(text) === undefined));
    fc.assert(fc.property(fc.json(), (text) => void readClaims(`e30.${Buffer.from(text).toString('base64url')}.x`)));
  });
});
