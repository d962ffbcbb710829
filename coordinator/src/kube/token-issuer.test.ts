import { expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from './client.ts';
import { readTokenIssuer } from './token-review.ts';

const DOCUMENT = '/.well-known/openid-configuration';
const KEYS = '/openid/v1/jwks';

function clientOf(answers: Record<string, unknown>): KubeClient {
  const request = async <T>({ path, accept }: KubeRequest) => answers[`${path} ${accept}`] as T;
  return { request, stream: async () => {}, close: () => {} };
}

test.each([
  [
    'its issuer and its keys',
    { issuer: 'https://i' },
    { keys: [{ kid: 'a' }] },
    { issuer: 'https://i', keys: [{ kid: 'a' }] },
  ],
  ['nothing of another kind', { issuer: ['https://i'] }, { keys: { kid: 'a' } }, { issuer: '', keys: [] }],
])('an API server names %s for its tokens', async (_what, document, keys, expected) => {
  const client = clientOf({ [`${DOCUMENT} application/json`]: document, [`${KEYS} application/jwk-set+json`]: keys });
  expect(await readTokenIssuer(client)).toEqual(expected);
});
