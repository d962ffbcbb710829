import { describe, expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from './client.ts';
import { reviewToken } from './token-review.ts';

const AUDIENCE = 'rollcall';
const USER = { username: 'system:serviceaccount:rollcall:agent', uid: 'u', extra: { node: ['n'] } };

/** Asks about a token of which the API server says `status`. */
async function asked(status: object | undefined) {
  const requests: KubeRequest[] = [];
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      requests.push(request);
      return { status } as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  return { verdict: await reviewToken(client, 'secret', AUDIENCE), requests };
}

describe('a token', () => {
  test('is asked about with the audience that it must be made for', async () => {
    const { requests } = await asked({ authenticated: true, audiences: [AUDIENCE], user: USER });
    expect(requests).toEqual([
      {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token: 'secret', audiences: [AUDIENCE] },
        },
        timeoutMs: 5000,
      },
    ]);
  });

  test('that was made for the audience is good, and says whose it is', async () => {
    const { verdict } = await asked({ authenticated: true, audiences: ['other', AUDIENCE], user: USER });
    expect(verdict).toEqual({ authenticated: true, ...USER });
  });

  test('without a user name gets no invented one', async () => {
    const { verdict } = await asked({ authenticated: true, audiences: [AUDIENCE] });
    expect(verdict).toEqual({ authenticated: true, extra: {} });
  });

  test.each([
    ['was made for others', ['other']],
    ['an API server without audiences lets pass', undefined],
    ['is for no audience', []],
  ])('that %s is refused', async (_why, audiences) => {
    const { verdict } = await asked({ authenticated: true, audiences, user: USER });
    expect(verdict).toEqual({
      authenticated: false,
      extra: {},
      error: 'the token was not made for the audience rollcall',
    });
  });

  test.each([
    [{ authenticated: false, audiences: [AUDIENCE], user: USER, error: 'expired' }, 'expired'],
    [{ audiences: [AUDIENCE], user: USER }, 'the token is not valid'],
    [{ authenticated: 'true', audiences: [AUDIENCE], user: USER }, 'the token is not valid'],
    [undefined, 'the token is not valid'],
  ])('is refused by %j', async (status, error) => {
    expect((await asked(status)).verdict).toEqual({ authenticated: false, extra: {}, error });
  });
});
