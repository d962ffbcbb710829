/** Longest token that is looked at. A projected token has about 1,100 characters. */
const TOKEN_LENGTH_MAX = 8192;

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The token of an Authorization header as RFC 6750 writes it, or `undefined` when it is not one. */
export function readBearerToken(authorization: string): string | undefined {
  // Cheaper than the expression, which would otherwise walk through whatever a client sends.
  if (authorization.length > TOKEN_LENGTH_MAX + 8) return undefined;
  return BEARER.exec(authorization)?.[1];
}
