import { constants, createHmac, sign } from 'node:crypto';
import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import { claimsOf, type SigningPair, USERNAME } from './bearer-auth.test-fixtures.ts';

type Fields = Record<string, unknown>;

/** A token before it is signed. */
type Draft = {
  /** Whose key signs it. */
  pair: SigningPair;
  /** How it is signed, whatever its header says. */
  algorithm: string;
  header: Fields;
  claims: Fields;
  /** The bytes of the header and of the claims, by their JSON. */
  headBytes: (json: string) => string | Buffer;
  bodyBytes: (json: string) => string | Buffer;
  /** Changes the token after it was signed. */
  after: (token: string) => string;
};

/** Chooses one of these, by the seed. */
type Pick = <T>(...choices: readonly T[]) => T;
type Oddity = (draft: Draft, pick: Pick, pairs: readonly SigningPair[]) => Partial<Draft>;

/** How a token of the tests came about. `bound`: it is for a pod or node that is not as watched. */
export type OddToken = { token: string; oddities: readonly string[]; bound: boolean };

const ES_HASHES: Readonly<Record<string, string>> = { ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' };

function signatureOf(algorithm: string, { privateKey, publicKey }: SigningPair, content: string): Buffer {
  const bytes = Buffer.from(content);
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm === 'none') return Buffer.alloc(0);
  if (algorithm.startsWith('HS')) {
    return createHmac(hash, publicKey.export({ type: 'spki', format: 'pem' }))
      .update(bytes)
      .digest();
  }
  if (privateKey.asymmetricKeyType === 'ec') {
    return sign(ES_HASHES[algorithm] ?? 'sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  }
  const padding = algorithm.startsWith('PS') ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
  const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
  const isOfRsa = /^[RP]S/.test(algorithm);
  return sign(isOfRsa ? hash : 'sha256', bytes, { key: privateKey, padding, saltLength });
}

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'HS256'] as const;
const NO_TEXTS = [7, 0, true, null, [], {}, ['x'], { toString: 'x' }] as const;
const OFF = [0, 1, -1, 299, -299, 299.7, -299.7, 300, -300, 300.5, -300.5, 301, -301, 3600, -3600] as const;
const NO_TIMES = ['1', '', true, null, [1], {}, '2026-01-01T00:00:00Z'] as const;
const HUGE = [1e15, -1e15, 2 ** 53, 1e308, -1e308, 1e-300] as const;
/** The order of each curve, by which (r, n - s) is a signature as well as (r, s). */
const ORDERS: Readonly<Record<string, bigint>> = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512: BigInt(
    '0x1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
  ),
};

const text = (value: unknown) => Buffer.from(String(value)).toString('base64url');
const parts = (token: string) => token.split('.') as [string, string, string];

/** Changes the bytes of the signature. */
function resigned(change: (bytes: Buffer) => Buffer): Pick_<Draft, 'after'> {
  return {
    after: (token) => {
      const [head, body, signature = ''] = parts(token);
      return `${head}.${body}.${change(Buffer.from(signature, 'base64url')).toString('base64url')}`;
    },
  };
}
type Pick_<T, K extends keyof T> = { [P in K]: T[P] };

const withHeader = ({ header }: Draft, change: Fields) => ({ header: { ...header, ...change } });
const withClaims = ({ claims }: Draft, change: Fields) => ({ claims: { ...claims, ...change } });
const without = (fields: Fields, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));

/** Puts these members behind, or before, the others of an object in JSON. */
const twice = (json: string, member: string, isLast: boolean) =>
  isLast ? `${json.slice(0, -1)},${member}}` : `{${member},${json.slice(1)}`;

const SPELLINGS: readonly ((token: string) => string)[] = [
  (token) => `${token}=`,
  (token) => `${token}==`,
  (token) => token.replaceAll('-', '+').replaceAll('_', '/'),
  (token) => token.replace('.', '=.'),
  (token) => token.replace('.', ' .'),
  (token) => token.replace('.', '\n.'),
  (token) => ` ${token}`,
  (token) => `${token}.`,
  (token) => `.${token}`,
  (token) => `${token}.${token}`,
  (token) => token.replace('.', '..'),
  (token) => parts(token).slice(0, 2).join('.'),
  (token) => `${parts(token).slice(0, 2).join('.')}.`,
  (token) => `.${parts(token).slice(1).join('.')}`,
  (token) => `${token}A`,
  (token) => `${token.slice(0, -1)}${token.endsWith('B') ? 'C' : 'B'}`,
  (token) => `Bearer ${token}`,
  (token) => `${token}\u0000`,
  (token) => `${token}\u212a`,
  (token) => token.toLowerCase(),
  () => '',
  () => '..',
];

const BYTES: readonly ((json: string) => string | Buffer)[] = [
  (json) => `\uFEFF${json}`,
  (json) => ` \n\t${json}\r\n`,
  (json) => `${json}x`,
  (json) => `${json}\u0000`,
  (json) => json.slice(0, -1),
  (json) => `[${json}]`,
  () => 'null',
  () => '"text"',
  () => '7',
  () => '[]',
  () => '{}',
  () => '',
  (json) => Buffer.from(json, 'utf16le'),
  (json) =>
    Buffer.concat([Buffer.from(twice(json, '"x":"', true).slice(0, -1)), Buffer.from([0xff]), Buffer.from('"}')]),
  (json) =>
    Buffer.concat([
      Buffer.from(twice(json, '"x":"', true).slice(0, -1)),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('"}'),
    ]),
  (json) => twice(json, '"x":"\\ud800"', true),
  (json) => twice(json, `"x":${'['.repeat(200)}${']'.repeat(200)}`, true),
  (json) => twice(json, '"__proto__":{"alg":"none","exp":1}', true),
  (json) => json.replace('"alg"', '"\\u0061lg"').replace('"aud"', '"\\u0061ud"'),
  (json) => json.replace('"alg"', '"ALG"').replace('"exp"', '"EXP"'),
];

/** Everything that can be odd about a token. Each is played as often as another. */
const ODDITIES: Readonly<Record<string, Oddity>> = {
  'signed by another algorithm': (draft, pick) => {
    const algorithm = pick(...ALGORITHMS.filter((each) => /^[RP]S/.test(each)), 'HS256', 'none');
    return { algorithm, ...withHeader(draft, { alg: algorithm }) };
  },
  'another algorithm in its header': (draft, pick) =>
    withHeader(draft, {
      alg: pick<unknown>(
        ...ALGORITHMS,
        ...NO_TEXTS,
        'none',
        'None',
        '',
        'EdDSA',
        'es256',
        'RS256 ',
        'toString',
        '__proto__',
        'ES256K',
      ),
    }),
  'no algorithm in its header': ({ header }) => ({ header: without(header, 'alg') }),
  'another key id': (draft, pick, pairs) =>
    withHeader(draft, {
      kid: pick<unknown>(
        ...NO_TEXTS,
        '',
        'unknown',
        '__proto__',
        `${draft.pair.keyId} `,
        ...pairs.map(({ keyId }) => keyId),
      ),
    }),
  'no key id': ({ header }) => ({ header: without(header, 'kid') }),
  'another signer with this key id': ({ pair, header }, pick, pairs) => {
    const other = pick(...pairs);
    return {
      pair: other,
      algorithm: other.algorithm,
      header: { ...header, alg: pick(pair.algorithm, other.algorithm) },
    };
  },
  'a bit of its signature': (_draft, pick) => {
    const at = pick(0, 1, 7, 31, 32, 33, 47, 63);
    return resigned((bytes) => Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))));
  },
  'a signature of another length': (_draft, pick) => {
    const change = pick<(bytes: Buffer) => Buffer>(
      (bytes) => bytes.subarray(1),
      (bytes) => bytes.subarray(0, -1),
      (bytes) => Buffer.concat([bytes, Buffer.from([0])]),
      (bytes) => Buffer.concat([Buffer.from([0]), bytes]),
      (bytes) => Buffer.concat([bytes, bytes]),
      () => Buffer.from([0]),
    );
    return resigned(change);
  },
  'a signature of zeros': () => resigned((bytes) => Buffer.alloc(bytes.length)),
  'the other signature of a curve': ({ algorithm, pair }) => {
    const order = ORDERS[algorithm];
    if (order === undefined || pair.algorithm !== algorithm) return {};
    return resigned((bytes) => {
      if (bytes.length === 0) return bytes;
      const half = bytes.length / 2;
      const other = order - BigInt(`0x${bytes.subarray(half).toString('hex')}`);
      return Buffer.concat([bytes.subarray(0, half), Buffer.from(other.toString(16).padStart(2 * half, '0'), 'hex')]);
    });
  },
  'a signature in DER': ({ pair }) =>
    pair.privateKey.asymmetricKeyType === 'ec'
      ? {
          after: (token) => {
            const content = parts(token).slice(0, 2).join('.');
            const der = sign(ES_HASHES[pair.algorithm], Buffer.from(content), pair.privateKey);
            return `${content}.${der.toString('base64url')}`;
          },
        }
      : {},
  'other claims under the signature': (_draft, pick) => ({
    after: (token) => {
      const [head, body, signature] = parts(token);
      const other = pick(text(JSON.stringify(claimsOf({ jti: 'x' }))), text('{}'), body.slice(0, -4));
      return `${head}.${other}.${signature}`;
    },
  }),
  'another expiry': (draft, pick) => withClaims(draft, { exp: time(pick) }),
  'another beginning': (draft, pick) => withClaims(draft, { nbf: time(pick) }),
  'another time of issue': (draft, pick) => withClaims(draft, { iat: time(pick) }),
  'a time that is none': (draft, pick) =>
    withClaims(draft, { [pick('exp', 'nbf', 'iat')]: pick<unknown>(...NO_TIMES) }),
  'a time that is missing': ({ claims }, pick) => ({ claims: without(claims, pick('exp', 'nbf', 'iat')) }),
  'a time without end': (_draft, pick) => {
    const [name, value] = [pick('exp', 'nbf', 'iat'), pick('1e999', '-1e999')];
    return { bodyBytes: (json) => twice(json, `"${name}":${value}`, true) };
  },
  'other audiences': (draft, pick) =>
    withClaims(draft, {
      aud: pick<unknown>(
        ...NO_TEXTS,
        REPORT_AUDIENCE,
        [REPORT_AUDIENCE, REPORT_AUDIENCE],
        ['https://kubernetes.default.svc', REPORT_AUDIENCE],
        [7, REPORT_AUDIENCE],
        [[REPORT_AUDIENCE]],
        { 0: REPORT_AUDIENCE, length: 1 },
        REPORT_AUDIENCE.toUpperCase(),
        `${REPORT_AUDIENCE}-2`,
        [`${REPORT_AUDIENCE} `],
        'https://kubernetes.default.svc',
      ),
    }),
  'a claim that is missing': ({ claims }, pick) => ({ claims: without(claims, pick('aud', 'iss', 'sub')) }),
  'another issuer': (draft, pick) =>
    withClaims(draft, {
      iss: pick<unknown>(...NO_TEXTS, '', 'https://other', `${draft.claims['iss']}/`, [draft.claims['iss']]),
    }),
  'another subject': (draft, pick) =>
    withClaims(draft, {
      sub: pick<unknown>(...NO_TEXTS, '', 'system:serviceaccount:default:default', `${USERNAME} `, [USERNAME]),
    }),
  'another pod or node': (draft, pick) =>
    withClaims(draft, {
      'kubernetes.io': pick<unknown>(
        ...NO_TEXTS,
        { pod: { name: 'agent-1', uid: 'pod-uid-2' }, node: { name: 'n1' } },
        { pod: { name: 'agent-1' }, node: { name: 'n1' } },
        { pod: { name: 7, uid: 'pod-uid-1' } },
        { pod: ['agent-1', 'pod-uid-1'] },
        { pod: { name: 'agent-1', uid: 'pod-uid-1' }, node: { name: 'n2' } },
      ),
    }),
  'critical members': (draft, pick) => {
    const crit = pick<unknown>(...NO_TEXTS, ['exp'], ['b64'], ['alg'], ['kid', 'kid'], 'b64', [7], ['']);
    return withHeader(draft, { crit, ...pick<Fields>({}, { b64: true }, { b64: false }, { exp: 1 }) });
  },
  'members that mean nothing': (draft, pick) =>
    withHeader(
      draft,
      pick<Fields>(
        { b64: false },
        { typ: 'at+jwt' },
        { typ: 7 },
        { jku: 'https://other/keys' },
        { x5c: ['AA=='] },
        { jwk: draft.pair.publicKey.export({ format: 'jwk' }) },
        { zip: 'DEF' },
        { enc: 'A128GCM' },
        { cty: 'JWT' },
      ),
    ),
  'a member twice': (_draft, pick, pairs) => {
    const member = pick(
      '"alg":"none"',
      '"alg":"HS256"',
      '"alg":7',
      '"kid":"unknown"',
      ...pairs.map(({ keyId }) => `"kid":"${keyId}"`),
    );
    const isLast = pick(true, false);
    return { headBytes: (json) => twice(json, member, isLast) };
  },
  'a claim twice': (_draft, pick) => {
    const member = pick(
      '"exp":1',
      '"exp":1e12',
      '"aud":"x"',
      `"aud":"${REPORT_AUDIENCE}"`,
      '"sub":"x"',
      '"iss":"x"',
      '"nbf":1e12',
    );
    const isLast = pick(true, false);
    return { bodyBytes: (json) => twice(json, member, isLast) };
  },
  'another header in bytes': (_draft, pick) => ({ headBytes: pick(...BYTES) }),
  'other claims in bytes': (_draft, pick) => ({ bodyBytes: pick(...BYTES) }),
  'another spelling': (_draft, pick) => ({ after: pick(...SPELLINGS) }),
  'huge values': (draft, pick) => {
    const huge = pick('x'.repeat(5000), 'x'.repeat(9000), 'x'.repeat(100_000));
    return pick<Partial<Draft>>(
      withClaims(draft, { jti: huge }),
      withHeader(draft, { jti: huge }),
      withHeader(draft, { kid: huge }),
    );
  },
};

export const ODDITY_NAMES: readonly string[] = Object.keys(ODDITIES);

/** By the clock of the tests; a number of seconds since the epoch. */
function time(pick: Pick): number {
  const nowSeconds = Date.UTC(2026, 0, 1) / 1000;
  return pick(...OFF.map((each) => nowSeconds + each), ...HUGE);
}

/** Signs with `pairs`. `random` gives numbers in [0, 1). */
export function oddToken(pairs: readonly SigningPair[], random: () => number): OddToken {
  const pick: Pick = (...choices) => choices[Math.floor(random() * choices.length)] as (typeof choices)[number];
  const pair = pick(...pairs);
  let draft: Draft = {
    ...{ pair, algorithm: pair.algorithm, header: { alg: pair.algorithm, kid: pair.keyId }, claims: claimsOf() },
    ...{ headBytes: (json) => json, bodyBytes: (json) => json, after: (token) => token },
  };
  const oddities = Array.from({ length: pick(0, 1, 1, 1, 1, 2, 3) }, () => pick(...ODDITY_NAMES));
  for (const name of oddities) draft = { ...draft, ...ODDITIES[name]?.(draft, pick, pairs) };
  const { header, claims, headBytes, bodyBytes, after } = draft;
  const part = (bytes: string | Buffer) => Buffer.from(bytes as string).toString('base64url');
  const content = `${part(headBytes(JSON.stringify(header)))}.${part(bodyBytes(JSON.stringify(claims)))}`;
  const signature = signatureOf(draft.algorithm, draft.pair, content).toString('base64url');
  return { token: after(`${content}.${signature}`), oddities, bound: oddities.includes('another pod or node') };
}
