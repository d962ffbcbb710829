import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { describe, expect, test } from 'vitest';
import { blocked, evictorRig, GPU_GONE, refusal } from './evictor.test-fixtures.ts';

const LIST = 'list spec.nodeName=n';

describe('a node that lost a label', () => {
  test('is listed, and loses the pods that require it', async () => {
    const rig = evictorRig();
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(0);
    expect(rig.asked()).toEqual([LIST, 'evict a', 'evict b']);
    expect(await rig.metric('evictions_total')).toEqual([
      'rollcall_coordinator_evictions_total{outcome="evicted"} 2',
      'rollcall_coordinator_evictions_total{outcome="blocked"} 0',
      'rollcall_coordinator_evictions_total{outcome="failed"} 0',
    ]);
  });

  test('is not looked at again once no such pod is left', async () => {
    const rig = evictorRig();
    rig.lose('n', 'a');
    await rig.clock.advance(0);
    rig.asked();
    await rig.clock.advance(600_000);
    expect(rig.asked()).toEqual([]);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  test('is listed once a minute at most while nothing is new, and at once when something is', async () => {
    const rig = evictorRig();
    await rig.clock.advance(5000);
    rig.lose('n');
    await rig.clock.advance(0);
    expect(rig.asked()).toEqual([LIST]);
    for (let index = 0; index < 10; index += 1) rig.evictor.consider('n');
    await rig.clock.advance(59_000);
    expect(rig.asked()).toEqual([]);
    await rig.clock.advance(1000);
    expect(rig.asked()).toEqual([LIST]);
    rig.states.set('n', { ...GPU_GONE, labels: { zone: 'a' } });
    rig.evictor.consider('n');
    await rig.clock.advance(0);
    expect(rig.asked()).toEqual([LIST]);
  });

  test('is listed at once when the label came back and went again', async () => {
    const rig = evictorRig();
    rig.lose('n');
    await rig.clock.advance(0);
    rig.states.set('n', { labels: { gpu: 'true' }, withdrawn: {} });
    rig.evictor.consider('n');
    rig.lose('n', 'a');
    await rig.clock.advance(0);
    expect(rig.asked()).toEqual([LIST, LIST, 'evict a']);
  });

  test('has no pod pending that may stay, while others wait for their turn', async () => {
    const rig = evictorRig();
    const metadata = { name: 'free', namespace: 'default', uid: 'uid-free', resourceVersion: '1' };
    rig.pods.set('free', { metadata, spec: { nodeName: 'n' } });
    rig.lose('n', ...Array.from({ length: 11 }, (_, index) => `pod${index}`));
    await rig.clock.advance(0);
    expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 1']);
  });

  test('tells on each pod which labels it misses', async () => {
    const rig = evictorRig();
    rig.lose('n', 'a');
    await rig.clock.advance(0);
    expect(rig.news).toEqual([
      {
        subject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'a', uid: 'uid-a' },
        type: 'Normal',
        reason: 'EvictedLabelRemoved',
        message: 'Evicted, because n lost labels that this pod requires: gpu=true',
      },
    ]);
  });
});

test('a node from which nothing was withdrawn is never listed', async () => {
  const rig = evictorRig();
  rig.states.set('n', { labels: {}, withdrawn: {} });
  rig.evictor.consider('n');
  rig.evictor.consider('unknown');
  await rig.clock.advance(0);
  expect(rig.asked()).toEqual([]);
});

test('one node is worked on after the other', async () => {
  const rig = evictorRig();
  const { promise, resolve } = Promise.withResolvers<void>();
  rig.answer = () => promise;
  rig.lose('n', 'a');
  rig.lose('m', 'b');
  await rig.clock.advance(999);
  expect(rig.asked()).toEqual([LIST, 'evict a']);
  resolve();
  await rig.clock.advance(0);
  expect(rig.asked()).toEqual(['list spec.nodeName=m', 'evict b']);
});

describe('a node of which a request hangs', () => {
  /** The evictions of these pods are answered after 10 s, by a time-out. */
  function hanging(isHung: (pod: string) => boolean) {
    const rig = evictorRig({ perSecond: 100 });
    rig.answer = async (pod) => {
      if (!isHung(pod)) return undefined;
      await new Promise<void>((resolve) => rig.clock.after(10_000, resolve));
      return new Error('timed out');
    };
    return rig;
  }

  test('is waited for by others for a second', async () => {
    const rig = hanging((pod) => pod === 'a');
    rig.lose('n', 'a');
    rig.lose('m', 'b', 'c');
    await rig.clock.advance(999);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
    await rig.clock.advance(1);
    expect(rig.asked()).toEqual(['list spec.nodeName=m', 'evict b', 'evict c']);
  });

  test('is not waited for by others when it is tried again, nor when many are', async () => {
    const rig = hanging((pod) => pod !== 'b');
    for (const node of ['n1', 'n2', 'n3', 'n4']) rig.lose(node, `of-${node}`);
    await rig.clock.advance(60_000);
    rig.asked();
    for (let second = 0; second < 60; second += 1) {
      rig.lose(`m${second}`, 'b');
      await rig.clock.advance(0);
      expect(rig.pods.has('b')).toBe(false);
      await rig.clock.advance(1000);
    }
    expect(rig.asked()).toContain('evict of-n4');
  });

  test('is one of the others again once it answers', async () => {
    let isHung = true;
    const rig = hanging((pod) => isHung && pod === 'a');
    rig.lose('n', 'a');
    await rig.clock.advance(9000);
    isHung = false;
    await rig.clock.advance(60_000);
    expect(rig.pods.size).toBe(0);
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.answer = () => promise;
    rig.asked();
    rig.lose('m', 'b');
    rig.states.set('n', { labels: {}, withdrawn: { gpu: 'true', tpu: 'true' } });
    rig.lose('n', 'c');
    await rig.clock.advance(500);
    expect(rig.asked()).toEqual(['list spec.nodeName=m', 'evict b']);
    resolve();
  });

  test('is waited for before the Lease goes to another', async () => {
    const rig = hanging((pod) => pod === 'a');
    rig.lose('n', 'a');
    rig.lose('m', 'b');
    await rig.clock.advance(5000);
    expect(rig.pods.has('b')).toBe(false);
    rig.controller.abort();
    let settled = false;
    void rig.settled().then(() => {
      settled = true;
    });
    await rig.clock.advance(4999);
    expect(settled).toBe(false);
    await rig.clock.advance(1);
    expect(settled).toBe(true);
  });
});

describe('a pod that a budget holds', () => {
  test('is tried again every 10 to 30 seconds until it goes, and is told about once', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked();
    rig.lose('n', 'a');
    await rig.clock.advance(300_000);
    const attempts = rig.timed().filter(({ what }) => what === 'evict a');
    const pauses = attempts.slice(1).map(({ atMs }, index) => atMs - (attempts[index]?.atMs ?? 0));
    expect(pauses.length).toBeGreaterThan(9);
    for (const pauseMs of pauses) expect(pauseMs >= 10_000 && pauseMs <= 30_000).toBe(true);
    expect(rig.news).toMatchObject([{ type: 'Warning', reason: 'EvictionRefused' }]);
    expect(rig.news[0]?.message).toBe(
      'Not evicted yet, although n lost labels that this pod requires: gpu=true; The disruption budget b says no',
    );
    expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 1']);
    rig.answer = () => undefined;
    await rig.clock.advance(30_000);
    expect(rig.pods.size).toBe(0);
    expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 0']);
  });

  test('keeps its time when there is other news of its node', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked();
    rig.lose('n', 'a');
    await rig.clock.advance(5000);
    rig.answer = (name) => (name === 'a' ? blocked() : undefined);
    rig.lose('n', 'b');
    rig.states.set('n', { ...GPU_GONE, labels: { zone: 'a' } });
    rig.evictor.consider('n');
    await rig.clock.advance(5000);
    expect(rig.asked()).toEqual([LIST, 'evict a', LIST, 'evict b']);
  });

  test('waits longer if the API server asks for that', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked(50_000);
    rig.lose('n', 'a');
    await rig.clock.advance(49_999);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
    await rig.clock.advance(1);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
  });

  test('that is held for longer holds up no other', async () => {
    const rig = evictorRig();
    rig.answer = (name) => blocked(name === 'a' ? 50_000 : 0);
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(30_000);
    expect(rig.asked()).toEqual([LIST, 'evict a', 'evict b', LIST, 'evict b']);
  });

  test('holds up no other pod of its node', async () => {
    const rig = evictorRig();
    rig.answer = (name) => (name === 'a' ? blocked() : undefined);
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(1000);
    expect([...rig.pods.keys()]).toEqual(['a']);
  });
});

describe('what fails', () => {
  test('is tried again when the API server does not answer, from a new list', async () => {
    const rig = evictorRig();
    rig.answer = () => new CodedError('KUBE_UNREACHABLE', 'Away');
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(0);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
    rig.answer = () => undefined;
    await rig.clock.advance(1000);
    expect(rig.asked()).toEqual([LIST, 'evict a', 'evict b']);
  });

  test('waits for as long as the API server asks', async () => {
    const rig = evictorRig();
    rig.answer = () => refusal(429, 7000);
    rig.lose('n', 'a');
    await rig.clock.advance(6999);
    rig.answer = () => undefined;
    expect(rig.asked()).toEqual([LIST, 'evict a']);
    await rig.clock.advance(1);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
  });

  test('is tried again when the list does, ever more seldom', async () => {
    const rig = evictorRig();
    rig.listError = refusal(500);
    rig.lose('n', 'a');
    await rig.clock.advance(120_000);
    const pauses = rig.timed().map(({ atMs }, index, all) => atMs - (all[index - 1]?.atMs ?? 0));
    expect(pauses.slice(0, 5)).toEqual([0, 750, 1500, 3000, 6000]);
    expect(Math.max(...pauses)).toBe(22_500);
    rig.listError = undefined;
    await rig.clock.advance(22_500);
    expect(rig.pods.size).toBe(0);
    rig.timed();
    rig.listError = refusal(500);
    rig.states.set('n', { ...GPU_GONE, labels: { zone: 'a' } });
    rig.evictor.consider('n');
    await rig.clock.advance(750);
    expect(rig.asked()).toEqual([LIST, LIST]);
  });

  test('is logged as a warning once', async () => {
    const logger = silentLogger();
    const warnings: string[] = [];
    logger.warn = ((_fields: object, text: string) => warnings.push(text)) as unknown as typeof logger.warn;
    const rig = evictorRig({ logger });
    rig.listError = refusal(500);
    rig.lose('n', 'a');
    await rig.clock.advance(10_000);
    expect(warnings).toEqual(['Failed to evict pods from a node; it is tried until they go']);
  });

  test('is tried again when it is about one pod, while others go', async () => {
    const rig = evictorRig();
    rig.answer = (name) => (name === 'a' ? refusal(500) : undefined);
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(500);
    expect([...rig.pods.keys()]).toEqual(['a']);
    rig.answer = () => undefined;
    await rig.clock.advance(1000);
    expect(rig.pods.size).toBe(0);
  });

  test('is not asked for again before a second has passed, when the list still has a pod that is gone', async () => {
    const rig = evictorRig();
    rig.answer = () => refusal(404);
    rig.lose('n', 'a');
    await rig.clock.advance(2500);
    const evictions = rig.timed().filter(({ what }) => what === 'evict a');
    expect(evictions.map(({ atMs }) => atMs)).toEqual([0, 1000, 2000]);
  });

  test('is looked at once more when the pod was another one, and is left when it is gone', async () => {
    const rig = evictorRig();
    rig.answer = (name) => {
      rig.pods.delete(name);
      return refusal(409);
    };
    rig.lose('n', 'a');
    await rig.clock.advance(60_000);
    expect(rig.asked()).toEqual([LIST, 'evict a', LIST]);
    expect(await rig.metric('evictions_total')).toContain('rollcall_coordinator_evictions_total{outcome="gone"} 1');
  });
});

describe('evictions end', () => {
  const many = Array.from({ length: 15 }, (_, index) => `pod${index}`);

  test('when the label comes back, also between two evictions', async () => {
    const rig = evictorRig();
    rig.answer = (name) => {
      if (name === 'pod2') rig.states.set('n', { labels: { gpu: 'true' }, withdrawn: {} });
    };
    rig.lose('n', ...many);
    await rig.clock.advance(60_000);
    expect(rig.pods.size).toBe(12);
    expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 0']);
  });

  test('when the fence closes, also between two evictions, and go on in the next term', async () => {
    const rig = evictorRig();
    rig.answer = (name) => {
      if (name === 'pod2') rig.remainingMs = 0;
    };
    rig.lose('n', ...many);
    await rig.clock.advance(60_000);
    expect(rig.pods.size).toBe(12);
    expect(rig.asked()).toHaveLength(4);
    expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 0']);
    rig.evictor.consider('n');
    await rig.clock.advance(60_000);
    expect(rig.asked()).toEqual([]);
    rig.remainingMs = 10_000;
    rig.evictor.consider('n');
    await rig.clock.advance(10_000);
    expect(rig.pods.size).toBe(0);
  });

  test('when the program stops, while they wait for their turn', async () => {
    const rig = evictorRig();
    rig.lose('n', ...many);
    await rig.clock.advance(2000);
    expect(rig.pods.size).toBe(3);
    rig.controller.abort();
    await rig.clock.advance(60_000);
    expect(rig.pods.size).toBe(3);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  test('when the program stops, while nothing is due', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked();
    rig.lose('n', 'a');
    await rig.clock.advance(1000);
    expect(rig.clock.pendingTimers).toBe(1);
    rig.controller.abort();
    expect(rig.clock.pendingTimers).toBe(0);
  });

  test('and what was known is forgotten: in the next term every node is looked at', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked();
    rig.lose('n');
    rig.lose('m', 'a');
    await rig.clock.advance(1000);
    rig.remainingMs = 0;
    await rig.clock.advance(30_000);
    rig.asked();
    rig.remainingMs = 10_000;
    rig.evictor.consider('n');
    await rig.clock.advance(0);
    expect(rig.asked()).toEqual([LIST]);
  });

  test('before the right to write does: none waits longer than that for its answer, nor than 10 s', async () => {
    const rig = evictorRig();
    rig.remainingMs = 3000;
    rig.lose('n', 'a');
    await rig.clock.advance(0);
    rig.remainingMs = 60_000;
    rig.lose('m', 'b');
    await rig.clock.advance(0);
    expect(rig.timeoutsMs).toEqual([3000, 10_000]);
  });

  test('only after the one under way has been answered', async () => {
    const rig = evictorRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.answer = () => promise;
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(0);
    rig.controller.abort();
    let settled = false;
    void rig.settled().then(() => {
      settled = true;
    });
    await rig.clock.advance(0);
    expect(settled).toBe(false);
    resolve();
    await rig.clock.advance(0);
    expect(settled).toBe(true);
    expect([...rig.pods.keys()]).toEqual(['b']);
  });
});

test('a dry run lists and evicts nothing, and says once of each pod that it would', async () => {
  const logger = silentLogger();
  const pods: unknown[] = [];
  logger.info = (({ pod }: { pod: unknown }) => pods.push(pod)) as unknown as typeof logger.info;
  const rig = evictorRig({ dryRun: true, logger });
  rig.lose('n', 'a', 'b');
  await rig.clock.advance(60_000);
  expect(pods).toEqual(['default/a', 'default/b']);
  rig.evictor.consider('n');
  await rig.clock.advance(0);
  rig.evictor.consider('n');
  await rig.clock.advance(0);
  expect(pods).toHaveLength(2);
  expect(rig.asked()).toEqual([LIST, LIST]);
  expect(rig.news).toEqual([]);
  expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 2']);
});
