import { isUtf8 } from 'node:buffer';

/** The claims of a token. They are not to be trusted before the signature was checked. */
export type TokenClaims = {
  algorithm: string;
  keyId: string | undefined;
  issuer: string | undefined;
  audiences: readonly string[];
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  subject: string | undefined;
  pod: { name: string; uid: string } | undefined;
  /** Absent where the API server does not say (before 1.32). */
  nodeName: string | undefined;
  /** Times in seconds since the epoch. */
  issuedAt: number | undefined;
  notBefore: number | undefined;
  expiresAt: number | undefined;
};

type Fields = Record<string, unknown>;

/** Three parts of base64url without padding, of which none has a single character left over. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Last characters whose unused bits are zero, where two or three characters are left over. */
const LAST_OF = { 2: 'AQgw', 3: 'AEIMQUYcgkosw048' } as const;

/**
 * Whether a token is the one text of its bytes: `Buffer.from` ignores foreign characters, padding, and bits beyond the
 * last byte. One spelling is left besides: of an ECDSA signature (r, s), (r, n-s) is valid as well, and API servers
 * sign with either half, so that neither can be refused.
 */
export function isCanonicalToken(token: string): boolean {
  return COMPACT.test(token) && token.split('.').every(isCanonicalPart);
}

function isCanonicalPart(part: string): boolean {
  const left = part.length % 4;
  if (left === 0) return true;
  return (left === 2 || left === 3) && LAST_OF[left].includes(part.slice(-1));
}

/**
 * The claims of a JWT (RFC 7519) in the compact form, as service accounts have them; `undefined` for anything else, also for
 * a time that is no number, and for a header that names extensions as critical, of which none is understood here.
 */
export function readClaims(token: string): TokenClaims | undefined {
  const [head = '', body = '', signature, ...more] = token.split('.');
  if (!signature || more.length > 0) return undefined;
  const header = readJson(head);
  const claims = readJson(body);
  if (!header || !claims || 'crit' in header) return undefined;
  const times = [claims['iat'], claims['nbf'], claims['exp']];
  if (times.some((time) => time !== undefined && seconds(time) === undefined)) return undefined;
  const { pod, node } = fields(claims['kubernetes.io']);
  const { name, uid } = fields(pod);
  const audience = claims['aud'];
  return {
    algorithm: text(header['alg']) ?? '',
    keyId: text(header['kid']),
    issuer: text(claims['iss']),
    audiences: [audience].flat().filter((each): each is string => typeof each === 'string'),
    subject: text(claims['sub']),
    pod: typeof name === 'string' && typeof uid === 'string' && name && uid ? { name, uid } : undefined,
    nodeName: text(fields(node)['name']),
    issuedAt: seconds(claims['iat']),
    notBefore: seconds(claims['nbf']),
    expiresAt: seconds(claims['exp']),
  };
}

function readJson(part: string): Fields | undefined {
  try {
    const bytes = Buffer.from(part, 'base64url');
    if (!isUtf8(bytes)) return undefined;
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function fields(value: unknown): Fields {
  return value !== null && typeof value === 'object' ? (value as Fields) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
