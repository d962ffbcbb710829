import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import { LeaderRequests } from '../../kube/leader-requests.ts';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { listPoolLabels } from '../../state/fleet.test-fixtures.ts';
import { Fleet } from '../../state/fleet.ts';
import type { ObservedPoolLabelSet } from '../../state/pool-label-sets.ts';
import type { EventNews } from '../events/event-object.ts';
import { createPoolStatusControllers } from './pool-status-controller.ts';
import type { SetStatus } from './set-status.ts';
import { RETRY_MAX_MS } from './status-controller.ts';

const POOL: ObservedPoolLabelSet = {
  kind: 'NodePoolLabelSet',
  ...{ uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '2026-01-01T00:00:00Z', pool: 'gold' },
  ...{ labels: { 'k8s.io/x': '1' }, status: undefined },
};

function setOf(change: Partial<ObservedPoolLabelSet>): ObservedPoolLabelSet {
  return { ...POOL, ...change };
}

/** A controller that looks every second, and whose requests fail with this status, or succeed. */
function started(code?: number) {
  const clock = new FakeClock();
  const logged: string[] = [];
  const logger = silentLogger();
  for (const level of ['warn', 'error'] as const) {
    logger[level] = ((_fields: object, message: string) =>
      logged.push(`${level}: ${message}`)) as unknown as typeof logger.warn;
  }
  const news: EventNews[] = [];
  const sentMs: number[] = [];
  const requests: KubeRequest[] = [];
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      requests.push(request);
      sentMs.push(clock.monotonic());
      if (code !== undefined) throw new KubeStatusError(code, {}, undefined, {});
      return {} as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const fleet = new Fleet({
    ...{
      clock,
      services: () => [],
      servicesKnown: () => true,
      poolLabels: ['agentpool'],
      windowMs: 15_000,
      guardPercent: 50,
    },
    ...{ annotationsOfInterest: new Set<string>(), allAnnotations: false },
  });
  const { controllers, refusedKeys } = createPoolStatusControllers({
    writes: {
      ...{ clock, logger, record: (each) => news.push(each) },
      requests: new LeaderRequests({
        ...{ client, fence: { remainingMs: () => 60_000 }, signal: new AbortController().signal },
      }),
    },
    fleet,
    reserved: { keys: registryOf({ poolLabels: ['agentpool'] }), domains: [], allowedPrefixes: [] },
  });
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1000);
      await Promise.all(controllers.map((each) => each.tick()));
    }
  };
  const upsert = (name: string, labels: Record<string, string>) => {
    const metadata = { name, uid: name, resourceVersion: '1', labels };
    fleet.nodeHandlers.onUpsert(fleet.observe({ apiVersion: 'v1', kind: 'Node', metadata }));
  };
  return { fleet, sentMs, requests, news, logged, pass, refusedKeys, upsert };
}

test('a status that is written is not written again, and its refused keys are told once', async () => {
  const { fleet, sentMs, news, logged, pass } = started();
  listPoolLabels(fleet, [POOL]);
  await pass(100);
  expect(sentMs).toHaveLength(1);
  expect(news.map(({ message }) => message)).toEqual([
    'k8s.io/x is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
  ]);
  expect(logged).toEqual([]);
});

test('a status counts the nodes of its pool, and those that have its labels', async () => {
  const { fleet, requests, pass, upsert } = started();
  listPoolLabels(fleet, [setOf({ labels: { tier: '1' } })]);
  upsert('labelled', { agentpool: 'gold', tier: '1' });
  upsert('waiting', { agentpool: 'gold' });
  upsert('conflicting', { agentpool: 'gold', tier: '2' });
  upsert('other', { agentpool: 'silver', tier: '1' });
  await pass(1);
  expect(requests).toMatchObject([
    {
      path: '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets/gold/status',
      body: { metadata: { uid: 'u' }, status: { nodesMatched: 3, nodesLabelled: 1, nodesInConflict: 1 } },
    },
  ]);
});

test('of two sets for a pool the newer one is said to count for nothing', async () => {
  const { fleet, requests, pass } = started();
  const newer = setOf({ uid: 'v', name: 'newer', createdAt: '2026-01-02T00:00:00Z', labels: {} });
  listPoolLabels(fleet, [setOf({ labels: {} }), newer]);
  await pass(1);
  const reasons = requests.map(({ path, body }) => {
    const { conditions } = (body as { status: SetStatus }).status;
    return [path.split('/').at(-2), conditions.map(({ reason }) => reason)];
  });
  expect(reasons).toEqual([
    ['gold', ['InForce', 'NoNodes']],
    ['newer', ['PoolTaken', 'PoolTaken', 'NotInForce']],
  ]);
});

test('each kind has its status and its Events, and of two objects for a pool the newer one names the older with its kind', async () => {
  const { fleet, requests, news, pass, refusedKeys } = started();
  const ours = setOf({ kind: 'NodePoolLabels', uid: 'v', createdAt: '2026-01-02T00:00:00Z' });
  listPoolLabels(fleet, [POOL, ours]);
  await pass(1);
  const accepted = requests.map(({ path, body }) => [
    path,
    (body as { status: SetStatus }).status.conditions[0]?.message,
  ]);
  expect(accepted.toSorted()).toEqual([
    [
      '/apis/labels.banzaicloud.io/v1alpha1/namespaces/rollcall/nodepoollabelsets/gold/status',
      'It sets no labels: k8s.io/x is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    ],
    [
      '/apis/rollcall.dev/v1alpha1/namespaces/rollcall/nodepoollabels/gold/status',
      'The pool gold already has the NodePoolLabelSet gold, which is older',
    ],
  ]);
  expect(news.map(({ subject: { apiVersion, kind } }) => `${apiVersion} ${kind}`).toSorted()).toEqual([
    'labels.banzaicloud.io/v1alpha1 NodePoolLabelSet',
    'rollcall.dev/v1alpha1 NodePoolLabels',
  ]);
  expect(refusedKeys()).toBe(2);
});

test('refused keys are counted over all sets as they are now, and reported on the set', async () => {
  const { fleet, news, pass, refusedKeys } = started();
  expect(refusedKeys()).toBe(0);
  const labels = { 'k8s.io/x': '1', 'k8s.io/y': '1' };
  listPoolLabels(fleet, [POOL, setOf({ uid: 'v', name: 'other', pool: 'other', labels })]);
  await pass(2);
  expect(refusedKeys()).toBe(3);
  expect(news[0]).toMatchObject({
    subject: { apiVersion: 'labels.banzaicloud.io/v1alpha1', kind: 'NodePoolLabelSet', name: 'gold', uid: 'u' },
    ...{ type: 'Warning', reason: 'KeysRefused' },
  });
  expect(news[1]?.message).toBe(
    'k8s.io/x is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes); k8s.io/y is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
  );
  listPoolLabels(fleet, [POOL]);
  await pass(1);
  expect(refusedKeys()).toBe(1);
});

test('refused keys that the status shows already are not told again', async () => {
  const { fleet, news, pass } = started();
  const refusedKeys = [
    {
      key: 'k8s.io/x',
      reason: 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    },
  ];
  listPoolLabels(fleet, [setOf({ status: { refusedKeys } })]);
  await pass(1);
  expect(news).toEqual([]);
});

test('a status that cannot be written is tried later and later, and said to fail once', async () => {
  const { fleet, sentMs, logged, pass } = started(404);
  listPoolLabels(fleet, [POOL, { ...POOL, uid: 'v', name: 'other', pool: 'other' }]);
  await pass(3600);
  const gaps = sentMs.slice(2).map((atMs, index) => atMs - (sentMs[index] ?? 0));
  expect(gaps.toSorted((a, b) => a - b)).toEqual(gaps);
  expect(gaps.at(-1)).toBe(RETRY_MAX_MS);
  expect(sentMs.length).toBeLessThan(40);
  expect(logged).toEqual(['warn: Failed to write the status of an object']);
});

test('the status of a set that is deleted meanwhile is no news', async () => {
  const { fleet, sentMs, logged, pass } = started(404);
  listPoolLabels(fleet, [POOL]);
  await pass(1);
  expect(sentMs).toHaveLength(1);
  listPoolLabels(fleet);
  await pass(3600);
  expect(sentMs).toHaveLength(1);
  expect(logged).toEqual([]);
});

test('what is refused meanwhile is told at once, each time that it is other keys', async () => {
  const { fleet, news, pass } = started(404);
  const [other, x] = [{ 'k8s.io/y': '1' }, { 'k8s.io/x': '1' }];
  listPoolLabels(fleet, [POOL]);
  await pass(60);
  for (const [index, labels] of [other, {}, other, x].entries()) {
    const next: ObservedPoolLabelSet = { ...POOL, generation: index + 2, labels };
    listPoolLabels(fleet, [next]);
    await pass(2);
  }
  expect(news.map(({ message }) => message.slice(0, 8))).toEqual(['k8s.io/x', 'k8s.io/y', 'k8s.io/y', 'k8s.io/x']);
});

test('what others wrote into a status ends nothing, and stops no other status', async () => {
  const { fleet, sentMs, logged, pass } = started();
  const odd = [{ conditions: [null], refusedKeys: null }, { conditions: 7 }, null, 'x'];
  const sets = odd.map((status, index) => ({ ...POOL, uid: `${index}`, name: `${index}`, pool: `${index}`, status }));
  listPoolLabels(fleet, sets);
  await pass(1);
  expect(sentMs).toHaveLength(odd.length);
  expect(logged).toEqual([]);
});

test('an error is logged, and the next look comes all the same', async () => {
  const { fleet, sentMs, logged, pass } = started();
  const broken = { ...POOL, labels: null } as unknown as ObservedPoolLabelSet;
  const mended: ObservedPoolLabelSet = { ...POOL, generation: 2 };
  listPoolLabels(fleet, [broken]);
  await pass(1);
  expect(logged).toEqual(['error: Failed to look at an object']);
  listPoolLabels(fleet, [mended]);
  await pass(2);
  expect(sentMs).toHaveLength(1);
});

test('sets that were lost are not known until they are listed again', () => {
  const { fleet } = started();
  const metadata = { name: 'n', uid: 'n', resourceVersion: '1' };
  fleet.nodeHandlers.onUpsert(fleet.observe({ apiVersion: 'v1', kind: 'Node', metadata }));
  const isKnown = () => fleet.snapshot('n')?.poolLabelSetsKnown;
  listPoolLabels(fleet);
  expect(isKnown()).toBe(true);
  fleet.poolLabelSets.handlers('NodePoolLabelSet').onLost?.();
  expect(isKnown()).toBe(false);
  listPoolLabels(fleet);
  expect(isKnown()).toBe(true);
});
