import { expect, test } from 'vitest';
import { claimedIdentity, reviewedRefusal, type TokenReviewResult } from './agent-identity.ts';
import { claimsOf, signed, signingPair, USERNAME } from './bearer-auth.test-fixtures.ts';
import { readClaims, type TokenClaims } from './token-claims.ts';

const POD = { name: 'agent-1', uid: 'pod-uid-1' };
const IDENTITY = { node: 'n1', pod: POD };
const CLAIMS = readClaims(signed(signingPair('ES256'), claimsOf())) as TokenClaims;

const claimed = (change: Partial<TokenClaims>, node: string | undefined = 'n1') =>
  claimedIdentity({ ...CLAIMS, ...change }, USERNAME, ({ uid }) => (uid === POD.uid ? node : undefined));

test('a token claims to be of its pod, on the node where that is', () => {
  expect(claimed({})).toEqual({ identity: { ...IDENTITY, issuedAtSeconds: CLAIMS.issuedAt } });
  expect(claimed({ issuedAt: undefined, nodeName: undefined }, 'n7')).toEqual({ identity: { node: 'n7', pod: POD } });
  expect(claimed({ audiences: ['other', 'rollcall-coordinator'] })).toHaveProperty('identity');
});

const REVIEWED: TokenReviewResult = {
  authenticated: true,
  username: USERNAME,
  extra: {
    'authentication.kubernetes.io/pod-uid': [POD.uid],
    'authentication.kubernetes.io/node-name': ['n1'],
  },
};

const refusal = (change: Partial<TokenReviewResult>) => reviewedRefusal({ ...REVIEWED, ...change }, USERNAME, IDENTITY);

test('what the API server says of the same pod and node is no refusal, nor is that it does not say the node', () => {
  expect(refusal({})).toBeUndefined();
  expect(refusal({ extra: { 'authentication.kubernetes.io/pod-uid': [POD.uid] } })).toBeUndefined();
});

test.each<[string, Partial<TokenReviewResult>]>([
  ['another pod', { extra: { ...REVIEWED.extra, 'authentication.kubernetes.io/pod-uid': ['other'] } }],
  ['no pod', { extra: { 'authentication.kubernetes.io/node-name': ['n1'] } }],
  ['nothing more', { extra: undefined }],
  ['an empty list', { extra: { 'authentication.kubernetes.io/pod-uid': [] } }],
  ['another node', { extra: { ...REVIEWED.extra, 'authentication.kubernetes.io/node-name': ['n2'] } }],
])('a token of which the API server says %s is refused', (_what, change) => {
  expect(refusal(change)).toMatchObject({ status: 401, message: expect.stringContaining('another pod or node') });
});

test('a token of another account is forbidden, and told whose it is', () => {
  expect(refusal({ username: 'system:admin' })).toMatchObject({
    status: 403,
    message: `The token belongs to system:admin, and reports come from ${USERNAME}`,
  });
  expect(refusal({ username: undefined })?.message).toContain('belongs to an unknown user');
  expect(claimed({ subject: undefined })).toMatchObject({ refusal: { status: 403 } });
});

test('a token that is not authenticated is refused before its account is looked at, with a reason that has an end', () => {
  const stranger = { authenticated: false, username: 'system:admin' };
  expect(refusal(stranger)).toMatchObject({ status: 401, message: 'The API server does not accept this token' });
  expect(refusal({ ...stranger, error: 'x'.repeat(400) })?.message).toBe(
    `The API server does not accept this token: ${'x'.repeat(300)}`,
  );
});
