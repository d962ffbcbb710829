import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimsOf, signed, signingPair, USERNAME } from './bearer-auth.test-fixtures.ts';
import { isCanonicalToken, readClaims } from './token-claims.ts';

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
    const claims = readClaims(jwt({ aud: [1, 'a'], sub: 7, 'kubernetes.io': { pod: 'p', node: { name: 1 } } }));
    expect(claims).toMatchObject({ audiences: ['a'] });
    expect([claims?.subject, claims?.pod, claims?.nodeName]).toEqual(Array(3).fill(undefined));
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

  it('takes no empty text for a claim', () => {
    const claims = readClaims(jwt({ sub: '', iss: '', nbf: 0, 'kubernetes.io': null }));
    expect(claims).toMatchObject({ algorithm: '', keyId: undefined, audiences: [], notBefore: 0 });
    expect([claims?.subject, claims?.issuer, claims?.expiresAt, claims?.pod]).toEqual(Array(4).fill(undefined));
  });

  const part = (text: string | Buffer) => Buffer.from(text as string).toString('base64url');
  it.each([
    ['a time that is text', jwt({ iat: '100' })],
    ['a time that is null', jwt({ nbf: null })],
    ['a time without end', `e30.${part('{"exp":1e999}')}.c2ln`],
    ['critical extensions', `${part('{"crit":["exp"]}')}.e30.c2ln`],
    ['a critical nothing', `${part('{"crit":null}')}.e30.c2ln`],
    ['claims that are not UTF-8', `e30.${part(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))}.c2ln`],
  ])('is nothing for a token with %s', (_what, token) => {
    expect(readClaims(token)).toBeUndefined();
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
    const part = fc.oneof(fc.json(), fc.string()).map((text) => Buffer.from(text).toString('base64url'));
    fc.assert(
      fc.property(fc.oneof(fc.constant('e30'), part), part, (...parts) => void readClaims(`${parts.join('.')}.x`)),
    );
  });
});

describe('isCanonicalToken', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 });
  const part = bytes.map((array) => Buffer.from(array).toString('base64url'));
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const foreign = fc.constantFrom('=', '==', '+', '/', '~', '.', ' ', '\n', '\0', '\u00e9', '\u212a', 'A=', '');

  it('takes every token as it is made', () => {
    fc.assert(fc.property(part, part, part, (...parts) => isCanonicalToken(parts.join('.'))));
  });

  it('takes one text for each three parts: whichever other one decodes to the same bytes is refused', () => {
    const other = fc.oneof(
      fc.record({ at: fc.nat(200), insert: foreign }),
      fc.record({ at: fc.nat(200), replace: fc.constantFrom(...ALPHABET, '+', '/') }),
    );
    const decoded = (token: string) => token.split('.').map((each) => Buffer.from(each, 'base64url').toString('hex'));
    fc.assert(
      fc.property(part, part, part, other, (a, b, c, change) => {
        const token = `${a}.${b}.${c}`;
        const at = change.at % (token.length + 1);
        const changed =
          'insert' in change
            ? token.slice(0, at) + change.insert + token.slice(at)
            : token.slice(0, at) + change.replace + token.slice(at + 1);
        if (changed === token || decoded(changed).join() !== decoded(token).join()) return;
        expect(isCanonicalToken(changed), changed).toBe(false);
      }),
      { numRuns: 5000 },
    );
  });

  it('refuses bits beyond the last byte', () => {
    const accepted = (length: number) =>
      [...ALPHABET].filter((last) => isCanonicalToken(`AAAA.AAAA.${'A'.repeat(length - 1)}${last}`)).join('');
    expect([accepted(1), accepted(2), accepted(3)]).toEqual(['', 'AQgw', 'AEIMQUYcgkosw048']);
    expect(accepted(4)).toBe(ALPHABET);
  });
});
