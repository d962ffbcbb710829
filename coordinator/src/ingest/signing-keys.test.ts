import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import { KubeStatusError } from '../kube/client.ts';
import type { TokenIssuer } from '../kube/token-review.ts';
import { type Algorithm, claimsOf, issuerOf, signed, signingPair } from './bearer-auth.test-fixtures.ts';
import { SigningKeys } from './signing-keys.ts';
import { readClaims, type TokenClaims } from './token-claims.ts';

function setUp(first: TokenIssuer) {
  const clock = new FakeClock();
  const state = { issuer: first, error: undefined as unknown, reads: 0 };
  const told: string[] = [];
  const log = (_fields: unknown, message: string) => void told.push(message);
  const keys = new SigningKeys({
    read: async () => {
      state.reads += 1;
      if (state.error) throw state.error;
      return state.issuer;
    },
    clock,
    logger: { ...silentLogger(), info: log, warn: log } as never,
  });
  return { clock, state, told, keys, judge: (token: string) => keys.judge(token, readClaims(token) as TokenClaims) };
}

const pair = signingPair('ES256');

describe('a signature', () => {
  it.each(['RS256', 'ES256', 'ES384', 'ES512'] as Algorithm[])('is checked: %s', async (algorithm) => {
    const own = signingPair(algorithm);
    const { judge, state } = setUp(issuerOf(pair, own));
    const token = signed(own, claimsOf());
    expect(await judge(token)).toBe('good');
    expect(await judge(signed({ ...signingPair(algorithm), keyId: own.keyId }, claimsOf()))).toBe('bad');
    const [head, , signature] = token.split('.');
    const other = Buffer.from(JSON.stringify(claimsOf({ exp: 1 }))).toString('base64url');
    expect(await judge(`${head}.${other}.${signature}`)).toBe('bad');
    expect(state.reads).toBe(1);
  });

  it.each(['none', 'HS256', 'RS256', 'ES384', 'constructor', ''])(
    'is bad by another algorithm: %s',
    async (algorithm) => {
      const { judge } = setUp(issuerOf(pair));
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const [, , signature] = signed(pair, claimsOf()).split('.');
      expect(await judge(`${part({ alg: algorithm, kid: pair.keyId })}.${part(claimsOf())}.${signature}`)).toBe('bad');
    },
  );

  it.each([
    ['ES256', 64],
    ['ES384', 96],
    ['ES512', 132],
    ['RS256', 256],
  ] as const)(
    'of %s has %i bytes, and is bad with zeros before its parts or behind them',
    async (algorithm, length) => {
      const own = signingPair(algorithm);
      const { judge } = setUp(issuerOf(own));
      const [head = '', body = '', text = ''] = signed(own, claimsOf()).split('.');
      const signature = Buffer.from(text, 'base64url');
      expect(signature).toHaveLength(length);
      const zero = Buffer.from([0]);
      const [r, s] = [signature.subarray(0, length / 2), signature.subarray(length / 2)];
      for (const parts of [
        [zero, signature],
        [signature, zero],
        [zero, r, zero, s],
      ]) {
        expect(await judge(`${head}.${body}.${Buffer.concat(parts).toString('base64url')}`)).toBe('bad');
      }
    },
  );

  it('is left to the API server with another issuer, without a key id, and of a key of another kind', async () => {
    const { judge } = setUp({ ...issuerOf(pair), keys: [...issuerOf(pair).keys, { kty: 'OKP', kid: 'okp' }] });
    expect(await judge(signed(pair, claimsOf({ iss: 'https://other' })))).toBe('unknown');
    expect(await judge(signed({ ...pair, keyId: '' }, claimsOf()))).toBe('unknown');
    expect(await judge(signed({ ...pair, keyId: 'okp' }, claimsOf()))).toBe('unknown');
  });
});

describe('the keys', () => {
  const next = signingPair('ES256', 'next');

  it('are read again for one that is not known, but not twice in 10 s', async () => {
    const { judge, state, clock } = setUp(issuerOf(pair));
    expect(await judge(signed(pair, claimsOf()))).toBe('good');
    state.issuer = issuerOf(pair, next);
    expect(await judge(signed(next, claimsOf()))).toBe('unknown');
    expect(state.reads).toBe(1);
    await clock.advance(10_000);
    const answers = Array.from({ length: 10 }, () => judge(signed(next, claimsOf())));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['good']));
    expect(state.reads).toBe(2);
  });

  it('are read again every 5 minutes, so that one that is withdrawn counts no more', async () => {
    const { judge, state, clock } = setUp(issuerOf(pair));
    await judge(signed(pair, claimsOf()));
    state.issuer = issuerOf(next);
    await clock.advance(301_000);
    await judge(signed(pair, claimsOf()));
    await clock.advance(0);
    expect(await judge(signed(pair, claimsOf()))).toBe('unknown');
    expect(state.reads).toBe(2);
  });

  it('are read again before one is trusted that was withdrawn since, however long no token came', async () => {
    const { judge, state, clock } = setUp(issuerOf(pair));
    await judge(signed(pair, claimsOf()));
    state.issuer = issuerOf(next);
    await clock.advance(7 * 86_400_000);
    expect(await judge(signed(pair, claimsOf()))).toBe('unknown');
  });

  it('stay while the API server is away, and go when it keeps them to itself', async () => {
    const { judge, state, clock } = setUp(issuerOf(pair));
    await judge(signed(pair, claimsOf()));
    state.error = new Error('connection refused');
    await clock.advance(301_000);
    await judge(signed(pair, claimsOf()));
    await clock.advance(10_000);
    expect(await judge(signed(pair, claimsOf()))).toBe('good');
    state.error = new KubeStatusError(403, {}, undefined, {});
    await clock.advance(10_000);
    await judge(signed(pair, claimsOf()));
    await clock.advance(0);
    expect(await judge(signed(pair, claimsOf()))).toBe('unknown');
  });
});

describe('the API server', () => {
  const REFUSED = 'Cannot read the keys of the API server; each token costs a TokenReview';

  it.each([
    ['stay', 500],
    ['stay', 503],
    ['stay', 429],
    ['go', 401],
    ['go', 404],
  ])('has keys that %s when it answers %i', async (what, status) => {
    const { judge, state, clock } = setUp(issuerOf(pair));
    await judge(signed(pair, claimsOf()));
    state.error = new KubeStatusError(status, {}, undefined, {});
    await clock.advance(300_001);
    await judge(signed(pair, claimsOf()));
    await clock.advance(0);
    expect(await judge(signed(pair, claimsOf()))).toBe(what === 'stay' ? 'good' : 'unknown');
  });

  it('is asked again after 5 minutes, and not at them', async () => {
    const { judge, state, clock } = setUp(issuerOf(pair));
    await judge(signed(pair, claimsOf()));
    await clock.advance(300_000);
    await judge(signed(pair, claimsOf()));
    expect(state.reads).toBe(1);
    await clock.advance(1);
    await judge(signed(pair, claimsOf()));
    expect(state.reads).toBe(2);
  });

  it('is asked once by many at the same time, and again 10 s later', async () => {
    const { keys, state, clock } = setUp(issuerOf(pair));
    await Promise.all([keys.refresh(), keys.refresh()]);
    await clock.advance(9_999);
    await keys.refresh();
    expect(state.reads).toBe(1);
    await clock.advance(1);
    await keys.refresh();
    expect(state.reads).toBe(2);
  });

  it('is reported once when it keeps its keys to itself, and when it gives them again', async () => {
    const { keys, state, clock, told } = setUp(issuerOf(pair));
    const refresh = async () => {
      await clock.advance(10_000);
      await keys.refresh();
    };
    await refresh();
    state.error = new Error('connection refused');
    await refresh();
    expect(told).toEqual([]);
    state.error = new KubeStatusError(403, {}, undefined, {});
    await refresh();
    await refresh();
    state.error = undefined;
    await refresh();
    await refresh();
    expect(told).toEqual([REFUSED, 'Read the keys by which the API server signs tokens']);
  });

  it('may have keys without a name, or that cannot be read, beside good ones', async () => {
    const { issuer, keys } = issuerOf(pair);
    const nameless = { ...issuerOf(signingPair('ES256', 'x')).keys[0] };
    delete nameless.kid;
    const { judge } = setUp({ issuer, keys: [nameless, { kty: 'EC', kid: 'broken' }, ...keys] });
    expect(await judge(signed(pair, claimsOf()))).toBe('good');
    expect(await judge(signed({ ...pair, keyId: 'broken' }, claimsOf()))).toBe('unknown');
  });
});
