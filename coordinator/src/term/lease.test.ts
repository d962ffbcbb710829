import { describe, expect, it } from 'vitest';
import { World } from './testing/lease-world.ts';

describe('lease election', () => {
  it('makes the only candidate lead within half a second, where there is no Lease yet', async () => {
    const world = new World(1);
    const { election, terms } = world.add();
    expect(await world.until(() => election.isLeading(), 1000)).toBeLessThanOrEqual(500);
    expect(terms).toEqual([1]);
    expect(world.server.lease?.metadata.annotations).toEqual({ 'rollcall.dev/leader-url': 'https://replica_1' });
    expect(world.server.lease?.spec).toMatchObject({
      holderIdentity: 'replica_1',
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
    });
  });

  it('elects one of two that begin at once', async () => {
    const world = new World(2);
    world.add();
    world.add();
    await world.clock.advance(30_000);
    expect(world.leaders()).toHaveLength(1);
    expect(world.terms).toEqual([1]);
    expect(world.violations).toEqual([]);
  });

  it('tells standbys where the leader is', async () => {
    const world = new World(3);
    const [leader, standby] = await world.settled();
    expect(leader.leaders).toEqual(['https://replica_1']);
    expect(standby.leaders).toEqual(['https://replica_1']);
    expect(standby.election.remainingMs()).toBe(0);
  });

  it('renews every two seconds and asks nothing else of the API server', async () => {
    const world = new World(4);
    await world.settled();
    const before = Number(world.server.lease?.metadata.resourceVersion);
    await world.clock.advance(60_000);
    expect(Number(world.server.lease?.metadata.resourceVersion) - before).toBe(30);
  });

  it('takes over 15 s after a leader was killed, and not before', async () => {
    const world = new World(5);
    const [leader, standby] = await world.settled();
    world.kill(leader);
    const tookMs = await world.until(() => standby.election.isLeading(), 20_000);
    expect(tookMs).toBeGreaterThan(13_000);
    expect(tookMs).toBeLessThan(15_500);
    expect(standby.terms).toEqual([2]);
  });

  it('hands over within half a second of a clean stop, once the writes under way have settled', async () => {
    const world = new World(6);
    const [leader, standby] = await world.settled();
    let settle = () => {};
    const writes = new Promise<void>((resolve) => {
      settle = resolve;
    });
    leader.stop.abort();
    const releasing = leader.election.release(writes);
    expect(leader.election.remainingMs()).toBe(0);
    await world.clock.advance(1500);
    expect(standby.election.isLeading()).toBe(false);
    settle();
    expect(await world.until(() => standby.election.isLeading(), 1000)).toBeLessThanOrEqual(500);
    await releasing;
    await leader.running;
    expect(standby.leaders).toEqual(['https://replica_1', undefined, 'https://replica_2']);
  });

  it('ends at once as a standby, whatever it waits for', async () => {
    const world = new World(21);
    const [, standby] = await world.settled();
    await world.clock.advance(500);
    let ended = false;
    standby.stop.abort();
    void standby.running.then(() => {
      ended = true;
    });
    expect(await world.until(() => ended, 1000)).toBeLessThanOrEqual(100);
  });

  it('leaves the Lease to run out when the writes under way do not settle', async () => {
    const world = new World(7);
    const [leader, standby] = await world.settled();
    const releasing = leader.election.release(new Promise(() => {}));
    await world.clock.advance(12_000);
    await releasing;
    expect(world.server.lease?.spec?.holderIdentity).toBe(leader.identity);
    await world.until(() => standby.election.isLeading(), 5000);
    expect(world.violations).toEqual([]);
  });

  it('fences itself 10 s after the last renewal that got through was begun', async () => {
    const world = new World(8);
    const [leader] = await world.settled();
    leader.machine.network.partitioned = true;
    await world.clock.advance(7900);
    expect(leader.election.isLeading()).toBe(true);
    await world.clock.advance(2100);
    expect(leader.election.remainingMs()).toBe(0);
    expect(leader.election.isLeading()).toBe(false);
  });

  it('tells for how long the Lease has not been renewed', async () => {
    const world = new World(19);
    const [leader, standby] = await world.settled();
    expect(standby.election.silentMs()).toBeLessThan(2500);
    world.kill(leader);
    await world.clock.advance(6000);
    expect(standby.election.silentMs()).toBeGreaterThanOrEqual(6000);
    expect(standby.election.silentMs()).toBeLessThan(8500);
  });

  it('has heard nothing of the Lease before it has looked', () => {
    const { election } = new World(20).add({ partitioned: true });
    expect(election.silentMs()).toBe(Number.POSITIVE_INFINITY);
  });

  it('counts the time that the answer took, when it takes the Lease and with each renewal', async () => {
    const world = new World(18);
    const { election } = world.add({ latency: () => 2000 });
    await world.until(() => election.isLeading(), 30_000);
    expect(election.remainingMs()).toBeLessThanOrEqual(6000);
    const takenAs = world.server.lease?.metadata.resourceVersion;
    let mostMs = 0;
    for (let passedMs = 0; passedMs < 20_000; passedMs += 100) {
      await world.clock.advance(100);
      mostMs = Math.max(mostMs, election.remainingMs());
    }
    // It was renewed, and never was more left than what the way there and back had not taken.
    expect(election.isLeading()).toBe(true);
    expect(world.server.lease?.metadata.resourceVersion).not.toBe(takenAs);
    expect(mostMs).toBeLessThanOrEqual(6000);
  });

  it('leads again, with a higher term, when the network is back before anyone else took over', async () => {
    const world = new World(9);
    const leader = world.add();
    await world.until(() => leader.election.isLeading(), 1000);
    leader.machine.network.partitioned = true;
    await world.clock.advance(30_000);
    expect(leader.election.isLeading()).toBe(false);
    leader.machine.heal();
    await world.until(() => leader.election.isLeading(), 15_000);
    expect(leader.terms).toEqual([1, 2]);
  });

  it('knows on resuming from a long stop that it no longer leads, before it does anything', async () => {
    const world = new World(10);
    const [leader, standby] = await world.settled();
    leader.machine.pause();
    await world.clock.advance(20_000);
    expect(standby.election.isLeading()).toBe(true);
    expect(leader.election.remainingMs()).toBe(0);
    leader.machine.resume();
    await world.clock.advance(30_000);
    expect(world.leaders()).toEqual([standby]);
    expect(world.violations).toEqual([]);
    expect(leader.leaders.at(-1)).toBe('https://replica_2');
  });

  it.each([
    ['at once', 0],
    ['late', 8000],
  ])(
    'knows that a suspended machine no longer leads, although its monotonic clock stood still, when the network comes back %s',
    async (_when, networkLateMs) => {
      const world = new World(22);
      const [leader, standby] = await world.settled();
      leader.machine.suspend();
      leader.machine.network.partitioned = true;
      await world.clock.advance(20_000);
      expect(standby.election.isLeading()).toBe(true);
      if (networkLateMs === 0) leader.machine.heal();
      else world.clock.after(networkLateMs, () => leader.machine.heal());
      leader.machine.resume();
      const remainingMs = leader.election.remainingMs();
      await world.clock.advance(30_000);
      expect(world.violations).toEqual([]);
      expect(remainingMs).toBe(0);
      expect(world.leaders()).toEqual([standby]);
      expect(leader.leaders.at(-1)).toBe('https://replica_2');
    },
  );

  it('takes its own Lease again after a suspension that was too short for anyone to take over', async () => {
    const world = new World(23);
    const [leader, standby] = await world.settled();
    leader.machine.suspend();
    await world.clock.advance(3000);
    leader.machine.resume();
    expect(leader.election.isLeading()).toBe(false);
    await world.until(() => leader.election.isLeading(), 3000);
    expect([leader.terms, standby.terms]).toEqual([[1, 2], []]);
  });

  it('stops leading as soon as it sees another holder', async () => {
    const world = new World(11);
    const [leader] = await world.settled();
    world.server.edit((lease) => {
      lease.spec = { ...lease.spec, holderIdentity: 'intruder' };
    });
    expect(await world.until(() => !leader.election.isLeading(), 100)).toBeLessThanOrEqual(20);
    expect(leader.events.slice(-2)).toEqual(['stopped', 'https://replica_1 leads']);
  });

  it('creates a Lease anew that another client deletes, without another replica taking over', async () => {
    const world = new World(12);
    const [leader, standby] = await world.settled();
    world.server.delete();
    await world.until(() => world.server.lease?.spec?.holderIdentity === leader.identity, 1000);
    await world.clock.advance(30_000);
    expect(leader.terms).toEqual([1]);
    expect(standby.terms).toEqual([]);
  });

  it('waits out the lease of a holder that was killed just before the Lease was deleted', async () => {
    const world = new World(13);
    const [leader, standby] = await world.settled();
    world.kill(leader);
    world.server.delete();
    const tookMs = await world.until(() => standby.election.isLeading(), 20_000);
    expect(tookMs).toBeGreaterThan(14_900);
    expect(standby.terms).toEqual([2]);
  });

  it('stays the leader when another client touches the Lease, or takes the name out of it', async () => {
    const world = new World(14);
    const [leader, standby] = await world.settled();
    world.server.edit((lease) => {
      lease.metadata.labels = { touched: 'true' };
    });
    await world.clock.advance(5000);
    world.server.edit((lease) => {
      lease.spec = { ...lease.spec, holderIdentity: '' };
    });
    await world.clock.advance(30_000);
    expect(world.leaders()).toEqual([leader]);
    expect(leader.terms).toEqual([1]);
    expect(standby.terms).toEqual([]);
    expect(world.server.lease?.metadata.labels).toEqual({ touched: 'true' });
  });

  it('asks by itself when its watch has gone deaf', async () => {
    const world = new World(15);
    const [leader, standby] = await world.settled();
    // The stream stalls while requests get through again: as after a partition that TCP has not noticed.
    standby.machine.network.partitioned = true;
    await world.clock.advance(1000);
    standby.machine.network.partitioned = false;
    leader.stop.abort();
    void leader.election.release(Promise.resolve());
    await world.until(() => standby.election.isLeading(), 8000);
  });

  it.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('takes its own Lease again before it goes on when the wall clock steps %s', async (_where, stepMs) => {
    const world = new World(16);
    const [leader, standby] = await world.settled();
    for (let round = 0; round < 20; round += 1) {
      leader.machine.jumpWallClock(stepMs);
      standby.machine.jumpWallClock(world.between(-3_600_000, 3_600_000));
      expect(leader.election.remainingMs()).toBe(0);
      expect(await world.until(() => leader.election.isLeading(), 3000)).toBeLessThanOrEqual(2200);
      await world.clock.advance(world.between(0, 3000));
    }
    expect([leader.terms.length, standby.terms]).toEqual([21, []]);
    expect(world.violations).toEqual([]);
  });

  it('is unmoved while the wall clock is slewed by less than a second between two renewals', async () => {
    const world = new World(24);
    const [leader] = await world.settled();
    for (let round = 0; round < 100; round += 1) {
      leader.machine.jumpWallClock(round < 50 ? 40 : -40);
      await world.clock.advance(200);
      expect(leader.election.isLeading()).toBe(true);
    }
    expect(leader.terms).toEqual([1]);
  });

  it('keeps renewals apart for standbys while the wall clock stands still', async () => {
    const world = new World(17);
    const [leader, standby] = await world.settled();
    for (let round = 0; round < 300; round += 1) {
      leader.machine.jumpWallClock(-100);
      await world.clock.advance(100);
    }
    expect(standby.terms).toEqual([]);
    expect(leader.election.isLeading()).toBe(true);
  });
});
