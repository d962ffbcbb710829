/** Longest token that is looked at. A projected token has about 1,100 characters. */
const TOKEN_LENGTH_MAX = 8192;

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The token of an Authorization header as RFC 6750 writes it, or `undefined` when it is not one. */
export function readBearerToken(authorization: string): string | undefined {
  // Cheaper than the expression, which would otherwise walk through whatever a client sends.
  if (authorization.length > TOKEN_LENGTH_MAX + 8) return undefined;
  return BEARER.exec(authorization)?.[1];
}

/** Times in seconds since the epoch. */
export type TokenTimes = { issuedAt?: number; expiresAt?: number };

/**
 * The `iat` and `exp` of a JWT, read without looking at its signature: only for a token that the API server has
 * accepted. Empty for a token that is not a JWT.
 */
export function readTokenTimes(token: string): TokenTimes {
  const claims = readClaims(token);
  const times: TokenTimes = {};
  const { iat, exp } = claims;
  if (typeof iat === 'number' && Number.isFinite(iat)) times.issuedAt = iat;
  if (typeof exp === 'number' && Number.isFinite(exp)) times.expiresAt = exp;
  return times;
}

function readClaims(token: string): { iat?: unknown; exp?: unknown } {
  const parts = token.split('.');
  if (parts.length !== 3) return {};
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
