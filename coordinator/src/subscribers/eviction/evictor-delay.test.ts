import type { Clock } from '@rollcall/common/clock.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { evictorRig } from './evictor.test-fixtures.ts';

const LIST = 'list spec.nodeName=n';

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

  test('begins anew for a node that was not known meanwhile', async () => {
    const rig = delayed();
    rig.lose('n', 'a');
    await rig.clock.advance(20_000);
    rig.states.delete('n');
    rig.evictor.consider('n');
    rig.lose('n', 'a');
    await rig.clock.advance(29_999);
    expect(rig.asked()).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.asked()).toEqual([LIST, 'evict a']);
  });

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
