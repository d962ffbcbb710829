import { describe, expect, test } from 'vitest';
import { FreshnessTracker } from './freshness.ts';
import { FLEET_GUARD } from './guard.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import type { NodeRecord } from './node-record.ts';
import { type AgentSigns, LEAVING_GRACE_MS } from './presence.ts';

const namesOf = (tracker: FreshnessTracker) => tracker.held().map(({ of }) => of);

const WINDOW_MS = 30_000;

/** Signs of the agent on a Node and its pods. */
const SIGNS = {
  none: { isExpected: false, wasHeard: false, mayHaveLeft: false },
  gone: { isExpected: false, wasHeard: true, mayHaveLeft: true },
  there: { isExpected: true, wasHeard: true, mayHaveLeft: false },
} satisfies Record<string, AgentSigns>;

function fleetOf(nodes: number, poolOf: (index: number) => string | undefined = () => undefined) {
  const changed: string[] = [];
  const options = { windowMs: WINDOW_MS, guardPercent: 55, onChange: (node: string) => changed.push(node) };
  const names = Array.from({ length: nodes }, (_, index) => `node-${index}`);
  const records = new Map<string, NodeRecord>();
  const tracker = new FreshnessTracker(options, () => records.values(), 0);
  const begin = (name: string, agent: keyof typeof SIGNS, pool: string | undefined, nowMs: number) => {
    const record = nodeRecord(name, 'u', { presence: tracker.begin(pool, SIGNS[agent], nowMs) });
    records.set(name, record);
    return record;
  };
  const record = (name: string) => records.get(name) ?? nodeRecord(name);
  const setPool = (name: string, pool: string | undefined) => {
    record(name).presence.pool = pool;
  };
  for (const [index, name] of names.entries()) begin(name, 'there', poolOf(index), 0);
  const heard = (name: string, nowMs: number) => tracker.heard(record(name), nowMs);
  const goodbye = (name: string, nowMs: number, isExpected = true) => tracker.goodbye(record(name), nowMs, isExpected);
  const of = (name: string) => tracker.of(record(name));
  /** Ticks every second, as the coordinator does; `reporting` nodes report every 10 s, each at its own phase. */
  const run = (fromMs: number, toMs: number, reporting: readonly string[]) => {
    for (let now = fromMs; now <= toMs; now += 1000) {
      for (const name of reporting) if ((now / 1000 + names.indexOf(name)) % 10 === 0) heard(name, now);
      tracker.tick(now);
    }
  };
  const states = () => names.map((name) => of(name).state);
  return { tracker, names, record, begin, setPool, heard, goodbye, of, run, states, changed, records };
}

describe('a node', () => {
  test('is unheard until its first report, then fresh', () => {
    const { heard, of } = fleetOf(1);
    expect(of('node-0')).toEqual({ state: 'unheard' });
    heard('node-0', 500);
    expect(of('node-0')).toEqual({ state: 'fresh' });
  });

  test.each([
    ['none', WINDOW_MS],
    ['gone', LEAVING_GRACE_MS],
  ] as const)('whose agent is %s when a term begins is absent after %i ms', (agent, afterMs) => {
    const { tracker, begin, changed } = fleetOf(0);
    const bare = begin('bare', agent, undefined, 0);
    tracker.tick(afterMs - 1);
    expect(tracker.of(bare)).toEqual({ state: 'unheard' });
    expect(changed).toEqual([]);
    tracker.tick(afterMs);
    expect(tracker.of(bare)).toEqual({ state: 'absent' });
    expect(changed).toEqual(['bare']);
    expect(tracker.population.expected).toBe(0);
  });

  test('that comes later without an agent is absent until it has one', () => {
    const { tracker, begin } = fleetOf(0);
    const bare = begin('bare', 'none', undefined, WINDOW_MS);
    tracker.tick(WINDOW_MS);
    expect(tracker.of(bare)).toEqual({ state: 'absent' });
    tracker.expect(bare, WINDOW_MS);
    expect(tracker.of(bare)).toEqual({ state: 'unheard' });
  });

  test('that has an agent before it is found to have none is expected at once', () => {
    const { tracker, begin } = fleetOf(0);
    const bare = begin('bare', 'none', undefined, 0);
    expect(tracker.population.expected).toBe(0);
    tracker.expect(bare, 10_000);
    expect(tracker.population.expected).toBe(1);
    tracker.tick(10_000 + WINDOW_MS - 1000);
    expect(tracker.of(bare)).toEqual({ state: 'unheard' });
    tracker.tick(10_000 + WINDOW_MS);
    expect(tracker.of(bare).state).toBe('silent');
  });

  test.each([
    [10_000, LEAVING_GRACE_MS],
    [110_000, 110_000 + WINDOW_MS],
  ])(
    'whose agent was gone when a term began, and has a successor after %i ms, is silent after %i ms',
    (fromMs, silentMs) => {
      const { tracker, begin } = fleetOf(0);
      const parting = begin('parting', 'gone', undefined, 0);
      tracker.expect(parting, fromMs);
      expect(tracker.population.expected).toBe(1);
      for (let now = 11_000; now < silentMs; now += 1000) tracker.tick(now);
      expect(tracker.of(parting)).toEqual({ state: 'unheard' });
      tracker.tick(silentMs);
      expect(tracker.of(parting).state).toBe('silent');
    },
  );

  test.each([
    ['none', WINDOW_MS],
    ['gone', LEAVING_GRACE_MS],
  ] as const)(
    'whose agent was %s when a term began is absent no later since a pod of one is gone',
    (agent, afterMs) => {
      const { tracker, begin } = fleetOf(0);
      const bare = begin('bare', agent, undefined, 0);
      tracker.goodbye(bare, afterMs - 1000, false);
      tracker.tick(afterMs - 1);
      expect(tracker.of(bare)).toEqual({ state: 'unheard' });
      tracker.tick(afterMs);
      expect(tracker.of(bare)).toEqual({ state: 'absent' });
      tracker.goodbye(bare, afterMs, false);
      expect(tracker.of(bare)).toEqual({ state: 'absent' });
    },
  );

  test('that is silent, or waited for, is so whatever pods come to it', () => {
    const { tracker, names, of, run, record } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 90_000, names.slice(1));
    tracker.expect(record('node-0'), 90_000);
    expect(of('node-0')).toEqual({ state: 'silent' });
    const last = tracker.quietMs(record('node-1'), 90_000);
    tracker.expect(record('node-1'), 90_000);
    expect([of('node-1'), tracker.quietMs(record('node-1'), 90_000)]).toEqual([{ state: 'fresh' }, last]);
  });

  test('is quiet since its last report, if it was heard at all', () => {
    const { tracker, record, heard } = fleetOf(1);
    expect(tracker.quietMs(record('node-0'), 1000)).toBeUndefined();
    heard('node-0', 2000);
    expect(tracker.quietMs(record('node-0'), 7000)).toBe(5000);
  });

  test('that alone falls silent among ten is silent one window after its last report, and not before', () => {
    const { names, of, run, states, changed } = fleetOf(10);
    run(0, 60_000, names);
    // node-0 reports when the second is a multiple of ten: its last report was at 60 s.
    run(61_000, 89_000, names.slice(1));
    expect(of('node-0')).toEqual({ state: 'fresh' });
    run(90_000, 90_000, names.slice(1));
    expect(of('node-0')).toEqual({ state: 'silent' });
    expect(changed).toEqual(['node-0']);
    expect(states().filter((state) => state === 'fresh')).toHaveLength(9);
  });

  test('whose agent said goodbye is given longer', () => {
    const { names, goodbye, of, run } = fleetOf(10);
    run(0, 60_000, names);
    goodbye('node-0', 60_000);
    run(61_000, 60_000 + LEAVING_GRACE_MS - WINDOW_MS / 2 - 1000, names.slice(1));
    expect(of('node-0')).toEqual({ state: 'leaving' });
    run(60_000 + LEAVING_GRACE_MS - WINDOW_MS / 2, 60_000 + LEAVING_GRACE_MS - 1000, names.slice(1));
    expect(of('node-0').state).not.toBe('silent');
    run(60_000 + LEAVING_GRACE_MS, 60_000 + LEAVING_GRACE_MS, names.slice(1));
    expect(of('node-0')).toEqual({ state: 'silent' });
  });

  test.each([
    [65_000, 60_000 + LEAVING_GRACE_MS],
    [160_000, 160_000 + WINDOW_MS],
  ])('whose agent said goodbye, and whose API server was away at %i ms, is silent at %i ms', (renewedMs, silentMs) => {
    const { tracker, names, goodbye, of, run } = fleetOf(10);
    run(0, 60_000, names);
    goodbye('node-0', 60_000);
    run(61_000, renewedMs, names.slice(1));
    tracker.renewAll(renewedMs);
    run(renewedMs + 1000, silentMs - 1000, names.slice(1));
    expect(of('node-0')).toEqual({ state: 'unheard' });
    run(silentMs, silentMs, names.slice(1));
    expect(of('node-0')).toEqual({ state: 'silent' });
  });

  test('whose agent is gone without a word in this term is absent once the time of a goodbye is over', () => {
    const { tracker, goodbye, of } = fleetOf(10);
    goodbye('node-0', 5000, false);
    tracker.tick(5000 + LEAVING_GRACE_MS - 1);
    expect(of('node-0')).toEqual({ state: 'unheard' });
    expect(tracker.population.expected).toBe(9);
    goodbye('node-0', 100_000, false);
    tracker.tick(5000 + LEAVING_GRACE_MS);
    expect(of('node-0')).toEqual({ state: 'absent' });
  });

  test('gets a fresh window when the API server was away', () => {
    const { tracker, names, of, run } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 95_000, names.slice(1));
    expect(of('node-0').state).toBe('silent');
    tracker.renewAll(95_000);
    expect(of('node-0').state).toBe('unheard');
    run(96_000, 124_000, names.slice(1));
    expect(of('node-0').state).toBe('unheard');
    run(125_000, 125_000, names.slice(1));
    expect(of('node-0').state).toBe('silent');
  });
});

describe('when the API server was away', () => {
  test('a node without an agent is given time to show one', () => {
    const { tracker, begin } = fleetOf(0);
    const bare = begin('bare', 'none', undefined, WINDOW_MS);
    tracker.tick(WINDOW_MS);
    expect(tracker.of(bare)).toEqual({ state: 'absent' });
    tracker.renewAll(WINDOW_MS);
    expect(tracker.of(bare)).toEqual({ state: 'unheard' });
    expect(tracker.population.expected).toBe(0);
    tracker.renewAll(WINDOW_MS + 10_000);
    tracker.tick(2 * WINDOW_MS + 9999);
    expect(tracker.of(bare)).toEqual({ state: 'unheard' });
    tracker.tick(2 * WINDOW_MS + 10_000);
    expect(tracker.of(bare)).toEqual({ state: 'absent' });
  });

  test('the population is unknown until most agents are heard again, or a window has passed', () => {
    const { tracker, names, heard } = fleetOf(10);
    const isKnownAt = (nowMs: number) => {
      tracker.tick(nowMs);
      return tracker.isKnown;
    };
    for (const name of names) heard(name, 1000);
    expect([tracker.isKnown, isKnownAt(1000)]).toEqual([false, true]);
    tracker.renewAll(60_000);
    for (const name of names.slice(5)) heard(name, 61_000);
    expect([tracker.isKnown, isKnownAt(61_000)]).toEqual([false, false]);
    heard('node-0', 62_000);
    expect(isKnownAt(62_000)).toBe(true);
    tracker.renewAll(70_000);
    expect([isKnownAt(70_000 + WINDOW_MS - 1), isKnownAt(70_000 + WINDOW_MS)]).toEqual([false, true]);
  });

  test('a node whose agent is parting keeps its time', () => {
    const { tracker, goodbye, of } = fleetOf(1);
    goodbye('node-0', 5000, false);
    tracker.renewAll(90_000);
    tracker.tick(5000 + LEAVING_GRACE_MS - 1);
    expect(of('node-0')).toEqual({ state: 'unheard' });
    tracker.tick(5000 + LEAVING_GRACE_MS);
    expect(of('node-0')).toEqual({ state: 'absent' });
  });
});

describe('the guard', () => {
  test('of a pool counts a node that comes to it overdue once', () => {
    const { tracker, names, setPool, run } = fleetOf(8, (index) => (index < 2 ? 'gold' : undefined));
    run(0, 60_000, names);
    run(61_000, 80_000, names.slice(1));
    setPool('node-0', 'silver');
    setPool('node-0', 'gold');
    expect(namesOf(tracker)).toEqual([]);
    run(81_000, 120_000, names.slice(1));
    expect(namesOf(tracker)).toEqual([]);
  });

  test('holds before the first of many nodes that stopped at one moment counts as silent', () => {
    const { tracker, names, of, run } = fleetOf(10);
    run(0, 60_000, names);
    for (let now = 61_000; now < 300_000; now += 1000) {
      run(now, now, []);
      for (const name of names) expect(of(name)).not.toEqual({ state: 'silent' });
    }
    expect(namesOf(tracker)).toEqual([FLEET_GUARD]);
    expect(of('node-0')).toEqual({ state: 'silent', guard: FLEET_GUARD });
  });

  test('holds before the first of many nodes whose agents said goodbye counts as silent', () => {
    const { tracker, names, goodbye, of, run } = fleetOf(10);
    run(0, 60_000, names);
    for (const [index, name] of names.entries()) {
      run(61_000 + index * 1000, 61_000 + index * 1000, []);
      goodbye(name, 61_000 + index * 1000);
    }
    for (let now = 72_000; now < 300_000; now += 1000) {
      run(now, now, []);
      for (const name of names) expect(of(name)).not.toEqual({ state: 'silent' });
    }
    expect(namesOf(tracker)).toEqual([FLEET_GUARD]);
  });

  test('does not hold for half of the nodes', () => {
    const { tracker, names, of, run } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(5));
    expect(namesOf(tracker)).toEqual([]);
    expect(of('node-0')).toEqual({ state: 'silent' });
  });

  test('does not hold for two of three, nor for both of two', () => {
    const three = fleetOf(3);
    three.run(0, 60_000, three.names);
    three.run(61_000, 120_000, three.names.slice(2));
    expect(namesOf(three.tracker)).toEqual([]);
    const two = fleetOf(2);
    two.run(0, 60_000, two.names);
    two.run(61_000, 120_000, []);
    expect([namesOf(two.tracker), two.of('node-0')]).toEqual([[], { state: 'silent' }]);
  });

  test('of a pool holds while the rest of the fleet is well', () => {
    const { tracker, names, of, run } = fleetOf(10, (index) => (index < 4 ? 'gold' : undefined));
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(4));
    expect(namesOf(tracker)).toEqual(['pool gold']);
    expect(of('node-0')).toEqual({ state: 'silent', guard: 'pool gold' });
  });

  test('of a pool lets go of a node that leaves the pool, which gets one window of its own', () => {
    const { names, of, run, setPool } = fleetOf(10, (index) => (index < 4 ? 'gold' : 'silver'));
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(3));
    expect([of('node-0'), of('node-3')]).toEqual([{ state: 'silent', guard: 'pool gold' }, { state: 'fresh' }]);
    for (const name of ['node-0', 'node-3']) setPool(name, 'silver');
    expect([of('node-0'), of('node-3')]).toEqual([{ state: 'silent', guard: 'pool gold' }, { state: 'fresh' }]);
    run(120_000, 120_000, names.slice(3));
    expect([of('node-0'), of('node-3')]).toEqual([{ state: 'unheard' }, { state: 'fresh' }]);
    run(121_000, 149_000, names.slice(3));
    expect(of('node-0')).toEqual({ state: 'unheard' });
    run(150_000, 150_000, names.slice(3));
    expect(of('node-0')).toEqual({ state: 'silent' });
  });

  test('of a pool releases no node that moves to a pool where another guard holds', () => {
    const { names, of, run, setPool } = fleetOf(20, (index) => ['gold', 'silver'][Math.floor(index / 4)]);
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(8));
    expect(of('node-0')).toEqual({ state: 'silent', guard: 'pool gold' });
    setPool('node-0', 'silver');
    run(121_000, 121_000, names.slice(8));
    expect(of('node-0')).toEqual({ state: 'silent', guard: 'pool silver' });
  });

  test('has nothing to do with a node that moves from one pool to another where none holds', () => {
    const { names, of, run, setPool } = fleetOf(10, (index) => (index < 4 ? 'gold' : 'silver'));
    run(0, 60_000, names);
    run(61_000, 120_000, names.slice(1));
    for (const name of ['node-0', 'node-1']) setPool(name, 'silver');
    run(121_000, 121_000, names.slice(1));
    expect([of('node-0'), of('node-1')]).toEqual([{ state: 'silent' }, { state: 'fresh' }]);
  });

  test('clears below 40 %, and gives who is still silent one window in which old reports say nothing', () => {
    const { tracker, names, of, run } = fleetOf(10);
    run(0, 60_000, names);
    run(61_000, 120_000, []);
    expect(namesOf(tracker)).toEqual([FLEET_GUARD]);
    const back = names.slice(3);
    run(121_000, 131_000, back);
    expect(namesOf(tracker)).toEqual([]);
    expect(of('node-0')).toEqual({ state: 'unheard' });
    run(132_000, 165_000, back);
    expect(of('node-0')).toEqual({ state: 'silent' });
    expect(of('node-9')).toEqual({ state: 'fresh' });
  });

  test('counts what it should after any history', () => {
    const { tracker, names, setPool, heard, run, records } = fleetOf(6, () => 'a');
    run(0, 40_000, names.slice(2));
    setPool('node-1', 'b');
    records.delete('node-2');
    heard('node-0', 40_500);
    expect(tracker.population).toEqual({ expected: 5, overdue: 1 });
  });
});
