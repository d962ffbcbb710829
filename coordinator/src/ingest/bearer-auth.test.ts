import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import type { TokenReviewResult } from './agent-identity.ts';
import { claimsOf, signed, signingPair, USERNAME } from './bearer-auth.test-fixtures.ts';
import { BearerAuth, type BearerAuthOptions, type ReviewResult } from './bearer-auth.ts';
import type { Signature } from './signing-keys.ts';

const pair = signingPair('ES256');

/** Any two are different tokens. */
function tokenOf(change: object = {}): string {
  return signed(pair, claimsOf(change));
}

function accepted(extra: Record<string, string> = {}): TokenReviewResult {
  const all = { 'node-name': 'n1', 'node-uid': 'node-uid-1', 'pod-name': 'agent-1', 'pod-uid': 'pod-uid-1', ...extra };
  const entries = Object.entries(all).filter(([, value]) => value !== '');
  return {
    authenticated: true,
    username: USERNAME,
    extra: Object.fromEntries(entries.map(([key, value]) => [`authentication.kubernetes.io/${key}`, [value]])),
  };
}

function setUp(options: Partial<BearerAuthOptions> = {}) {
  const clock = new FakeClock();
  const reviewed: string[] = [];
  const results: ReviewResult[] = [];
  const pods = new Map([['pod-uid-1', 'n1']]);
  const { review = async () => accepted(), ...others } = options;
  const state: { signature: Signature; verified: number; stale: boolean } = {
    signature: 'unknown',
    verified: 0,
    stale: false,
  };
  const auth = new BearerAuth({
    signature: async () => {
      state.verified += 1;
      return state.signature;
    },
    review: (token) => {
      reviewed.push(token);
      return review(token);
    },
    username: USERNAME,
    agentPodNode: ({ uid }) => pods.get(uid),
    agents: () => pods.size,
    isStale: () => state.stale,
    clock,
    random: () => 0,
    onReview: (result) => results.push(result),
    ...others,
  });
  return { auth, clock, reviewed, results, pods, state };
}

const podOf = (uid: string) => ({ 'kubernetes.io': { pod: { name: `agent-${uid}`, uid } } });

describe('what a token claims', () => {
  it.each([
    ['nothing that can be read', 'abc.def.ghi', 401, 'not one of a service account'],
    ['nothing at all', 'opaque', 401, 'not one of a service account'],
    ['another audience', tokenOf({ aud: ['https://kubernetes.default.svc'] }), 401, 'audience'],
    ['an audience that begins like ours', tokenOf({ aud: 'rollcall-coordinator-2' }), 401, 'audience'],
    ['another account', tokenOf({ sub: 'system:serviceaccount:default:default' }), 403, 'default:default'],
    ['no pod', tokenOf({ 'kubernetes.io': { node: { name: 'n1', uid: 'node-uid-1' } } }), 401, 'not bound to a pod'],
    ['a pod that is not there', tokenOf(podOf('pod-uid-9')), 401, 'No pod agent-pod-uid-9'],
    [
      'another node than its pod’s',
      tokenOf({ 'kubernetes.io': { pod: { name: 'agent-1', uid: 'pod-uid-1' }, node: { name: 'n2' } } }),
      401,
      'not on node n2',
    ],
    ['a time that is over', tokenOf({ exp: Date.UTC(2026, 0, 1) / 1000 - 301 }), 401, 'expired'],
    [
      'a time that ends now, by a clock that may be off',
      tokenOf({ exp: Date.UTC(2026, 0, 1) / 1000 - 300 }),
      401,
      'expired',
    ],
    ['no end', tokenOf({ exp: undefined }), 401, 'expired'],
    ['a time that has not come', tokenOf({ nbf: Date.UTC(2026, 0, 1) / 1000 + 301 }), 401, 'expired'],
  ])('is enough to refuse it, without a request to the API server: %s', async (_what, token, status, message) => {
    const { auth, state, reviewed } = setUp();
    await expect(auth.authenticate(token)).rejects.toMatchObject({ status, message: expect.stringContaining(message) });
    expect(state.verified).toBe(0);
    expect(reviewed).toEqual([]);
  });

  it('may be that its time ends a moment from now, or has just come, by a clock that may be off', async () => {
    const { auth, state } = setUp();
    state.signature = 'good';
    const nowSeconds = Date.UTC(2026, 0, 1) / 1000;
    for (const change of [{ exp: nowSeconds - 299 }, { nbf: nowSeconds + 300 }, { nbf: undefined }]) {
      await expect(auth.authenticate(tokenOf(change))).resolves.toMatchObject({ node: 'n1' });
    }
  });

  it('is looked at anew each time: a pod that the watch shows a moment later is let in', async () => {
    const { auth, pods } = setUp();
    pods.clear();
    const token = tokenOf();
    await expect(auth.authenticate(token)).rejects.toMatchObject({ status: 401 });
    pods.set('pod-uid-1', 'n1');
    await expect(auth.authenticate(token)).resolves.toMatchObject({ node: 'n1' });
  });

  it('need not name the node, which the pod tells', async () => {
    const { auth, pods } = setUp({ review: async () => accepted({ 'node-name': '', 'node-uid': '' }) });
    pods.set('pod-uid-1', 'n7');
    const token = tokenOf({ 'kubernetes.io': { pod: { name: 'agent-1', uid: 'pod-uid-1' } } });
    await expect(auth.authenticate(token)).resolves.toMatchObject({ node: 'n7' });
  });
});

describe('a signature', () => {
  it('that is good needs no TokenReview', async () => {
    const { auth, reviewed, state } = setUp();
    state.signature = 'good';
    await expect(auth.authenticate(tokenOf())).resolves.toEqual({
      node: 'n1',
      pod: { name: 'agent-1', uid: 'pod-uid-1' },
      issuedAtSeconds: Date.UTC(2026, 0, 1) / 1000,
    });
    expect(reviewed).toEqual([]);
  });

  it('that is bad is 401, and is not checked again for 5 s', async () => {
    const { auth, reviewed, state, clock } = setUp();
    state.signature = 'bad';
    const token = tokenOf();
    const unauthenticated = {
      status: 401,
      code: 'REPORT_UNAUTHENTICATED',
      headers: { 'www-authenticate': expect.stringContaining('invalid_token') },
    };
    await expect(auth.authenticate(token)).rejects.toMatchObject(unauthenticated);
    await clock.advance(4_999);
    await expect(auth.authenticate(token)).rejects.toMatchObject(unauthenticated);
    expect(state.verified).toBe(1);
    await clock.advance(1);
    await expect(auth.authenticate(token)).rejects.toMatchObject(unauthenticated);
    expect(state.verified).toBe(2);
    expect(reviewed).toEqual([]);
  });

  it('is not asked for where verification is off', async () => {
    const { auth, reviewed, state } = setUp({ signature: undefined as never });
    await auth.authenticate(tokenOf());
    expect(state.verified).toBe(0);
    expect(reviewed).toHaveLength(1);
  });

  it('is taken with a clock that is off by 2 minutes, either way', async () => {
    const { auth, clock, state } = setUp();
    state.signature = 'good';
    clock.jumpWallClock(-120_000);
    await auth.authenticate(tokenOf());
    clock.jumpWallClock(3_600_000 + 240_000);
    await expect(auth.authenticate(tokenOf())).resolves.toMatchObject({ node: 'n1' });
  });
});

describe('a verdict', () => {
  it('holds for 10 minutes, less a share that differs', async () => {
    for (const [random, untilMs] of [
      [0, 600_000],
      [0.5, 540_000],
    ] as const) {
      const { auth, clock, state } = setUp({ random: () => random });
      state.signature = 'good';
      const token = tokenOf();
      await auth.authenticate(token);
      await clock.advance(untilMs - 1);
      await auth.authenticate(token);
      expect(state.verified).toBe(1);
      await clock.advance(1);
      await auth.authenticate(token);
      expect(state.verified).toBe(2);
    }
  });

  it('does not outlive the token by more than the leeway', async () => {
    const { auth, clock, state } = setUp();
    state.signature = 'good';
    const token = tokenOf({ exp: clock.now() / 1000 + 10 });
    await auth.authenticate(token);
    await clock.advance(309_999);
    await auth.authenticate(token);
    await clock.advance(2);
    await expect(auth.authenticate(token)).rejects.toMatchObject({ status: 401 });
  });

  it('is worth nothing once the pod is gone, or is on another node', async () => {
    const { auth, pods, state } = setUp();
    state.signature = 'good';
    const token = tokenOf();
    await auth.authenticate(token);
    pods.set('pod-uid-1', 'n2');
    await expect(auth.authenticate(token)).rejects.toMatchObject({ status: 401 });
    pods.delete('pod-uid-1');
    await expect(auth.authenticate(token)).rejects.toMatchObject({ status: 401 });
  });

  it('is not given on a pod that goes while the API server is asked', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    const { auth, pods } = setUp({ review: () => promise });
    const pending = auth.authenticate(tokenOf());
    pods.clear();
    resolve(accepted());
    await expect(pending).rejects.toMatchObject({ status: 401 });
  });

  it('is not given on a new sender while what is known of pods may be old', async () => {
    const { auth, state } = setUp();
    state.signature = 'good';
    const token = tokenOf();
    await auth.authenticate(token);
    state.stale = true;
    await expect(auth.authenticate(token)).resolves.toMatchObject({ node: 'n1' });
    await expect(auth.authenticate(tokenOf())).rejects.toMatchObject({ status: 503 });
  });

  it('is remembered of so many tokens, and refused ones do not push out the others', async () => {
    const { auth, state } = setUp({ acceptedMax: 2 });
    state.signature = 'good';
    const [a, b, c] = [tokenOf(), tokenOf(), tokenOf()];
    for (const token of [a, b, c]) await auth.authenticate(token);
    state.signature = 'bad';
    for (let index = 0; index < 50; index += 1) await auth.authenticate(tokenOf()).catch(() => {});
    const before = state.verified;
    await auth.authenticate(c);
    expect(state.verified).toBe(before);
    await expect(auth.authenticate(a)).rejects.toMatchObject({ status: 401 });
  });
});

describe('a TokenReview', () => {
  it('is one for many reports that come at the same time', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    const { auth, reviewed } = setUp({ review: () => promise });
    const token = tokenOf();
    const all = Promise.all(Array.from({ length: 50 }, () => auth.authenticate(token)));
    resolve(accepted());
    expect(await all).toHaveLength(50);
    expect(reviewed).toEqual([token]);
  });

  it.each([
    ['does not know the token', { authenticated: false, error: 'token has expired' }, 401, 'token has expired'],
    [
      'knows another account',
      { ...accepted(), username: 'system:serviceaccount:default:default' },
      403,
      'default:default',
    ],
    ['knows another pod', accepted({ 'pod-uid': 'pod-uid-2' }), 401, 'another pod'],
    ['knows another node', accepted({ 'node-name': 'n2' }), 401, 'another pod or node'],
  ])('that %s refuses it, for 5 s', async (_what, result, status, message) => {
    const { auth, clock, reviewed, results } = setUp({ review: async () => result });
    const token = tokenOf();
    const refusal = { status, message: expect.stringContaining(message) };
    await expect(auth.authenticate(token)).rejects.toMatchObject(refusal);
    await clock.advance(4_999);
    await expect(auth.authenticate(token)).rejects.toMatchObject(refusal);
    expect(reviewed).toHaveLength(1);
    await clock.advance(1);
    await expect(auth.authenticate(token)).rejects.toMatchObject(refusal);
    expect(reviewed).toHaveLength(2);
    const counted = status === 401 ? 'unauthenticated' : 'forbidden';
    expect(results).toEqual([counted, counted]);
  });

  it('without an answer is 503, and forgotten', async () => {
    let up = false;
    const { auth, clock, results } = setUp({
      review: async () => {
        if (!up) throw new Error('connection refused');
        return accepted();
      },
    });
    const token = tokenOf();
    await expect(auth.authenticate(token)).rejects.toMatchObject({
      status: 503,
      code: 'REPORT_UNAVAILABLE',
      headers: { 'retry-after': '1' },
    });
    up = true;
    await clock.advance(1000);
    await expect(auth.authenticate(token)).resolves.toMatchObject({ node: 'n1' });
    expect(results).toEqual(['failed', 'accepted']);
  });

  it('is one at a time for a pod, whatever tokens are made up for it, and others do not wait', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    const { auth, pods, reviewed, results } = setUp({
      review: (token) => (token === other ? Promise.resolve(accepted({ 'pod-uid': 'other' })) : promise),
    });
    pods.set('other', 'n1');
    const other = tokenOf({ 'kubernetes.io': { pod: { name: 'agent-other', uid: 'other' } } });
    const first = auth.authenticate(tokenOf());
    for (let index = 0; index < 20; index += 1) {
      await expect(auth.authenticate(tokenOf())).rejects.toMatchObject({ status: 503 });
    }
    await expect(auth.authenticate(other)).resolves.toMatchObject({ node: 'n1' });
    resolve(accepted());
    await first;
    expect(reviewed).toHaveLength(2);
    expect(results.filter((result) => result === 'limited')).toHaveLength(20);
  });
});

describe('another spelling of a token', () => {
  it.each(['ES256', 'RS256'] as const)('of %s is refused before its signature is checked', async (algorithm) => {
    const { auth, state } = setUp();
    state.signature = 'good';
    const token = signed(signingPair(algorithm), claimsOf());
    await auth.authenticate(token);
    const [head = '', body = '', signature = ''] = token.split('.');
    const last = signature.slice(0, -1);
    const spellings = [
      `${token}=`,
      `${head}=.${body}.${signature}`,
      `${head}.${body}~.${signature}`,
      `${head}.~${body}.${signature}`,
      ...[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].map(
        (character) => `${head}.${body}.${last}${character}`,
      ),
    ].filter((each) => Buffer.from(each.split('.')[2] ?? '', 'base64url').equals(Buffer.from(signature, 'base64url')));
    expect(new Set(spellings).size).toBeGreaterThan(6);
    for (const spelling of spellings.filter((each) => each !== token)) {
      await expect(auth.authenticate(spelling)).rejects.toMatchObject({ status: 401 });
    }
    expect(state.verified).toBe(1);
  });
});
