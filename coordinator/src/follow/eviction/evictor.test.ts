import type { Clock } from '@rollcall/common/clock.ts';
import { CodedError } from '@rollcall/common/coded-error.ts';
import { FakeClock } from '@rollcall/common/fake-clock.ts';
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

  test('tells on each pod which labels it misses', async () => {
    const rig = evictorRig();
    rig.lose('n', 'a');
    await rig.clock.advance(0);
    expect(rig.news).toEqual([
      {
        subject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'a', uid: 'uid-a' },
        type: 'Normal',
        reason: 'EvictedAfterLabelGone',
        message: 'Evicted, because n lost labels that this pod requires: gpu=true',
      },
    ]);
  });
});

describe('the delay', () => {
  const delayed = () => evictorRig({ delayMs: 30_000 });

  test('has to pass before the node is looked at, and passes once', async () => {
    const rig = delayed();
    rig.lose('n', 'a');
    await rig.clock.advance(20_000);
    rig.evictor.consider('n');
    await rig.clock.advance(9999);
    expect(rig.asked()).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
    await rig.clock.advance(600_000);
    expect(rig.asked()).toEqual([]);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  test('begins anew with every flap, so that one of milliseconds costs no pod', async () => {
    const rig = delayed();
    for (let count = 0; count < 10; count += 1) {
      rig.lose('n', 'a');
      await rig.clock.advance(25_000);
      rig.states.set('n', { labels: { gpu: 'true' }, withdrawn: {} });
      rig.evictor.consider('n');
      await rig.clock.advance(5000);
    }
    expect(rig.asked()).toEqual([]);
  });

  test('is each label’s own', async () => {
    const rig = delayed();
    rig.lose('n', 'a');
    const metadata = { name: 'b', namespace: 'default', uid: 'uid-b', resourceVersion: '1' };
    rig.pods.set('b', { metadata, spec: { nodeName: 'n', nodeSelector: { tpu: 'true' } } });
    await rig.clock.advance(10_000);
    rig.states.set('n', { labels: {}, withdrawn: { gpu: 'true', tpu: 'true' } });
    rig.evictor.consider('n');
    await rig.clock.advance(20_000);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
    await rig.clock.advance(10_000);
    expect(rig.asked()).toEqual([LIST, 'evict b']);
  });

  test.each([0.25, 0.5, 1, 1.75])(
    'is not lost when a timer fires %d ms early and time goes on meanwhile',
    async (ms) => {
      const time = new FakeClock();
      let readings = 0;
      const clock: Clock = {
        now: () => time.now(),
        monotonic: () => time.monotonic() + ++readings * 0.2,
        after: (delayMs, callback) => time.after(delayMs - ms, callback),
      };
      const rig = evictorRig({ delayMs: 30_000, clock });
      rig.lose('n', 'a');
      await time.advance(31_000);
      expect(rig.asked()).toEqual([LIST, 'evict a']);
    },
  );

  test('begins anew where another term does', async () => {
    const rig = delayed();
    rig.lose('n', 'a');
    await rig.clock.advance(20_000);
    rig.evictor.restart();
    rig.evictor.consider('n');
    await rig.clock.advance(29_999);
    expect(rig.asked()).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
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

describe('the rate limit', () => {
  test('holds over all nodes, which take turns', async () => {
    const rig = evictorRig();
    const names = (node: string) => Array.from({ length: 10 }, (_, index) => `${node}${index}`);
    rig.lose('n', ...names('n'));
    rig.lose('m', ...names('m'));
    await rig.clock.advance(0);
    expect(rig.timed().filter(({ what }) => what.startsWith('evict'))).toHaveLength(10);
    await rig.clock.advance(10_000);
    expect(rig.pods.size).toBe(0);
    const later = rig.timed().filter(({ what }) => what.startsWith('evict'));
    expect(later.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10 }, (_, index) => 1000 * (index + 1)));
  });

  test('is not spent on evictions that are refused', async () => {
    const rig = evictorRig();
    rig.answer = (name) => (name.startsWith('blocked') ? blocked() : undefined);
    rig.lose('m', ...Array.from({ length: 20 }, (_, index) => `blocked${index}`));
    rig.lose('n', ...Array.from({ length: 10 }, (_, index) => `free${index}`));
    await rig.clock.advance(2000);
    expect(rig.pods.size).toBe(20);
  });

  test('leaves the API server in peace between two refusals', async () => {
    const rig = evictorRig();
    rig.answer = () => blocked();
    rig.lose('n', 'a', 'b', 'c');
    await rig.clock.advance(1000);
    expect(rig.timed().map(({ atMs }) => atMs)).toEqual([0, 0, 100, 200]);
  });

  test('is what the option says', async () => {
    const rig = evictorRig({ perSecond: 10 });
    rig.lose('n', ...Array.from({ length: 20 }, (_, index) => `pod${index}`));
    await rig.clock.advance(999);
    expect(rig.pods.size).toBe(1);
    await rig.clock.advance(1);
    expect(rig.pods.size).toBe(0);
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

  test('only after the one under way has been answered', async () => {
    const rig = evictorRig();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.answer = () => promise;
    rig.lose('n', 'a', 'b');
    await rig.clock.advance(0);
    rig.controller.abort();
    let settled = false;
    void rig.evictor.settled().then(() => {
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

test('a dry run lists and evicts nothing', async () => {
  const rig = evictorRig({ dryRun: true });
  rig.lose('n', 'a', 'b');
  await rig.clock.advance(60_000);
  expect(rig.asked()).toEqual([LIST]);
  expect(rig.news).toEqual([]);
  expect(await rig.metric('evictions_pending')).toEqual(['rollcall_coordinator_evictions_pending 2']);
});
