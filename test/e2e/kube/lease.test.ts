import { systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FIELD_MANAGER, LEADER_URL_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Election, LeaseTiming } from '@rollcall/coordinator/term/election.ts';
import { createLeaseElection } from '@rollcall/coordinator/term/lease.ts';
import type { Lease } from '@rollcall/coordinator/term/lease-record.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { installAccess, ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type CountingClient, connect } from './rig.ts';
import { openTcpLink } from './tcp-link.ts';

/** Shorter than the real one, in proportion. */
const timing: LeaseTiming = { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 400 };
const name = 'rollcall-coordinator';
const path = `/apis/coordination.k8s.io/v1/namespaces/${ownNamespace}/leases/${name}`;

type Candidate = {
  identity: string;
  election: Election;
  client: CountingClient;
  terms: number[];
  leaderUrl: () => string | undefined;
};

let controlPlane: ControlPlane;
let kubeconfig: string;
const candidates: Candidate[] = [];
let overlaps: string[] = [];
let watcher: NodeJS.Timeout;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  kubeconfig = (await installAccess(controlPlane)).coordinatorKubeconfig;
});
afterAll(() => controlPlane?.stop());

beforeEach(() => {
  overlaps = [];
  watcher = setInterval(() => {
    const leading = leaders();
    if (leading.length > 1) overlaps.push(leading.map(({ identity }) => identity).join(' and '));
  }, 5);
});
afterEach(async () => {
  clearInterval(watcher);
  await Promise.all(candidates.map(({ election }) => election.release(Promise.resolve())));
  for (const { client } of candidates.splice(0)) client.close();
  for (const clean of cleanups.splice(0)) await clean();
  await controlPlane.api.delete(path).catch(() => {});
  expect(overlaps).toEqual([]);
});

function leaders(): Candidate[] {
  return candidates.filter(({ election }) => election.isLeading());
}

function join(identity: string, url?: string): Candidate {
  const client = connect(controlPlane, { kubeconfig, ...(url === undefined ? {} : { url }) });
  const terms: number[] = [];
  let leaderUrl: string | undefined;
  const election = createLeaseElection({
    client,
    namespace: ownNamespace,
    name,
    identity,
    leaderUrl: `https://${identity}:8443`,
    clock: systemClock,
    random: Math.random,
    signal: new AbortController().signal,
    logger: silentLogger(),
    callbacks: {
      onStartedLeading: (term) => terms.push(term),
      onStoppedLeading: () => {},
      onLeaderChanged: (changed) => {
        leaderUrl = changed;
      },
    },
    timing,
  });
  void election.run();
  const candidate = { identity, election, client, terms, leaderUrl: () => leaderUrl };
  candidates.push(candidate);
  return candidate;
}

async function aLeader(timeoutMs = 10_000): Promise<Candidate> {
  return waitFor('a leader', () => leaders()[0], { timeoutMs, everyMs: 5 });
}

function readLease(): Promise<Lease> {
  return controlPlane.api.get(path) as Promise<unknown> as Promise<Lease>;
}

describe('lease election', () => {
  it('elects exactly one of several that begin at once, with no more rights than the coordinator has', async () => {
    for (const identity of ['a', 'b', 'c', 'd']) join(identity);
    const leader = await aLeader();
    await waitFor('everyone to know the leader', () =>
      candidates.every(({ leaderUrl }) => leaderUrl() === `https://${leader.identity}:8443`),
    );
    expect(candidates.flatMap(({ terms }) => terms)).toEqual([1]);
    const { metadata, spec } = await readLease();
    expect(metadata).toMatchObject({
      labels: { 'app.kubernetes.io/managed-by': FIELD_MANAGER },
      annotations: { [LEADER_URL_ANNOTATION]: `https://${leader.identity}:8443` },
    });
    expect(spec).toEqual({
      holderIdentity: leader.identity,
      leaseDurationSeconds: 3,
      leaseTransitions: 1,
      acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      renewTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    });
  });

  it('hands over within a second of a clean stop', async () => {
    const first = join('first');
    await aLeader();
    const second = join('second');
    await waitFor('the standby to know the leader', () => second.leaderUrl() === 'https://first:8443');
    await first.election.release(Promise.resolve());
    const freedAt = performance.now();
    await waitFor('the standby to lead', () => second.election.isLeading(), { everyMs: 5 });
    expect(performance.now() - freedAt).toBeLessThan(1000);
    expect(second.terms).toEqual([2]);
    expect((await readLease()).spec?.holderIdentity).toBe('second');
  });

  it('frees the Lease only when the writes under way have settled', async () => {
    const first = join('first');
    await aLeader();
    let settle = () => {};
    const releasing = first.election.release(new Promise<void>((resolve) => (settle = resolve)));
    expect(first.election.remainingMs()).toBe(0);
    expect((await readLease()).spec?.holderIdentity).toBe('first');
    settle();
    await releasing;
    const { metadata, spec } = await readLease();
    expect(spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(metadata.annotations ?? {}).not.toHaveProperty(LEADER_URL_ANNOTATION);
  });

  it('fences a leader that is cut off before a standby takes over, and lets it come back as a standby', async () => {
    const link = await openTcpLink(controlPlane.url);
    cleanups.push(() => link.close());
    const first = join('first', link.url);
    await aLeader();
    const second = join('second');
    await waitFor('the standby to know the leader', () => second.leaderUrl() !== undefined);
    link.block();
    const blockedAt = performance.now();
    await waitFor('the leader to stop', () => !first.election.isLeading(), { everyMs: 5 });
    expect(performance.now() - blockedAt).toBeLessThan(timing.renewDeadlineMs + 200);
    await waitFor('the standby to lead', () => second.election.isLeading());
    link.unblock();
    await waitFor('the first to know the second', () => first.leaderUrl() === 'https://second:8443', {
      timeoutMs: 20_000,
    });
    expect(leaders()).toEqual([second]);
  });

  it('stops leading while the API server is away, and has a leader again when it is back', async () => {
    join('a');
    join('b');
    await aLeader();
    await controlPlane.killApiServer();
    await waitFor('the leader to stop', () => leaders().length === 0);
    await controlPlane.restartApiServer();
    const after = await aLeader(30_000);
    expect(after.terms.at(-1)).toBeGreaterThan(1);
  });

  it('keeps its leader when a person deletes the Lease', async () => {
    const first = join('first');
    await aLeader();
    const second = join('second');
    await waitFor('the standby to know the leader', () => second.leaderUrl() !== undefined);
    const { uid } = (await readLease()).metadata;
    await controlPlane.api.delete(path);
    await waitFor('a new Lease of the same leader', async () => {
      const { metadata, spec } = await readLease();
      return metadata.uid !== uid && spec?.holderIdentity === 'first';
    });
    expect(first.terms).toEqual([1]);
    expect(second.terms).toEqual([]);
  });

  it('waits out the lease of another program by its own clock, and counts on from its terms', async () => {
    const spec = {
      holderIdentity: 'client-go_1234',
      leaseDurationSeconds: 1,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2099-01-01T00:00:00.000000Z',
      leaseTransitions: 41,
    };
    await controlPlane.api.post(path.slice(0, path.lastIndexOf('/')), {
      metadata: { name, labels: { theirs: 'kept' } },
      spec,
    });
    const startedAt = performance.now();
    const { terms } = join('ours');
    await aLeader();
    // Its renewal lies in the future by its own clock, which counts for nothing.
    expect(performance.now() - startedAt).toBeGreaterThan(timing.leaseDurationMs);
    expect(terms).toEqual([42]);
    expect((await readLease()).metadata.labels).toEqual({ theirs: 'kept' });
  });

  it('asks nothing of the API server as a standby while the leader renews', async () => {
    join('first');
    await aLeader();
    const second = join('second');
    await waitFor('the standby to know the leader', () => second.leaderUrl() !== undefined);
    await waitFor('its watch', () => second.client.answers.includes('watch 200'));
    const before = second.client.answers.length;
    const { resourceVersion } = (await readLease()).metadata;
    await waitFor(
      'ten renewals',
      async () => Number((await readLease()).metadata.resourceVersion) >= Number(resourceVersion) + 10,
    );
    expect(second.client.answers.slice(before)).toEqual([]);
  });
});
