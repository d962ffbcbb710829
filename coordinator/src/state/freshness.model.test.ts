import fc from 'fast-check';
import { test } from 'vitest';
import { type FreshnessOptions, FreshnessTracker } from './freshness.ts';
import { FLEET_GUARD } from './guard.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import type { NodeRecord } from './node-record.ts';

const WINDOW_MS = 30_000;
const GOODBYE_MS = 120_000;
/** More than there can be: no guard holds. */
const NEVER_PERCENT = 101;

/** `hasPod` of a goodbye: whether another pod of an agent is there. `pool` of a move: where the node goes. */
type Deed = { kind: 'heard' | 'expected' | 'renewed' | 'goodbye' | 'pool'; node: number } & Pick<
  Start,
  'hasPod' | 'pool'
>;

type Happened = Deed & { atMs: number };

type Start = { hasPod: boolean; wasHeard: boolean; mayHaveLeft: boolean; pool: 'gold' | 'silver' };

/** How long each thing that happened keeps a node from being silent, and whether a word of an agent counts. */
type Expectation = { isHeard: boolean; isExpected: boolean; counts: boolean; mayWait: (nowMs: number) => boolean };

/**
 * The contract of one node without guards: a report gives a window, so does the first sign of an agent and what begins
 * anew; the first goodbye of a session that spoke gives two minutes until an agent is heard again.
 */
function contract(start: Start, happened: readonly Happened[]): Expectation {
  const ends: { ms: number; of: 'agent' | 'term' | 'goodbye' }[] = [{ ms: WINDOW_MS, of: 'term' }];
  if (start.hasPod) ends.push({ ms: WINDOW_MS, of: 'agent' });
  if (start.mayHaveLeft) ends.push({ ms: GOODBYE_MS, of: 'goodbye' });
  const drop = (what: string) => ends.splice(0, ends.length, ...ends.filter(({ of }) => of !== what));
  let { hasPod: isExpected, wasHeard: counts } = start;
  let hasSpoken = counts && !start.mayHaveLeft;
  let isHeard = false;
  let hasReported = false;
  for (const deed of happened) {
    const { kind, atMs } = deed;
    // What time has changed is seen at ticks, once a second.
    const isSilent = ends.every(({ ms }) => ms <= Math.floor(atMs / 1000) * 1000);
    if (kind === 'heard') {
      drop('goodbye');
      ends.push({ ms: atMs + WINDOW_MS, of: 'agent' });
      isHeard = true;
      hasReported = true;
      hasSpoken = true;
      counts = true;
      isExpected = true;
    } else if (kind === 'expected' && !isExpected) {
      ends.push({ ms: atMs + WINDOW_MS, of: 'agent' });
      isExpected = true;
    } else if (kind === 'renewed') {
      ends.push({ ms: atMs + WINDOW_MS, of: 'term' });
      isHeard = false;
    } else if (kind === 'goodbye') {
      if (hasSpoken && !isSilent) ends.push({ ms: atMs + GOODBYE_MS, of: 'goodbye' });
      hasSpoken = false;
      if (!deed.hasPod && !hasReported) {
        isExpected = false;
        drop('agent');
      }
    }
  }
  return { isHeard, isExpected, counts, mayWait: (nowMs) => ends.some(({ ms }) => ms > nowMs) };
}

function staged(starts: readonly Start[], options: Partial<FreshnessOptions> = {}) {
  const records: NodeRecord[] = [];
  const news: string[] = [];
  const given = { windowMs: WINDOW_MS, guardPercent: 55, onChange: (name: string) => news.push(name), ...options };
  const tracker = new FreshnessTracker(given, () => records, 0);
  for (const [index, { hasPod, wasHeard, mayHaveLeft, pool }] of starts.entries()) {
    const presence = tracker.begin(pool, { isExpected: hasPod, wasHeard, mayHaveLeft }, 0);
    records.push(nodeRecord(`n${index}`, 'u', { presence }));
  }
  const reported = new Set<NodeRecord>();
  const play = (deed: Happened) => {
    const record = records[deed.node];
    if (!record) return;
    if (deed.kind === 'heard') {
      reported.add(record);
      tracker.heard(record, deed.atMs);
    } else if (deed.kind === 'expected') tracker.expect(record, deed.atMs);
    else if (deed.kind === 'renewed') tracker.renewAll(deed.atMs);
    else if (deed.kind === 'pool') record.presence.pool = deed.pool;
    else tracker.goodbye(record, deed.atMs, deed.hasPod || reported.has(record));
  };
  return { tracker, records, news: () => news.splice(0), play };
}

const start = fc.record({
  hasPod: fc.boolean(),
  wasHeard: fc.boolean(),
  mayHaveLeft: fc.boolean(),
  pool: fc.constantFrom('gold', 'silver'),
});

const deedOn = (nodes: number): fc.Arbitrary<Deed> =>
  fc.record({
    kind: fc.constantFrom('heard', 'heard', 'heard', 'expected', 'renewed', 'goodbye', 'goodbye', 'pool'),
    node: fc.nat(nodes - 1),
    hasPod: fc.boolean(),
    pool: fc.constantFrom('gold', 'silver'),
  });

const historyOf = (nodes: number, pauseMs: number) =>
  fc.array(fc.tuple(fc.nat(pauseMs), deedOn(nodes)), { maxLength: 25 });

/** Cheaper than `expect`, which is asked a hundred thousand times here. */
function check(what: string, is: unknown, should: unknown): void {
  if (is !== should) throw new Error(`${what} is ${String(is)}, and not ${String(should)}`);
}

test('how a node is heard follows from what was heard, said and expected, and from the time', () => {
  fc.assert(
    fc.property(start, historyOf(1, 50_000), (first, history) => {
      const { tracker, records, news, play } = staged([first], { guardPercent: NEVER_PERCENT });
      const happened: Happened[] = [];
      const state = () => records.map((record) => tracker.of(record).state)[0] ?? 'none';
      const isOver = (each: string) => each === 'silent' || each === 'absent';
      let tickedMs = 0;
      const tick = () => {
        tickedMs += 1000;
        const before = state();
        tracker.tick(tickedMs);
        const { isHeard, isExpected, mayWait } = contract(first, happened);
        const last = happened.findLast(({ kind }) => kind === 'heard' || kind === 'goodbye')?.kind;
        const said = last === 'goodbye' && state() === 'leaving' ? 'leaving' : 'fresh';
        const waiting = isHeard ? said : 'unheard';
        const over = isExpected ? 'silent' : 'absent';
        check(`the state at ${tickedMs}`, state(), mayWait(tickedMs) ? waiting : over);
        check(`the news at ${tickedMs}`, news().length, isOver(state()) && !isOver(before) ? 1 : 0);
      };
      let atMs = 0;
      for (const [pauseMs, deed] of history) {
        atMs += pauseMs;
        while (tickedMs + 1000 <= atMs) tick();
        const next = { ...deed, atMs };
        happened.push(next);
        play(next);
      }
      while (tickedMs < atMs + 2 * GOODBYE_MS) tick();
    }),
    { numRuns: 300 },
  );
});

/** Whether a guard begins to hold, or goes on: the contract in one line each. */
const begins = (all: number, overdue: number) => overdue >= 0.55 * all && overdue > 2;
const goesOn = (all: number, overdue: number) => overdue >= 0.4 * all && overdue > 0 && all > 2;

const NODES = 7;

test('no node is held to be silent that a guard counts with most others, and each one that it lets go has a window', () => {
  const starts = fc.array(start, { minLength: NODES, maxLength: NODES });
  fc.assert(
    fc.property(starts, historyOf(NODES, 15_000), (firsts, history) => {
      const { tracker, records, play } = staged(firsts);
      const nodes = firsts.map((first) => ({
        first,
        pool: first.pool,
        happened: [] as Happened[],
        guard: undefined as string | undefined,
      }));
      let held: ReadonlySet<string> = new Set();
      let tickedMs = 0;
      const tick = () => {
        tickedMs += 1000;
        tracker.tick(tickedMs);
        const expected = nodes.flatMap((node) => {
          const { isExpected, counts, mayWait } = contract(node.first, node.happened);
          return isExpected ? [{ node, counts, isOverdue: !mayWait(tickedMs + WINDOW_MS / 2) }] : [];
        });
        const heard = expected.filter(({ counts }) => counts);
        const inPool = (pool: string) => heard.filter(({ node }) => node.pool === pool);
        const groups = [
          [FLEET_GUARD, heard.length > 0 ? heard : expected],
          ['pool gold', inPool('gold')],
          ['pool silver', inPool('silver')],
        ] as const;
        const holding = groups.filter(([name, group]) => {
          return (held.has(name) ? goesOn : begins)(group.length, group.filter(({ isOverdue }) => isOverdue).length);
        });
        held = new Set(holding.map(([name]) => name));
        check(
          'the guards',
          tracker
            .held()
            .map(({ of }) => of)
            .sort()
            .join(),
          [...held].sort().join(),
        );
        const overdue = new Set(expected.filter(({ isOverdue }) => isOverdue).map(({ node }) => node));
        for (const [index, node] of nodes.entries()) {
          const guard = [FLEET_GUARD, `pool ${node.pool}`].find((name) => held.has(name));
          // It is as if all began anew for the node.
          if (node.guard !== undefined && guard === undefined && overdue.has(node)) {
            node.happened.push({ kind: 'renewed', node: index, hasPod: false, pool: node.pool, atMs: tickedMs });
          }
          node.guard = guard;
          const { isExpected, mayWait } = contract(node.first, node.happened);
          const state = tracker.of(records[index] as NodeRecord);
          const should = isExpected && !mayWait(tickedMs) ? (guard ?? 'silent') : 'not silent';
          check(
            `node ${index} at ${tickedMs}`,
            state.state === 'silent' ? (state.guard ?? 'silent') : 'not silent',
            should,
          );
        }
      };
      let atMs = 0;
      for (const [pauseMs, deed] of history) {
        atMs += pauseMs;
        while (tickedMs + 1000 <= atMs) tick();
        const next = { ...deed, atMs };
        for (const [index, node] of nodes.entries()) {
          if (deed.kind === 'renewed' || deed.node === index) node.happened.push(next);
          if (deed.kind === 'pool' && deed.node === index) node.pool = deed.pool;
        }
        play(next);
      }
      while (tickedMs < atMs + 2 * GOODBYE_MS) tick();
    }),
    { numRuns: 200 },
  );
});
