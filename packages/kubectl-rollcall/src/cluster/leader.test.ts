import { describe, expect, test } from 'vitest';
import { type Answers, kubeConfigFor, kubeStandIn, Status } from '../testing/stand-in.test-fixtures.ts';
import { KubeApi } from './kube-api.ts';
import { findLeader, leadershipProblem, leaseNameOf, leasePath } from './leader.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ns/leases';
const CONFIG = '/api/v1/namespaces/ns/configmaps/rollcall-coordinator';
const held = { spec: { holderIdentity: 'c-1_abc', leaseDurationSeconds: 15, renewTime: '2026-03-01T11:59:55Z' } };
const configured = (yaml: string) => ({ data: { 'coordinator.yaml': yaml } });

async function leaderBy(answers: Answers) {
  return findLeader((await kubeStandIn(answers)).kube, 'ns', NOW);
}

describe('the leader', () => {
  test('is the pod that holds the Lease', async () => {
    expect(await leaderBy({ [`${LEASES}/rollcall-coordinator`]: held })).toEqual({ pod: 'c-1', namespace: 'ns' });
  });

  test('is found by another Lease where the configuration names one', async () => {
    const answers = { [CONFIG]: configured('leaseName: mine'), [`${LEASES}/mine`]: held };
    expect(await leaderBy(answers)).toEqual({ pod: 'c-1', namespace: 'ns' });
  });

  test('is missing where the Lease is not renewed', async () => {
    const lease = { spec: { ...held.spec, renewTime: '2026-03-01T11:50:00Z' } };
    await expect(leaderBy({ [`${LEASES}/rollcall-coordinator`]: lease })).rejects.toMatchObject({
      name: 'CommandFailure',
      message: 'No coordinator leads in ns: c-1_abc last renewed the Lease 10m ago',
      cure: 'see why: kubectl -n ns logs -l app.kubernetes.io/component=coordinator --tail=20',
      exitCode: 3,
    });
  });
});

describe('a Lease that cannot be read', () => {
  const install =
    'use -n to name the namespace of rollcall, or install it; "check --pre" finds what prevents the installation';

  test('is no installation, where neither it nor a configuration is there', async () => {
    const expected = {
      message: 'rollcall is not in the namespace ns: there is no Lease rollcall-coordinator',
      cure: install,
    };
    await expect(leaderBy({})).rejects.toMatchObject(expected);
    await expect(leaderBy({ [CONFIG]: configured('') })).rejects.toMatchObject(expected);
  });

  test('is named as the configuration names it', async () => {
    await expect(leaderBy({ [CONFIG]: configured('leaseName: mine') })).rejects.toMatchObject({
      message: 'rollcall is not in the namespace ns: there is no Lease mine',
      cure: install,
    });
  });

  test('since that is forbidden is a right to ask for', async () => {
    await expect(leaderBy({ [`${LEASES}/rollcall-coordinator`]: new Status(403) })).rejects.toMatchObject({
      message: 'You may not read the Lease of the leader: it is a 403',
      cure: 'ask for the right to get leases in ns, or pass --console-url',
    });
  });

  test('is looked for by no other name where it is only forbidden', async () => {
    const answers = {
      [`${LEASES}/rollcall-coordinator`]: new Status(403),
      [CONFIG]: configured('leaseName: mine'),
      [`${LEASES}/mine`]: held,
    };
    await expect(leaderBy(answers)).rejects.toThrow('You may not read');
  });

  test('for want of valid credentials asks to log in', async () => {
    await expect(leaderBy({ [`${LEASES}/rollcall-coordinator`]: new Status(401) })).rejects.toMatchObject({
      message: 'The API server does not accept your credentials',
      cure: 'log in again',
    });
  });

  test('for another reason is told with the status', async () => {
    await expect(leaderBy({ [`${LEASES}/rollcall-coordinator`]: new Status(500) })).rejects.toMatchObject({
      message: 'The API server answered 500: it is a 500',
      cure: 'try again',
    });
  });

  test('with a refused connection is an API server that cannot be reached', async () => {
    const kube = new KubeApi(kubeConfigFor('http://127.0.0.1:1'));
    await expect(findLeader(kube, 'ns', NOW)).rejects.toMatchObject({
      message: expect.stringMatching(/^The API server cannot be reached: .*ECONNREFUSED/),
      cure: 'check --context and --kubeconfig, and the network',
    });
  });

  test('whose name cannot be asked for, as the connection is lost, is an API server that cannot be reached', async () => {
    const { kube, server } = await kubeStandIn({ [CONFIG]: () => server.closeAllConnections() });
    await expect(findLeader(kube, 'ns', NOW)).rejects.toThrow('The API server cannot be reached: socket hang up');
  });
});

describe('who leads by a Lease', () => {
  const problem = (spec: object) => leadershipProblem({ spec }, 'ns', NOW);
  const renewed = (secondsAgo: number) => ({
    holderIdentity: 'c-1_abc',
    renewTime: new Date(NOW - 1000 * secondsAgo).toISOString(),
  });

  test('is a Lease without a holder', () => {
    const cure = 'see why: kubectl -n ns logs -l app.kubernetes.io/component=coordinator --tail=20';
    expect(problem({ holderIdentity: '' })).toEqual({
      text: 'No coordinator leads in ns: the Lease has no holder',
      cure,
    });
    expect(leadershipProblem({}, 'ns', NOW)?.cure).toBe(cure);
  });

  test('is its holder for twice the time that it holds', () => {
    expect(problem({ ...renewed(40), leaseDurationSeconds: 20 })).toBeUndefined();
    expect(problem({ ...renewed(40.001), leaseDurationSeconds: 20 })?.text).toContain('last renewed the Lease 40s ago');
  });

  test('is its holder for half a minute, where it does not say for how long it holds', () => {
    expect(problem(renewed(30))).toBeUndefined();
    expect(problem(renewed(30.001))).toBeDefined();
  });

  test('is its holder where it does not say when it was renewed', () => {
    expect(problem({ holderIdentity: 'c-1_abc' })).toBeUndefined();
  });
});

test('the name of the Lease is the one of the configuration, or rollcall-coordinator', () => {
  expect([leaseNameOf({}), leaseNameOf({ leaseName: 'mine' })]).toEqual(['rollcall-coordinator', 'mine']);
});

test('a name in the path of a Lease is escaped', () => {
  expect(leasePath('a/b', 'c/d')).toBe('/apis/coordination.k8s.io/v1/namespaces/a%2Fb/leases/c%2Fd');
});
