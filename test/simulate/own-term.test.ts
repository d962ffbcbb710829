import { expect, test } from 'vitest';
import { coordinatorConfig } from './coordinator.ts';
import { World } from './world.ts';

test('a replica that begins another term decides only after its writes of the last one have settled', async () => {
  const options = { services: [], nodes: [], rates: [1, 1], byService: false } as const;
  const world = new World(options, 1, await coordinatorConfig());
  try {
    await world.clock.advance(60_000);
    const { leader } = world;
    const requests = leader?.requests;
    if (!leader || !requests) throw new Error('no coordinator leads');
    // A write that hangs at the API server.
    const { promise, resolve } = Promise.withResolvers<void>();
    requests.settled = () => promise;
    // As by a step of the clock, which a suspended machine sees as well: the term ends, and the same replica leads again.
    leader.machine.jumpWallClock(5000);
    await world.clock.advance(8000);
    expect(leader.mayWriteMs).toBeGreaterThan(0);
    expect(leader.decides).toBe(false);
    resolve();
    await world.clock.advance(2000);
    expect(leader.decides).toBe(true);
  } finally {
    world.end();
  }
});
