import { describe, expect, it } from 'vitest';
import { World } from './testing/lease-world.ts';

const SEEDS = 120;
const CHAOS_MS = 120_000;

/** One thing that goes wrong. */
function disturb(world: World): void {
  const victim = world.pick(world.candidates);
  if (!victim) return;
  const later = (min: number, max: number, act: () => void) => world.clock.after(world.between(min, max), act);
  const actions: (() => void)[] = [
    () => {
      victim.machine.network.partitioned = true;
      if (world.random() < 0.3) victim.machine.cutStreams();
      later(500, 40_000, () => victim.machine.heal());
    },
    () => {
      victim.machine.pause();
      later(500, 40_000, () => victim.machine.resume());
    },
    () => {
      // A machine that wakes up often has no network yet.
      const { machine } = victim;
      machine.suspend();
      machine.network.partitioned = true;
      if (world.random() < 0.5) machine.cutStreams();
      later(500, 40_000, () => {
        machine.resume();
        later(0, 8000, () => machine.heal());
      });
    },
    () => {
      world.kill(victim);
      later(0, 5000, () => addRandomly(world));
    },
    () => {
      const writes = new Promise<void>((resolve) => victim.machine.clock.after(world.between(0, 9000), resolve));
      victim.stop.abort();
      void victim.election.release(writes);
      later(9000, 12_000, () => {
        world.kill(victim);
        addRandomly(world);
      });
    },
    () => {
      // A candidate that has never seen a holder cannot know of one whose Lease was deleted before it looked.
      if (world.candidates.some(({ leaders }) => leaders.length === 0)) return;
      world.server.delete();
      world.noBirthsBefore = world.clock.monotonic() + 16_000;
    },
    () => world.server.compact(),
    () => world.server.edit((lease) => Object.assign(lease.metadata, { labels: { touched: String(world.random()) } })),
    () => world.server.edit((lease) => Object.assign(lease, { spec: { ...lease.spec, holderIdentity: 'intruder' } })),
    () => world.server.edit((lease) => Object.assign(lease, { spec: { ...lease.spec, holderIdentity: '' } })),
    () => victim.machine.jumpWallClock(world.between(-1e7, 1e7)),
    () => victim.machine.cutStreams(),
  ];
  world.pick(actions)?.();
}

function addRandomly(world: World): void {
  const waitMs = world.noBirthsBefore - world.clock.monotonic();
  if (waitMs > 0) {
    world.clock.after(waitMs, () => addRandomly(world));
    return;
  }
  const slow = world.random() < 0.3;
  const latency = () => (world.random() < 0.05 ? world.between(0, 14_000) : world.between(1, slow ? 1500 : 30));
  const failsBefore = world.random() < 0.3 ? 0.2 : 0;
  const failsAfter = world.random() < 0.3 ? 0.2 : 0;
  world.add({ latency, failsBefore, failsAfter }, world.between(0.98, 1.02));
}

async function runChaos(seed: number): Promise<World> {
  const world = new World(seed);
  const size = 1 + Math.floor(world.random() * 3);
  for (let count = 0; count < size; count += 1) addRandomly(world);
  while (world.clock.monotonic() < CHAOS_MS) {
    await world.clock.advance(world.between(100, 8000));
    disturb(world);
  }
  // The last births, and the last disturbances, are over in 40 s.
  await world.clock.advance(40_000);
  for (const { machine } of world.candidates) {
    Object.assign(machine.network, { latency: () => 5, failsBefore: 0, failsAfter: 0 });
  }
  await world.clock.advance(60_000);
  return world;
}

describe('lease election in a world where everything goes wrong', () => {
  it(`never has two leaders, and always one in the end (${SEEDS} histories)`, { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const world = await runChaos(seed);
      expect(world.violations, `seed ${seed}`).toEqual([]);
      expect(world.leaders().length, `leaders in the end, seed ${seed}`).toBe(1);
    }
  });
});
