import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSigningKeys } from '../../control-plane/certificates.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { withOtherClaims } from '../../rig/other-claims.ts';
import { AuthStage } from './auth-stage.ts';

/** One that the API server accepts as well, and does not name. */
const OTHER_ISSUER = 'https://before.example';

let stage: AuthStage;
let reviewsBefore: number;

/** Counts TokenReviews since the test began, by the API server's own metric. */
async function reviews(): Promise<number> {
  return (await stage.reviews()) - reviewsBefore;
}

/** A clock that is so far ahead of the others, or behind. */
function clockOffBy(seconds: number): Clock {
  return { ...systemClock, now: () => systemClock.now() + seconds * 1000 };
}

async function restartApiServer(): Promise<void> {
  await stage.controlPlane.killApiServer();
  await stage.controlPlane.restartApiServer();
}

const signedAnew = (token: string, change: object) =>
  withOtherClaims(token, change, join(stage.controlPlane.dir, 'service-account.key'));

beforeAll(async () => {
  stage = await AuthStage.start({ local: true }, { apiServerArgs: [`--service-account-issuer=${OTHER_ISSUER}`] });
});

afterAll(() => stage?.stop());

beforeEach(async () => {
  stage.restart();
  reviewsBefore = await stage.reviews();
});

it('lets a fleet in after a start, and goes on hearing it, without one TokenReview', async () => {
  const agents = await Promise.all(Array.from({ length: 20 }, (_, index) => stage.startAgent(`cold-${index}`)));
  stage.restart();
  await Promise.all(agents.map((agent) => stage.accepted(agent)));
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(agents.map(({ node, token }) => stage.report(node, token)));
    expect(answers.map(({ status }) => status)).toEqual(agents.map(() => 200));
  }
  expect(await reviews()).toBe(0);
});

it('takes a renewed token of the same pod at once', async () => {
  const agent = await stage.startAgent('renewed');
  await stage.accepted(agent);
  const token = await stage.tokenOf(agent.pod);
  expect((await stage.report('renewed', token)).status).toBe(200);
  expect(await reviews()).toBe(0);
});

it.each([-120, 120])('does without where the clock is off by %i s', async (seconds) => {
  const agent = await stage.startAgent(`clock-${seconds + 120}`);
  stage.restart({ clock: clockOffBy(seconds) });
  await stage.accepted(agent);
  expect(await reviews()).toBe(0);
});

it('refuses a token that has expired, without a request', async () => {
  const agent = await stage.startAgent('expired');
  await stage.accepted(agent);
  stage.restart({ clock: clockOffBy(2 * 3600) });
  await stage.refused(agent, 401);
  expect(await reviews()).toBe(0);
});

it('goes on while the API server is away, for agents that its watches had seen', async () => {
  const [before, after] = [await stage.startAgent('before'), await stage.startAgent('after')];
  await stage.accepted(before);
  await stage.accepted(after);
  await stage.controlPlane.killApiServer();
  try {
    expect((await stage.report('before', before.token)).status).toBe(200);
    expect((await stage.report('after', after.token)).status).toBe(200);
  } finally {
    await stage.controlPlane.restartApiServer();
  }
});

describe('where keys do not decide', () => {
  const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:service-account-issuer-discovery';

  it('asks the API server: discovery is refused by RBAC', async () => {
    const { api } = stage.controlPlane;
    const agent = await stage.startAgent('no-discovery');
    await stage.accepted(agent);
    const kept = await api.get(binding);
    await api.delete(binding);
    try {
      const client = await stage.controlPlane.clientFor({ user: 'somebody', groups: ['system:serviceaccounts'] });
      await waitFor(
        'discovery to be refused',
        async () => (await client.exchange('GET', '/openid/v1/jwks')).status === 403,
      );
      client.close();
      stage.restart();
      reviewsBefore = await stage.reviews();
      await stage.accepted(agent);
      await stage.accepted(agent);
      expect(await reviews()).toBe(1);
    } finally {
      const { uid: _uid, resourceVersion: _version, ...metadata } = kept.metadata as unknown as Record<string, unknown>;
      await api.post(binding.slice(0, binding.lastIndexOf('/')), { ...kept, metadata });
    }
  });

  it('asks the API server: the token is of an issuer that it accepts besides the one that it names', async () => {
    const agent = await stage.startAgent('other-issuer');
    await stage.accepted(agent);
    const signed = await signedAnew(agent.token, { iss: OTHER_ISSUER });
    await stage.accepted({ node: agent.node, token: signed });
    expect(await reviews()).toBe(1);
  });

  it('asks the API server, which refuses an issuer that is not its own', async () => {
    const agent = await stage.startAgent('foreign-issuer');
    await stage.accepted(agent);
    await stage.refused({ node: agent.node, token: await signedAnew(agent.token, { iss: 'https://elsewhere' }) }, 401);
    expect(await reviews()).toBe(1);
  });
});

it('follows when the API server signs by another key, and forgets the old one with it', async () => {
  const agent = await stage.startAgent('rotated');
  await stage.accepted(agent);
  const { dir } = stage.controlPlane;
  const [keyFile, publicFile] = [join(dir, 'service-account.key'), join(dir, 'service-account.pub')];
  const [oldKey, oldPublic] = [await readFile(keyFile, 'utf8'), await readFile(publicFile, 'utf8')];
  const next = await createSigningKeys();
  try {
    // First both are accepted and the next one signs, then the old one is withdrawn.
    await writeFile(keyFile, next.privateKey);
    await writeFile(publicFile, `${oldPublic}${next.publicKey}`);
    await restartApiServer();
    reviewsBefore = await stage.reviews();
    await stage.accepted(agent);
    const renewed = { node: agent.node, token: await stage.tokenOf(agent.pod) };
    // Its keys were read a moment ago: until they may be read again, the API server is asked.
    await stage.accepted(renewed, 20_000);
    expect(await reviews()).toBeLessThanOrEqual(1);
    await writeFile(publicFile, next.publicKey);
    await restartApiServer();
    stage.restart();
    await stage.accepted(renewed, 20_000);
    await stage.refused(agent, 401);
  } finally {
    await writeFile(keyFile, oldKey);
    await writeFile(publicFile, oldPublic);
  }
});
