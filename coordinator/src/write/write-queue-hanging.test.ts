import { describe, expect, test } from 'vitest';
import { type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { planFor, type Reply, set, started, status, withdrawal } from './write-queue.test-fixtures.ts';

/** One pool whose writes are not answered in time, beside Nodes that are well. */

/** What a webhook that answers 429 makes of a write. */
const refusedByWebhook = new KubeStatusError(429, { kind: 'Status', code: 429 }, 30_000, {});

const isHanging = ({ path }: KubeRequest) => path.includes('hanging');

/** Writes Nodes that are well, as before any trouble. */
async function writeSome({ clock, plans, writeQueue }: ReturnType<typeof started>): Promise<void> {
  for (let index = 0; index < 60; index += 1) {
    plans.set(`before${index}`, planFor(`before${index}`, { set }));
    writeQueue.add(`before${index}`);
  }
  await clock.advance(5000);
}

async function fleet({ hanging, reply = { afterMs: 60_000 } }: { hanging: number; reply?: Reply }) {
  const run = started((request) => (isHanging(request) ? reply : { afterMs: 20 }));
  await writeSome(run);
  for (let index = 0; index < hanging; index += 1) {
    run.plans.set(`hanging${index}`, planFor(`hanging${index}`, { withdrawal }));
    run.writeQueue.add(`hanging${index}`, { priority: 'urgent' });
  }
  /** The time until the Node was written, in ms. */
  const writeWell = async (name: string, priority: 'urgent' | 'normal' = 'urgent') => {
    run.plans.set(name, planFor(name, priority === 'urgent' ? { withdrawal } : { set }));
    run.writeQueue.add(name, { priority });
    const fromMs = run.clock.monotonic();
    while (!run.written.includes(name) && run.clock.monotonic() - fromMs < 300_000) await run.clock.advance(10);
    return run.clock.monotonic() - fromMs;
  };
  return { ...run, writeWell };
}

describe('a node that is well', () => {
  test.each([
    { hanging: 100, withinMs: 1000 },
    { hanging: 300, withinMs: 3500 },
  ])('loses its label soon when the writes of $hanging nodes before it hang all at once', async (at) => {
    const { writeWell } = await fleet(at);
    expect(await writeWell('well')).toBeLessThan(at.withinMs);
  });

  test.each([
    { what: 'hang', reply: { afterMs: 60_000 } },
    { what: 'pass after five seconds', reply: { afterMs: 5000 } },
    { what: 'fail after eight seconds', reply: { afterMs: 8000, error: status(504) } },
    { what: 'are throttled', reply: { afterMs: 5, error: refusedByWebhook } },
  ])('is written at once while the writes of 300 nodes $what, at any time', async ({ reply }) => {
    const { clock, writeWell } = await fleet({ hanging: 300, reply });
    await clock.advance(5000);
    for (let round = 0; round < 30; round += 1) {
      expect(await writeWell(`urgent${round}`)).toBeLessThan(1100);
      expect(await writeWell(`normal${round}`, 'normal')).toBeLessThan(1100);
      await clock.advance(3000);
    }
  });

  test('gets its labels while sets of 300 nodes hang', async () => {
    const { clock, plans, writeQueue, writeWell } = await fleet({ hanging: 0 });
    for (let index = 0; index < 300; index += 1) {
      plans.set(`hanging${index}`, planFor(`hanging${index}`, { set }));
      writeQueue.add(`hanging${index}`);
    }
    await clock.advance(10_000);
    expect(await writeWell('well', 'normal')).toBeLessThan(1000);
  });
});

describe('nodes whose writes hang', () => {
  test('are tried by few at a time, and less and less often', async () => {
    const { clock, sent, state } = await fleet({ hanging: 100 });
    await clock.advance(60_000);
    expect([...state.underWay.values()].reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(4);
    const before = sent.length;
    await clock.advance(60_000);
    expect(sent.length - before).toBeLessThan(120);
  });

  test('have the whole time-out when no write waits for their place, or once they are known', async () => {
    const { sent, clock } = await fleet({ hanging: 1 });
    const ofHanging = () => sent.filter(({ node }) => node === 'hanging0');
    await clock.advance(9990);
    expect(ofHanging()).toHaveLength(1);
    await clock.advance(30_000);
    const [first, second, third] = ofHanging().map(({ atMs }) => atMs);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(10_000);
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(10_000);
  });

  test('are all written soon after the webhook is back', async () => {
    let isBack = false;
    const run = started((request) => ({ afterMs: isHanging(request) && !isBack ? 60_000 : 20 }));
    await writeSome(run);
    for (let index = 0; index < 100; index += 1) {
      run.plans.set(`hanging${index}`, planFor(`hanging${index}`, { withdrawal }));
      run.writeQueue.add(`hanging${index}`, { priority: 'urgent' });
    }
    await run.clock.advance(120_000);
    isBack = true;
    await run.clock.advance(13_000);
    expect(new Set(run.written.filter((name) => name.startsWith('hanging'))).size).toBe(100);
  });
});
