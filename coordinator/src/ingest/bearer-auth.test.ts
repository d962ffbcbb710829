import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import type { TokenReviewResult } from './agent-identity.ts';
import { BearerAuth, type BearerAuthOptions, type ReviewResult } from './bearer-auth.ts';

const USERNAME = 'system:serviceaccount:rollcall:rollcall-agent';

function accepted(extra: Record<string, string> = {}): TokenReviewResult {
  const all = {
    'node-name': 'n1',
    'node-uid': 'node-uid-1',
    'pod-name': 'agent-1',
    'pod-uid': 'pod-uid-1',
    ...extra,
  };
  const entries = Object.entries(all).filter(([, value]) => value !== '');
  return {
    authenticated: true,
    username: USERNAME,
    extra: Object.fromEntries(entries.map(([key, value]) => [`authentication.kubernetes.io/${key}`, [value]])),
  };
}

function jwt(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
}

function setUp(review: BearerAuthOptions['review'], options: Partial<BearerAuthOptions> = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const results: ReviewResult[] = [];
  const auth = new BearerAuth({
    review: (token) => {
      asked.push(token);
      return review(token);
    },
    username: USERNAME,
    agentPod: () => undefined,
    clock,
    onReview: (result) => results.push(result),
    ...options,
  });
  return { auth, clock, asked, results };
}

describe('BearerAuth', () => {
  it('tells node, pod and time of issue of an accepted token', async () => {
    const { auth, results } = setUp(async () => accepted());
    await expect(auth.authenticate(jwt({ iat: 1000, exp: 9_999_999_999 }))).resolves.toEqual({
      node: 'n1',
      nodeUid: 'node-uid-1',
      pod: { name: 'agent-1', uid: 'pod-uid-1' },
      issuedAtSeconds: 1000,
    });
    expect(results).toEqual(['accepted']);
  });

  it('asks again only after a minute', async () => {
    const { auth, clock, asked } = setUp(async () => accepted());
    await auth.authenticate('t');
    await clock.advance(59_999);
    await auth.authenticate('t');
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await auth.authenticate('t');
    expect(asked).toHaveLength(2);
  });

  it('does not trust a verdict beyond the end of the token', async () => {
    const { auth, clock, asked } = setUp(async () => accepted());
    const token = jwt({ iat: 1, exp: clock.now() / 1000 + 10 });
    await auth.authenticate(token);
    await clock.advance(9_999);
    await auth.authenticate(token);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await auth.authenticate(token);
    expect(asked).toHaveLength(2);
  });

  it('refuses with 401 a token that the API server does not accept, and remembers it for 5 s', async () => {
    const { auth, clock, asked, results } = setUp(async () => ({ authenticated: false, error: 'token has expired' }));
    await expect(auth.authenticate('t')).rejects.toMatchObject({
      status: 401,
      code: 'REPORT_UNAUTHENTICATED',
      message: expect.stringContaining('token has expired'),
      headers: { 'www-authenticate': expect.stringContaining('invalid_token') },
    });
    await clock.advance(4_999);
    await expect(auth.authenticate('t')).rejects.toMatchObject({ status: 401 });
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await expect(auth.authenticate('t')).rejects.toMatchObject({ status: 401 });
    expect(asked).toHaveLength(2);
    expect(results).toEqual(['unauthenticated', 'unauthenticated']);
  });

  it('refuses with 403 a token of another account', async () => {
    const other = 'system:serviceaccount:default:default';
    const { auth, asked, results } = setUp(async () => ({ ...accepted(), username: other }));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(auth.authenticate('t')).rejects.toMatchObject({
        status: 403,
        code: 'REPORT_FORBIDDEN',
        message: expect.stringContaining(other),
      });
    }
    expect(asked).toHaveLength(1);
    expect(results).toEqual(['forbidden']);
  });

  it('refuses with 403 a token that is bound to nothing', async () => {
    const { auth } = setUp(async () => accepted({ 'node-name': '', 'pod-name': '', 'pod-uid': '' }));
    await expect(auth.authenticate('t')).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('neither a node nor a pod'),
    });
  });

  it('looks up the pod where the token names no node', async () => {
    const { auth } = setUp(async () => accepted({ 'node-name': '', 'node-uid': '' }), {
      agentPod: (name, uid) => (name === 'agent-1' && uid === 'pod-uid-1' ? { nodeName: 'n7' } : undefined),
    });
    await expect(auth.authenticate('t')).resolves.toEqual({
      node: 'n7',
      pod: { name: 'agent-1', uid: 'pod-uid-1' },
    });
  });

  it('accepts within a second a pod that the watch did not show at first', async () => {
    const pods = new Map<string, { nodeName: string }>();
    const { auth, clock } = setUp(async () => accepted({ 'node-name': '' }), { agentPod: (name) => pods.get(name) });
    await expect(auth.authenticate('t')).rejects.toMatchObject({
      status: 403,
      message: expect.stringMatching(/no pod agent-1 with uid pod-uid-1/),
    });
    pods.set('agent-1', { nodeName: 'n1' });
    await clock.advance(900);
    await expect(auth.authenticate('t')).resolves.toMatchObject({ node: 'n1' });
  });

  it('asks once for many reports that come at the same time', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    const { auth, asked } = setUp(() => promise);
    const all = Promise.all(Array.from({ length: 50 }, () => auth.authenticate('t')));
    resolve(accepted());
    expect(await all).toHaveLength(50);
    expect(asked).toHaveLength(1);
  });

  it('answers 503 and forgets it when the API server gives no answer', async () => {
    let up = false;
    const { auth, results } = setUp(async () => {
      if (!up) throw new Error('connection refused');
      return accepted();
    });
    await expect(auth.authenticate('t')).rejects.toMatchObject({
      status: 503,
      code: 'REPORT_UNAVAILABLE',
      headers: { 'retry-after': '1' },
    });
    up = true;
    await expect(auth.authenticate('t')).resolves.toMatchObject({ node: 'n1' });
    expect(results).toEqual(['failed', 'accepted']);
  });

  it('refuses the tokens of a deleted pod from then on, whatever the API server says', async () => {
    const { auth, clock, asked } = setUp(async () => accepted());
    await auth.authenticate('t');
    auth.forgetPod('pod-uid-1');
    await expect(auth.authenticate('t')).rejects.toMatchObject({ status: 401 });
    expect(asked).toHaveLength(2);
    await clock.advance(30_000);
    await expect(auth.authenticate('t')).rejects.toMatchObject({ status: 401 });
  });

  it('refuses a token whose pod is deleted while it is being reviewed', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    const { auth } = setUp(() => promise);
    const pending = auth.authenticate('t');
    auth.forgetPod('pod-uid-1');
    resolve(accepted());
    await expect(pending).rejects.toMatchObject({ status: 401 });
  });

  it('leaves the tokens of other pods alone when one is deleted', async () => {
    const { auth, asked } = setUp(async (token) => accepted({ 'pod-uid': `pod-of-${token}` }));
    await auth.authenticate('a');
    await auth.authenticate('b');
    auth.forgetPod('pod-of-a');
    await auth.authenticate('b');
    expect(asked).toEqual(['a', 'b']);
  });

  it('bounds what it asks at once and what waits, and says 503 beyond', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    const { auth, asked, results } = setUp(() => promise, { reviewsMax: 2, waitingMax: 3 });
    const pending = ['a', 'b', 'c', 'd', 'e'].map((token) => auth.authenticate(token));
    await expect(auth.authenticate('f')).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(asked).toEqual(['a', 'b']);
    expect(results).toEqual(['overloaded']);
    resolve(accepted());
    expect(await Promise.all(pending)).toHaveLength(5);
  });

  it('lets in an agent that it knows while a flood of unknown tokens waits', async () => {
    let answer = Promise.resolve(accepted());
    const { auth, clock } = setUp(() => answer, { reviewsMax: 1, waitingMax: 2 });
    await auth.authenticate('known');
    await clock.advance(60_000);
    const { promise, resolve } = Promise.withResolvers<TokenReviewResult>();
    answer = promise;
    const flood = ['x1', 'x2', 'x3'].map((token) => auth.authenticate(token));
    await expect(auth.authenticate('x4')).rejects.toMatchObject({ status: 503 });
    const known = auth.authenticate('known');
    resolve(accepted());
    await expect(known).resolves.toMatchObject({ node: 'n1' });
    await Promise.all(flood);
  });

  it('does not let refused tokens push out accepted ones', async () => {
    const { auth, asked } = setUp(async (token) => (token === 'good' ? accepted() : { authenticated: false }), {
      acceptedMax: 10,
    });
    await auth.authenticate('good');
    for (let index = 0; index < 50; index += 1) {
      await expect(auth.authenticate(`bad-${index}`)).rejects.toMatchObject({ status: 401 });
    }
    await auth.authenticate('good');
    expect(asked.filter((token) => token === 'good')).toHaveLength(1);
  });

  it('remembers no more tokens than it may', async () => {
    const { auth, asked } = setUp(async (token) => accepted({ 'pod-uid': token }), { acceptedMax: 3 });
    for (const token of ['a', 'b', 'c', 'd']) await auth.authenticate(token);
    await auth.authenticate('d');
    await auth.authenticate('a');
    expect(asked).toEqual(['a', 'b', 'c', 'd', 'a']);
  });
});
