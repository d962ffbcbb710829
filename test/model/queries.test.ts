import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { DEEDS } from './deeds.ts';
import { type History, historyOf } from './history.ts';
import { taintOf } from './node-services.ts';
import { generator } from './random.ts';
import { SERVICE_NAMES } from './truth.ts';
import { World } from './world.ts';

const HISTORIES = Math.max(40, Math.ceil(Number(process.env['ROLLCALL_HISTORIES'] ?? 1500) / 37));

/** Every third history is of so many nodes of one pool that labels leave ten of them, and stay on the others for now. */
function historyFor(seed: number): History {
  const history = historyOf(seed);
  if (seed % 3 !== 0) return history;
  const nodes = Array.from({ length: 14 }, () => ({ pool: 'a', forWorkspaces: true }));
  const deeds = Object.keys(DEEDS).filter((name) =>
    ['pools', 'rules', 'node-services'].includes(DEEDS[name]?.theme ?? ''),
  );
  const steps = history.steps.map((step) => ({ ...step, deed: deeds[step.number % deeds.length] as string }));
  const x = {
    checks: { offered: 'csiNode' },
    publish: { taint: { key: taintOf('x'), value: '', effect: 'NoSchedule' } },
  } as const;
  return { ...history, world: { ...history.world, nodes, nodeServices: { x } }, steps };
}

/** Asks both coordinators everything about every node, in another order than that in which they are evaluated. */
function query({ truths, processes }: World): void {
  const names = [...truths.keys()].toReversed();
  for (const { replica } of processes) for (const node of names) replica.query(node);
}

/** Every write, with its time. `asks`: whether people and kube-scheduler ask about every node all the time. */
async function writesOf({ seed, world: options, steps }: History, asks: boolean): Promise<string[]> {
  const clock = new FakeClock();
  const world = new World(options, clock, generator(seed));
  const writes: string[] = [];
  const look = () => {
    world.agentsLook();
    if (asks) query(world);
  };
  world.onWrite = (write) => {
    writes.push(`${world.nowMs} ${JSON.stringify(write)}`);
    if (asks) query(world);
  };
  world.happened = look;
  const every = (): void => {
    look();
    world.tick();
    look();
    clock.after(1000, every);
  };
  clock.after(1000, every);
  try {
    look();
    await clock.advance(5000);
    for (const { pauseMs, deed, number } of steps) {
      await clock.advance(pauseMs);
      const random = generator(number);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
      const truth = pick([...world.truths.values()]);
      look();
      if (truth) DEEDS[deed]?.act({ world, truth, service: pick(SERVICE_NAMES), random, pick });
      look();
    }
    await clock.advance(60_000);
    return writes;
  } finally {
    world.stop();
  }
}

test('no question about a node changes a later decision: every write is the same, at the same time', {
  timeout: 300_000 + HISTORIES * 2000,
}, async () => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const history = historyFor(seed);
    const unasked = await writesOf(history, false);
    expect(unasked.length).toBeGreaterThan(0);
    expect(await writesOf(history, true), `seed ${seed}`).toEqual(unasked);
  }
});
