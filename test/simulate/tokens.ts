import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';

const ACCOUNT = 'system:serviceaccount:rollcall:rollcall-agent';
/** The kubelet asks for another when four fifths of the hour are over. */
const LIFE_SECONDS = 3600;
const RENEW_SECONDS = 2880;

type Bound = { node: string; pod: { name: string; uid: string } };

/** A projected token of one pod, as its kubelet keeps it: renewed in time, by the clock of the cluster. */
export function tokenOf(bound: Bound, nowMs: () => number): () => string {
  let issuedAt = Number.NEGATIVE_INFINITY;
  let token = '';
  return () => {
    const nowSeconds = Math.floor(nowMs() / 1000);
    if (nowSeconds - issuedAt < RENEW_SECONDS) return token;
    issuedAt = nowSeconds;
    const { node, pod } = bound;
    const claims = {
      aud: [REPORT_AUDIENCE],
      sub: ACCOUNT,
      iat: nowSeconds,
      nbf: nowSeconds,
      exp: nowSeconds + LIFE_SECONDS,
      'kubernetes.io': { pod, node: { name: node } },
    };
    token = [{ alg: 'RS256', kid: 'model' }, claims]
      .map((part) => encoded(part))
      .concat('signature-of-model--')
      .join('.');
    return token;
  };
}

/** The status of a TokenReview, by an API server that knows which pods there are. */
export function reviewOf(token: string, nowMs: number, isThere: (pod: Bound['pod']) => boolean): object {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const { pod, node } = claims['kubernetes.io'] as { pod: Bound['pod']; node: { name: string } };
  if (claims.exp * 1000 < nowMs || !isThere(pod)) return { authenticated: false, error: 'the token is not valid' };
  const extra = {
    'authentication.kubernetes.io/pod-uid': [pod.uid],
    'authentication.kubernetes.io/node-name': [node.name],
  };
  return { authenticated: true, audiences: claims.aud, user: { username: claims.sub, extra } };
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
