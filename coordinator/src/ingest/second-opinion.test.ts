import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose';
import { expect, test } from 'vitest';
import { type Algorithm, issuerOf, signingPair, USERNAME } from './bearer-auth.test-fixtures.ts';
import { BearerAuth } from './bearer-auth.ts';
import { ODDITY_NAMES, type OddToken, oddToken } from './odd-tokens.test-fixtures.ts';
import { readBearerToken } from './report-handler.ts';
import { ReportRefusal } from './report-refusal.ts';
import { SigningKeys } from './signing-keys.ts';
import { isCanonicalToken } from './token-claims.ts';

const TOKENS = 10_000;
const ALGORITHMS: readonly Algorithm[] = ['RS256', 'ES256', 'ES384', 'ES512'];
const LEEWAY_SECONDS = 300;

const clock = new FakeClock();
const pairs = ALGORITHMS.map((algorithm) => signingPair(algorithm));
const issuer = issuerOf(...pairs);
const keys = new SigningKeys({ read: async () => issuer, clock, logger: silentLogger() });
const jwks = createLocalJWKSet({ keys: issuer.keys } as JSONWebKeySet);

/** `asks`: the API server is to review it. */
type Verdict = 'takes' | 'refuses' | 'asks';

async function ours(token: string): Promise<Verdict> {
  let isAsked = false;
  const auth = new BearerAuth({
    ...{ username: USERNAME, agents: () => 1, isStale: () => false, clock, random: () => 0 },
    agentPodNode: ({ uid }) => (uid === 'pod-uid-1' ? 'n1' : undefined),
    signature: (...what) => keys.judge(...what),
    review: async () => {
      isAsked = true;
      return { authenticated: false };
    },
  });
  try {
    await auth.authenticate(token);
    return 'takes';
  } catch (err) {
    if (!(err instanceof ReportRefusal)) throw err;
    return isAsked ? 'asks' : 'refuses';
  }
}

/** What jose says: its error, or nothing where it takes the token. */
async function theirs(token: string): Promise<errors.JOSEError | undefined> {
  try {
    await jwtVerify(token, jwks, {
      ...{ algorithms: [...ALGORITHMS], issuer: issuer.issuer, audience: REPORT_AUDIENCE, subject: USERNAME },
      ...{ clockTolerance: LEEWAY_SECONDS, currentDate: new Date(clock.now()), requiredClaims: ['exp'] },
    });
    return undefined;
  } catch (err) {
    if (!(err instanceof errors.JOSEError)) throw err;
    return err;
  }
}

/** A part of a token, as far as it can be read. */
function partOf(token: string, at: 0 | 1): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString()) ?? {};
  } catch {
    return {};
  }
}

function timesIn(token: string): number[] {
  const { iat, nbf, exp } = partOf(token, 1);
  return [iat, nbf, exp].filter((time) => typeof time === 'number');
}

/** Why jose takes what is refused here. Each has to occur. */
const STRICTER: Readonly<Record<string, (odd: OddToken) => boolean>> = {
  'it is one of several spellings': ({ token }) => !isCanonicalToken(token),
  'it begins with a byte order mark': ({ token }) => token.split('.').some((part) => part.startsWith('77u_')),
  'it is longer than 8 KiB': ({ token }) => token.length > 8192,
  'its pod is not there, or not on its node': ({ bound }) => bound,
  'it has a time without end': ({ token }) => !timesIn(token).every(Number.isFinite),
  'it names an extension as critical, as which jose knows b64': ({ token }) => 'crit' in partOf(token, 0),
  // jose leaves out the fraction of the clock.
  'it ended within this second': ({ token }) => {
    const left = Number(partOf(token, 1)['exp']) + LEEWAY_SECONDS - clock.now() / 1000;
    return left <= 0 && left > -1;
  },
};

/** Why the API server is asked, whatever jose says: it takes the only key of an algorithm where none is named. */
const ASKED: Readonly<Record<string, (token: string) => boolean>> = {
  'it names no key': (token) => !partOf(token, 0)['kid'] || typeof partOf(token, 0)['kid'] !== 'string',
  'its key is not known': (token) => !pairs.some(({ keyId }) => keyId === partOf(token, 0)['kid']),
  'it has another issuer than the first': (token) => partOf(token, 1)['iss'] !== issuer.issuer,
};

test('10,000 tokens have the verdict that jose has on them, or one of few reasons', { timeout: 300_000 }, async () => {
  await clock.advance(400);
  let state = 59;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  const differing: object[] = [];
  for (let index = 0; index < TOKENS; index += 1) {
    const made = oddToken(pairs, random);
    const read = readBearerToken(`Bearer ${made.token}`);
    const odd = { ...made, token: read ?? made.token };
    const [verdict, error] = [read === undefined ? 'refuses' : await ours(read), await theirs(odd.token)];
    for (const name of odd.oddities) count(name);
    count(verdict);
    const reason =
      verdict === 'asks'
        ? Object.entries(ASKED).find(([, fits]) => fits(odd.token))?.[0]
        : Object.entries(STRICTER).find(([, fits]) => verdict === 'refuses' && error === undefined && fits(odd))?.[0];
    if (reason !== undefined) count(reason);
    else if (verdict === 'asks' || (verdict === 'takes') !== (error === undefined))
      differing.push({ verdict, error: error?.message, ...odd, token: odd.token.slice(0, 2000) });
  }
  expect(differing.slice(0, 5)).toEqual([]);
  const expected = [...ODDITY_NAMES, ...Object.keys(STRICTER), ...Object.keys(ASKED), 'takes', 'refuses', 'asks'];
  expect(expected.filter((what) => !counts.has(what))).toEqual([]);
  expect(counts.get('takes')).toBeGreaterThan(TOKENS / 10);
});
