import { describe, expect, test } from 'vitest';
import { FLEET_GUARD, FreshnessTracker, LEAVING_GRACE_MS } from './freshness.ts';

const WINDOW_MS = 30_000;

function fleetOf(nodes: number, poolOf: (index: number) => string | undefined = () => undefined) {
  const silenced: string[] = [];
  let settled = 0;
  const tracker = new FreshnessTracker({
    windowMs: WINDOW_MS,
    guardPercent: 55,
    onChange: (node) => silenced.push(node),
    onSettled: () => {
      settled += 1;
    },
  });
  const names = Array.from({ length: nodes }, (_, index) => `node-${index}`);
  for (const [index, name] of names.entries()) tracker.expect(name, poolOf(index), 0);
  /** Ticks every second, as the coordinator does; `reporting` nodes report every 10 s, each at its own phase. */
  const run = (fromMs: number, toMs: number, reporting: readonly string[]) => {
    for (let now = fromMs; now <= toMs; now += 1000) {
      for (const name of reporting) {
        const index = names.indexOf(name);
        if ((now / 1000 + index) % 10 === 0) tracker.heard(name, poolOf(index), now, false);
      }
      tracker.tick(now);
    }
  };
  const states = () => names.map((name) => tracker.of(name).state);
  return { tracker, names, run, states, silenced, settledTimes: () => settled };
}

describe('a node', () => {
  test('is unheard until its first report, then fresh', () => {
    const { tracker } = fleetOf(1);
    expect(tracker.of('node-0')).toEqual({ state: 'unheard' });
    tracker.heard('node-0', undefined, 500, false);
    expect(tracker.of('node-0')).toEqual({ state: 'fresh' });
  });

  test('without an agent is absent only once the first window after a restart is over', () => {
    const { tracker, settledTimes } = fleetOf(0);
    tracker.restart(0);
    tracker.tick(WINDOW_MS - 1);
    expect(tracker.of('bare')).toEqual({ state: 'unheard' });
    expect(settledTimes()).toBe(0);
    tracker.tick(WINDOW_MS);
    expect(tracker.of('bare')).toEqual({ state: 'absent' });
    expect(settledTimes()).toBe(1);
  });

  test('that alone falls silent among ten is silent one window after its last report, and not before', () => {
    const { tracker, names, run, states, silenced } = fleetOf(10);
    run(0, 60_000, names);
    // node-0 reports when the second is a multiple of ten: its last report was at 60 s.
    run(61_000, 89_000, names.slice(1));
    expect(tracker.of('node-0')).toEqual({ state: 'fresh' });
    run(90_000, 90_000, names.slice(1));
    expect(tracker.of('node-0')).toEqual({ state: 'silent' });
    expect(silenced).toEqual(['node-0']);
    expect(states().filter((state) => state === 'fresh')).toHaveLength(9);
  });

  test('whose agent said goodbye is given longer', () => {
    const { tracker, run, names } = fleetOf(10);
    run(0, 60_000, names);
    tracker.heard('node-0', undefined, 60_000, true);
    run(61_000, 60_000 + LEAVING_GRACE_MS - WINDOW_MS / 2 - 1000, names.slice(1));
    expect(tracker.of('node-0')).toEqual({ state: 'leaving' });
    run(60_000 + LEAVING_GRACE_MS - WINDOW_MS / 2, 60_000 + LEAVING_GRACE_MS - 1000, names.slice(1));
    expect(tracker.of('node-0').state).not.toBe('silent');
    run(60_000 + LEAVING_GRACE_MS, 60_000 + LEAVING_GRACE_MS, names.slice(1));
    expect(tracker.of('node-0')).toEqual({ state: 'silent' });
  });

  test('whose agent said goodbye keeps what is left of its time through a restart', () => {
    const { tracker, run, names } = fleetOf(10);
    run(0, 60_000, names);
    tracker.heard('node-0', undefined, 60_000, true);
    tracker.restart(65_000);
    expect(tracker.of('node-0')).toEqual({ state: 'leaving' });
  });

  test('gets a fresh window by a restart', () => {
    const { tracker, run, names } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 95_000, names.slice(1));
    expect(tracker.of('node-0').state).toBe('silent');
    tracker.restart(95_000);
    expect(tracker.of('node-0').state).toBe('unheard');
    run(96_000, 124_000, names.slice(1));
    expect(tracker.of('node-0').state).toBe('unheard');
    run(125_000, 125_000, names.slice(1));
    expect(tracker.of('node-0').state).toBe('silent');
  });
});

describe('the guard', () => {
  test('holds before the first of many nodes that stopped at one moment counts as silent', () => {
    const { tracker, names, run } = fleetOf(10);
    run(0, 60_000, names);
    for (let now = 61_000; now < 300_000; now += 1000) {
      run(now, now, []);
      for (const name of names) expect(tracker.of(name)).not.toEqual({ state: 'silent' });
    }
    expect(tracker.activeGuards()).toEqual([FLEET_GUARD]);
    expect(tracker.of('node-0')).toEqual({ state: 'silent', guard: FLEET_GUARD });
  });

  test('holds before the first of many nodes whose agents said goodbye counts as silent', () => {
    const { tracker, names, run } = fleetOf(10);
    run(0, 60_000, names);
    for (const [index, name] of names.entries()) {
      run(61_000 + index * 1000, 61_000 + index * 1000, []);
      tracker.heard(name, undefined, 61_000 + index * 1000, true);
    }
    for (let now = 72_000; now < 300_000; now += 1000) {
      run(now, now, []);
      for (const name of names) expect(tracker.of(name)).not.toEqual({ state: 'silent' });
    }
    expect(tracker.activeGuards()).toEqual([FLEET_GUARD]);
  });

  test('does not hold for half of the nodes', () => {
    const { tracker, names, run } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(5));
    expect(tracker.activeGuards()).toEqual([]);
    expect(tracker.of('node-0')).toEqual({ state: 'silent' });
  });

  test('does not hold for two of three, but for both of two', () => {
    const three = fleetOf(3);
    three.run(0, 60_000, three.names);
    three.run(61_000, 120_000, three.names.slice(2));
    expect(three.tracker.activeGuards()).toEqual([]);
    const two = fleetOf(2);
    two.run(0, 60_000, two.names);
    two.run(61_000, 120_000, []);
    expect(two.tracker.activeGuards()).toEqual([FLEET_GUARD]);
  });

  test('of a pool holds while the rest of the fleet is well', () => {
    const { tracker, run, names } = fleetOf(10, (index) => (index < 4 ? 'gold' : undefined));
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(4));
    expect(tracker.activeGuards()).toEqual(['pool gold']);
    expect(tracker.of('node-0')).toEqual({ state: 'silent', guard: 'pool gold' });
  });

  test('clears below 40 %, and gives who is still silent one window in which old reports say nothing', () => {
    const { tracker, names, run } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 120_000, []);
    expect(tracker.activeGuards()).toEqual([FLEET_GUARD]);
    const back = names.slice(3);
    run(121_000, 131_000, back);
    expect(tracker.activeGuards()).toEqual([]);
    expect(tracker.of('node-0')).toEqual({ state: 'unheard' });
    run(132_000, 165_000, back);
    expect(tracker.of('node-0')).toEqual({ state: 'silent' });
    expect(tracker.of('node-9')).toEqual({ state: 'fresh' });
  });

  test('counts what it should after any history', () => {
    const { tracker, names, run } = fleetOf(6, () => 'a');
    run(0, 40_000, names.slice(2));
    tracker.setPool('node-1', 'b');
    tracker.forget('node-2');
    tracker.heard('node-0', 'a', 40_500, false);
    expect(tracker.population).toEqual({ expected: 5, overdue: 1 });
  });
});
