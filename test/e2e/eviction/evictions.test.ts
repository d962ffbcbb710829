import { systemClock } from '@rollcall/common/clock.ts';
import type { NodeState } from '@rollcall/coordinator/subscribers/eviction/misplaced-pods.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createNamespace, type PodObject } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { installAccess } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ProgramClock } from '../../rig/program-clock.ts';
import {
  allowDisruptions,
  createBudget,
  createMisplaced,
  eventsOf,
  labelBack,
  labelGone,
  type Replica,
  type ReplicaOptions,
  startReplica,
  staying,
  withdrawn,
} from './eviction-stage.ts';

/** Without what has not happened. */
function counted(samples: readonly string[]): string[] {
  return samples.filter((sample) => !sample.endsWith(' 0'));
}

let controlPlane: ControlPlane;
let kubeconfig: string;
let replicas: Replica[] = [];
let tests = 0;
/** Node and namespace of the current test. */
let node: string;
let namespace: string;
let states: Map<string, NodeState>;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  kubeconfig = (await installAccess(controlPlane)).coordinatorKubeconfig;
});
beforeEach(async () => {
  tests += 1;
  node = `node-${tests}`;
  namespace = `ns-${tests}`;
  states = new Map([[node, labelGone]]);
  await createNamespace(controlPlane.api, namespace);
});
afterEach(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  replicas = [];
});
afterAll(async () => {
  await controlPlane?.stop();
});

/** A replica that begins to lead. */
function lead(options: Partial<ReplicaOptions> = {}): Replica {
  const replica = startReplica(kubeconfig, { stateOf: (name) => states.get(name), ...options });
  replicas.push(replica);
  replica.evictor.consider(node);
  return replica;
}

/** Waits until a replica knows that no eviction is left, which is a moment after the pods are gone. */
async function ended(metric: Replica['metric']): Promise<void> {
  await waitFor('an end', async () => (await metric('evictions_pending')).join().endsWith(' 0'));
}

const pod = (name: string, more: Partial<Parameters<typeof createMisplaced>[1]> = {}) =>
  createMisplaced(controlPlane, { namespace, name, nodeName: node, ...more });

const pods = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => pod(`pod-${String(index).padStart(2, '0')}`)));

const affinity = (nodeAffinity: object) => ({ spec: { nodeSelector: null, affinity: { nodeAffinity } } });

describe('a pod', () => {
  test('that requires the label is evicted, and told why', async () => {
    await pod('selects');
    await pod(
      'requires',
      affinity({
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'accelerators/edgetpu', operator: 'Exists' }] }],
        },
      }),
    );
    const { answers, metric } = lead();
    await waitFor('the evictions', async () => (await staying(controlPlane, node)).length === 0);
    const why = `Evicted, because ${node} lost labels that this pod requires: accelerators/edgetpu=true`;
    await waitFor('the Events', async () => {
      expect(await eventsOf(controlPlane, namespace, 'EvictedLabelRemoved')).toEqual([
        `requires ${why}`,
        `selects ${why}`,
      ]);
      return true;
    });
    expect(answers.every((answer) => /^list 200$|^create 201$/.test(answer))).toBe(true);
    await ended(metric);
    expect(counted(await metric('evictions_total'))).toEqual([
      'rollcall_coordinator_evictions_total{outcome="evicted"} 2',
    ]);
  });

  test('with time to end is asked once, and left to end', async () => {
    await pod('graceful', { spec: { terminationGracePeriodSeconds: 600 } });
    const replica = lead();
    await waitFor('the eviction', async () => (await staying(controlPlane, node)).length === 0);
    await pod('another');
    states.set(node, { ...labelGone, labels: { zone: 'a' } });
    replica.evictor.consider(node);
    await waitFor('the other one', async () => (await staying(controlPlane, node)).length === 0);
    await ended(replica.metric);
    expect(counted(await replica.metric('evictions_total'))).toEqual([
      'rollcall_coordinator_evictions_total{outcome="evicted"} 2',
    ]);
    const left = await controlPlane.api.get<PodObject>(`/api/v1/namespaces/${namespace}/pods/graceful`);
    const target = (left.status.conditions as { type: string; reason?: string }[]).find(
      ({ type }) => type === 'DisruptionTarget',
    );
    expect(target?.reason).toBe('EvictionByEvictionAPI');
  });

  test('that has another reason to be there, or is not to be evicted, stays', async () => {
    const { api } = controlPlane;
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agents', uid: 'some-uid', controller: true };
    const mirror = { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'file' };
    const preference = { matchExpressions: [{ key: 'accelerators/edgetpu', operator: 'Exists' }] };
    await pod('asks-nothing', { spec: { nodeSelector: null } });
    await pod('asks-another', { spec: { nodeSelector: { 'example.com/disk': 'ssd' } } });
    await pod('asks-both', { spec: { nodeSelector: { ...withdrawn, 'example.com/disk': 'ssd' } } });
    await pod('prefers', affinity({ preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] }));
    await pod('of-daemon-set', { ownerReferences: [owner] });
    await pod('finished');
    await pod('failed');
    for (const [name, phase] of Object.entries({ finished: 'Succeeded', failed: 'Failed' })) {
      await api.patch(`/api/v1/namespaces/${namespace}/pods/${name}/status`, { status: { phase } });
    }
    const kubelet = await controlPlane.clientFor({ user: `system:node:${node}`, groups: ['system:nodes'] });
    await api.post('/api/v1/nodes', { metadata: { name: node } });
    const { metadata } = await api.get(`/api/v1/nodes/${node}`);
    // Only a kubelet makes mirror pods, with its Node as their owner.
    await waitFor('the mirror pod', () =>
      kubelet.post(`/api/v1/namespaces/${namespace}/pods`, {
        metadata: {
          name: 'mirror',
          annotations: mirror,
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid: metadata.uid, controller: true }],
        },
        spec: { nodeName: node, nodeSelector: withdrawn, containers: [{ name: 'main', image: 'none' }] },
      }),
    );
    kubelet.close();
    await pod('goes');
    const before = await staying(controlPlane, node);
    expect(before).toHaveLength(9);
    const replica = lead();
    await waitFor('the eviction', async () => (await staying(controlPlane, node)).length < 9);
    await ended(replica.metric);
    expect(await staying(controlPlane, node)).toEqual(before.filter((name) => name !== 'goes'));
    expect(replica.answers.filter((answer) => answer.startsWith('list'))).toHaveLength(1);
  });
});

describe('a budget', () => {
  test('that allows nothing is waited for, while other pods go', async () => {
    await pod('guarded', { labels: { app: 'guarded' } });
    await pod('other');
    await createBudget(controlPlane, { namespace, name: 'one', app: 'guarded', allowed: 0 });
    // What a budget refuses is tried again after 10 to 20 s.
    const { answers, metric } = lead({ clock: new ProgramClock(6) });
    await waitFor('the refusal', () => answers.includes('create 429'));
    await waitFor('the other pod', async () => (await staying(controlPlane, node)).join() === 'guarded');
    await waitFor('the Event', async () => {
      const [told] = await eventsOf(controlPlane, namespace, 'EvictionRefused');
      expect(told).toMatch(/^guarded Not evicted yet, .*edgetpu=true; .*one needs 1 healthy pods and has 1 currently$/);
      return true;
    });
    // That the other has gone is known here before the replica has heard of it.
    await waitFor('one that is pending', async () => {
      expect(await metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 1']);
      return true;
    });
    await allowDisruptions(controlPlane, { namespace, name: 'one', allowed: 1 });
    await waitFor('the eviction', async () => (await staying(controlPlane, node)).length === 0, { timeoutMs: 35_000 });
    await ended(metric);
    expect(counted(await metric('evictions_total'))).toEqual([
      expect.stringMatching(/outcome="(blocked|evicted)"} [12]$/),
      expect.stringMatching(/outcome="(blocked|evicted)"} [12]$/),
    ]);
    expect(await eventsOf(controlPlane, namespace, 'EvictionRefused')).toHaveLength(1);
  });

  test('of which there are two is an error (500), and the pod goes when there is one', async () => {
    await pod('guarded', { labels: { app: 'guarded' } });
    await createBudget(controlPlane, { namespace, name: 'one', app: 'guarded', allowed: 1 });
    await createBudget(controlPlane, { namespace, name: 'two', app: 'guarded', allowed: 1 });
    const { answers } = lead();
    await waitFor('the refusal', () => answers.includes('create 500'));
    expect(await staying(controlPlane, node)).toEqual(['guarded']);
    await controlPlane.api.delete(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/two`);
    await waitFor('the eviction', async () => (await staying(controlPlane, node)).length === 0);
  });
});

describe('the rate limit', () => {
  test('holds with 30 pods', async () => {
    await pods(30);
    const sentMs: number[] = [];
    lead({ perSecond: 10, beforeEviction: () => void sentMs.push(systemClock.monotonic()) });
    await waitFor('all', async () => (await staying(controlPlane, node)).length === 0);
    expect(sentMs).toHaveLength(30);
    const [first = 0] = sentMs;
    // Ten at once, and then one each tenth of a second. A timer may be a millisecond early, a request never is.
    for (const [index, atMs] of sentMs.entries()) expect(atMs - first).toBeGreaterThanOrEqual((index - 9) * 100 - 5);
    expect((sentMs[29] ?? 0) - first).toBeLessThan(6000);
  });
});

describe('half-way', () => {
  test('the rest is spared when the label comes back', async () => {
    await pods(10);
    let sent = 0;
    const replica = lead({
      beforeEviction: () => {
        sent += 1;
        if (sent === 4) states.set(node, labelBack);
      },
    });
    await waitFor('four', async () => (await staying(controlPlane, node)).length === 6);
    replica.evictor.consider(node);
    await ended(replica.metric);
    expect(await staying(controlPlane, node)).toHaveLength(6);
    expect(sent).toBe(4);
  });

  test('nothing more is evicted by a replica that has lost its Lease', async () => {
    await pods(6);
    let remainingMs = 10_000;
    let sent = 0;
    const replica = lead({
      remainingMs: () => remainingMs,
      beforeEviction: () => {
        sent += 1;
        if (sent === 3) remainingMs = 0;
      },
    });
    await waitFor('three', async () => (await staying(controlPlane, node)).length === 3);
    replica.evictor.consider(node);
    await replica.settled();
    expect(sent).toBe(3);
    const next = lead();
    await waitFor('the rest', async () => (await staying(controlPlane, node)).length === 0);
    await ended(next.metric);
    expect(counted(await next.metric('evictions_total'))).toEqual([
      'rollcall_coordinator_evictions_total{outcome="evicted"} 3',
    ]);
  });

  test('another replica goes on after a stop', async () => {
    await pods(25);
    const first = lead({ perSecond: 5 });
    await waitFor('some', async () => (await staying(controlPlane, node)).length < 20);
    await first.stop();
    const left = (await staying(controlPlane, node)).length;
    expect(left).toBeGreaterThan(0);
    lead();
    await waitFor('all', async () => (await staying(controlPlane, node)).length === 0);
  });

  test('it goes on when the API server was away', async () => {
    await pods(20);
    let sent = 0;
    const replica = lead({
      beforeEviction: async () => {
        sent += 1;
        if (sent === 5) await controlPlane.killApiServer();
      },
    });
    await waitFor('the outage', () => replica.answers.includes('create error'));
    await controlPlane.restartApiServer();
    await waitFor('all', async () => (await staying(controlPlane, node)).length === 0, { timeoutMs: 30_000 });
  });
});

describe('a pod that is gone by the time of its eviction', () => {
  const path = () => `/api/v1/namespaces/${namespace}/pods/first`;

  test('is done with (404)', async () => {
    await pod('first');
    await pod('second');
    const { answers, metric } = lead({
      beforeEviction: (name) => (name === 'first' ? controlPlane.api.delete(path()) : undefined),
    });
    await waitFor('all', async () => (await staying(controlPlane, node)).length === 0);
    await ended(metric);
    expect(answers.filter((answer) => answer === 'create 404')).toHaveLength(1);
    expect(counted(await metric('evictions_total')).sort()).toEqual([
      'rollcall_coordinator_evictions_total{outcome="evicted"} 1',
      'rollcall_coordinator_evictions_total{outcome="gone"} 1',
    ]);
  });

  test('is not mistaken for another one of the same name (409)', async () => {
    await pod('first');
    let uid: string | undefined;
    const { answers, metric } = lead({
      beforeEviction: async () => {
        if (uid !== undefined) return;
        await controlPlane.api.delete(path());
        uid = (await pod('first', { spec: { nodeSelector: null } })).metadata.uid;
      },
    });
    await waitFor('the answer', () => answers.includes('create 409'));
    await ended(metric);
    const left = await controlPlane.api.get(path());
    expect(left.metadata.uid).toBe(uid);
    expect(left.metadata['deletionTimestamp']).toBeUndefined();
    expect(counted(await metric('evictions_total'))).toEqual([
      'rollcall_coordinator_evictions_total{outcome="gone"} 1',
    ]);
  });
});
