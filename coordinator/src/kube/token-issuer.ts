import type { webcrypto } from 'node:crypto';
import type { KubeClient } from './client.ts';

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
