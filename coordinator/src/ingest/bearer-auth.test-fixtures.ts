import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import type { TokenIssuer } from '../kube/token-review.ts';

export const USERNAME = 'system:serviceaccount:rollcall:rollcall-agent';
const ISSUER = 'https://kubernetes.default.svc';

export type SigningPair = { keyId: string; algorithm: string; privateKey: KeyObject; publicKey: KeyObject };

const KINDS = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
} as const;

export type Algorithm = keyof typeof KINDS;

/** A key pair such as an API server has. For tests. */
export function signingPair(algorithm: Algorithm, keyId = `key-${algorithm}`): SigningPair {
  return { keyId, algorithm, ...KINDS[algorithm]() };
}

/** What the API server says of these keys. */
export function issuerOf(...pairs: SigningPair[]): TokenIssuer {
  const keys = pairs.map(({ keyId, algorithm, publicKey }) => ({
    ...publicKey.export({ format: 'jwk' }),
    kid: keyId,
    alg: algorithm,
  }));
  return { issuer: ISSUER, keys };
}

const HASHES: Readonly<Record<string, string>> = { RS256: 'sha256', ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' };

/** The claims of a token that the kubelet projects into the pod `agent-1` on node `n1`. */
export function claimsOf(change: object = {}, nowMs = Date.UTC(2026, 0, 1)) {
  const nowSeconds = nowMs / 1000;
  return {
    iss: ISSUER,
    aud: [REPORT_AUDIENCE],
    sub: USERNAME,
    iat: nowSeconds,
    nbf: nowSeconds,
    exp: nowSeconds + 3600,
    'kubernetes.io': {
      namespace: 'rollcall',
      serviceaccount: { name: 'rollcall-agent', uid: 'account-uid' },
      pod: { name: 'agent-1', uid: 'pod-uid-1' },
      node: { name: 'n1', uid: 'node-uid-1' },
    },
    ...change,
  };
}

export function signed(pair: Pick<SigningPair, 'keyId' | 'algorithm' | 'privateKey'>, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${part({ alg: pair.algorithm, kid: pair.keyId })}.${part(claims)}`;
  const key = { key: pair.privateKey, dsaEncoding: 'ieee-p1363' as const };
  return `${content}.${sign(HASHES[pair.algorithm], Buffer.from(content), key).toString('base64url')}`;
}
