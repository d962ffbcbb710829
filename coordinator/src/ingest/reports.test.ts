import { once } from 'node:events';
import { connect } from 'node:tls';
import { systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { afterEach, describe, expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from '../kube/client.ts';
import { agentPod, watchedFleet } from '../state/fleet.test-fixtures.ts';
import { createAuthority, issueLeaf } from '../tls/certificate-authority.ts';
import { CertificateHolder } from '../tls/certificate-holder.ts';
import { claimsOf, issuerOf, signed, signingPair, USERNAME } from './bearer-auth.test-fixtures.ts';
import { IngestMetrics } from './metrics.ts';
import { openReports, type ReportHandling } from './reports.ts';
import { sample, send } from './reports-server.test-fixtures.ts';

const heartbeat = { node: 'n1', boot: 'b', sequence: 1, digest: 'd' };
const pair = signingPair('ES256');
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

/** The listener in front of a fleet with node `n1` and its agent's pod, and an API server that knows the key. */
async function opened(change: Partial<ReportHandling> = {}, certificates?: CertificateHolder) {
  const clock = systemClock;
  const { fleet } = watchedFleet(['n1'], { clock });
  fleet.agentPods.handlers().onReplace([agentPod('agent-1', 'n1', { uid: 'pod-uid-1' })]);
  const asked: string[] = [];
  const reviews: unknown[] = [];
  const state = { username: USERNAME };
  const { issuer, keys } = issuerOf(pair);
  const client: KubeClient = {
    async request<T>({ path, body }: KubeRequest): Promise<T> {
      asked.push(path);
      if (path === '/.well-known/openid-configuration') return { issuer } as T;
      if (path === '/openid/v1/jwks') return { keys } as T;
      reviews.push((body as { spec: unknown }).spec);
      const extra = { 'authentication.kubernetes.io/pod-uid': ['pod-uid-1'] };
      const user = { username: state.username, extra };
      return { status: { authenticated: true, audiences: ['rollcall-coordinator'], user } } as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const registry = new Registry();
  const { address, stop } = await openReports({
    address: { host: '127.0.0.1', port: 0 },
    certificates,
    handling: {
      client,
      fleet,
      agentServiceAccount: USERNAME,
      localTokenVerification: true,
      isStale: () => false,
      leadership: { role: () => ({ leading: true }), synced: () => true },
      clock,
      random: () => 0,
      logger: silentLogger(),
      metrics: new IngestMetrics(registry),
      ...change,
    },
  });
  stops.push(stop);
  const report = (token = signed(pair, claimsOf({}, clock.now()))) =>
    send(address.port, heartbeat, { headers: { authorization: `Bearer ${token}` } });
  return { address, stop, fleet, asked, reviews, registry, report, state };
}

describe('a report of an agent whose pod is there', () => {
  test('is taken by the signature of its token alone, whose keys were read beforehand', async () => {
    const { report, asked, reviews, registry } = await opened();
    expect(asked).toHaveLength(2);
    const answer = await report();
    expect(answer).toMatchObject({ status: 200 });
    // Nothing of this agent is known yet.
    expect(JSON.parse(answer.body)).toMatchObject({ full: true });
    expect([asked.length, reviews]).toEqual([2, []]);
    const verified = 'rollcall_coordinator_token_verifications_total{result="good"}';
    expect(await sample(registry, verified)).toBe(1);
  });

  test('is taken by a TokenReview for the audience of the coordinator where signatures are not to be checked', async () => {
    const { report, asked, reviews, registry } = await opened({ localTokenVerification: false });
    expect(asked).toEqual([]);
    const token = signed(pair, claimsOf({}, systemClock.now()));
    expect(await report(token)).toMatchObject({ status: 200 });
    expect(reviews).toEqual([{ token, audiences: ['rollcall-coordinator'] }]);
    expect(await sample(registry, 'rollcall_coordinator_token_reviews_total{result="accepted"}')).toBe(1);
  });

  test('is refused where the token is another key’s, another account’s, or belongs to a pod elsewhere', async () => {
    const { report, fleet } = await opened();
    const stranger = { ...signingPair('ES256'), keyId: pair.keyId };
    expect(await report(signed(stranger, claimsOf({}, systemClock.now())))).toMatchObject({ status: 401 });
    const other = claimsOf({ sub: 'system:serviceaccount:rollcall:default' }, systemClock.now());
    expect(await report(signed(pair, other))).toMatchObject({ status: 403 });
    fleet.agentPods.handlers().onReplace([agentPod('agent-1', 'n1', { uid: 'pod-uid-1', namespace: 'default' })]);
    expect(await report()).toMatchObject({ status: 401 });
  });

  test('is put off while what is known of pods may be old', async () => {
    const { report } = await opened({ isStale: () => true });
    expect(await report()).toMatchObject({ status: 503 });
  });
});

describe('the listener', () => {
  test('speaks plain HTTP without a certificate, and nothing but TLS with one', async () => {
    const nowMs = systemClock.now();
    const authority = await createAuthority({ nowMs });
    const certificates = new CertificateHolder();
    certificates.set(await issueLeaf(authority, { names: ['127.0.0.1'], nowMs }));
    const { address, report } = await opened({}, certificates);
    await expect(report()).rejects.toThrow();
    const socket = connect({ ...address, ca: authority.cert });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.destroy();
  });

  test('takes no connections any more once it is stopped', async () => {
    const { stop, report } = await opened();
    expect(await report()).toMatchObject({ status: 200 });
    await stop();
    await expect(report()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
