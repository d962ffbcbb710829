import type { webcrypto } from 'node:crypto';
import type { KubeClient } from './client.ts';

export type TokenVerdict = {
  authenticated: boolean;
  username?: string;
  uid?: string;
  /**
   * The objects that the token is bound to, such as `authentication.kubernetes.io/node-name`; empty when not
   * authenticated.
   */
  extra: Record<string, string[]>;
  /** The error of the API server. */
  error?: string;
};

type TokenReview = {
  status?: {
    authenticated?: boolean;
    audiences?: string[];
    user?: { username?: string; uid?: string; extra?: Record<string, string[]> };
    error?: string;
  };
};

export type TokenReviewLimits = { timeoutMs: number; signal?: AbortSignal };

/**
 * Asks the API server who a bearer token speaks for. The token is good only if it was made for `audience`: an API
 * server that knows nothing of audiences answers without them, and its yes would hold for any token of the cluster.
 * Throws like `KubeClient.request`.
 */
export async function reviewToken(
  client: KubeClient,
  token: string,
  audience: string,
  limits: TokenReviewLimits = { timeoutMs: 5000 },
): Promise<TokenVerdict> {
  const { status } = await client.request<TokenReview>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [audience] },
    },
    ...limits,
  });
  if (status?.authenticated !== true) return refusal(status?.error ?? 'the token is not valid');
  if (!status.audiences?.includes(audience)) return refusal(`the token was not made for the audience ${audience}`);
  const { username, uid, extra } = status.user ?? {};
  return {
    authenticated: true,
    ...(username === undefined ? {} : { username }),
    ...(uid === undefined ? {} : { uid }),
    extra: extra ?? {},
  };
}

function refusal(error: string): TokenVerdict {
  return { authenticated: false, extra: {}, error };
}

/** The issuer of service account tokens and its public keys. */
export type TokenIssuer = {
  /** The first issuer that the API server accepts; it does not publish others. */
  issuer: string;
  keys: (webcrypto.JsonWebKey & { kid?: string; alg?: string })[];
};

const TIMEOUT_MS = 5000;

/**
 * What the API server says of its own tokens (OpenID discovery, which the ClusterRole
 * `system:service-account-issuer-discovery` opens to every service account). The keys are asked for at its own address
 * and not where the document points to. Throws like `KubeClient.request`.
 */
export async function readTokenIssuer(client: KubeClient): Promise<TokenIssuer> {
  const get = <T>(path: string, accept: string) =>
    client.request<T>({ method: 'GET', path, accept, timeoutMs: TIMEOUT_MS });
  const [{ issuer }, { keys }] = await Promise.all([
    get<{ issuer?: unknown }>('/.well-known/openid-configuration', 'application/json'),
    get<{ keys?: unknown }>('/openid/v1/jwks', 'application/jwk-set+json'),
  ]);
  return {
    issuer: typeof issuer === 'string' ? issuer : '',
    keys: Array.isArray(keys) ? (keys as TokenIssuer['keys']) : [],
  };
}
