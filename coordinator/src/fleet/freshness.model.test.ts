import fc from 'fast-check';
import { expect, test } from 'vitest';
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
  fc.array(fc.tuple(fc.nat(pauseMs), deedOn(nodes)), { maxLength: 40 });

test('how a node is heard follows from what was heard, said and expected, and from the time', () => {
  fc.assert(
    fc.property(start, historyOf(1, 50_000), (first, history) => {
      const { tracker, records, news, play } = staged([first], { guardPercent: NEVER_PERCENT });
      const happened: Happened[] = [];
      let atMs = 0;
      let tickedMs = 0;
      let before: string | undefined;
      const checkedUntil = (untilMs: number) => {
        for (; tickedMs + 1000 <= untilMs; ) {
          tickedMs += 1000;
          const shown = records[0] && tracker.of(records[0]).state;
          tracker.tick(tickedMs);
          const { isHeard, isExpected, mayWait } = contract(first, happened);
          const said = happened.findLast(({ kind }) => kind === 'heard' || kind === 'goodbye');
          const heard = isHeard ? ['fresh', 'leaving'] : ['unheard'];
          const states = mayWait(tickedMs) ? heard : [isExpected ? 'silent' : 'absent'];
          before = records[0] && tracker.of(records[0]).state;
          expect(states).toContain(before);
          if (before === 'leaving') expect(said?.kind).toBe('goodbye');
          const isOver = (state: string | undefined) => state === 'silent' || state === 'absent';
          expect(news()).toEqual(isOver(before) && !isOver(shown) ? ['n0'] : []);
        }
      };
      for (const [pauseMs, deed] of history) {
        atMs += pauseMs;
        checkedUntil(atMs);
        const next = { ...deed, atMs };
        happened.push(next);
        play(next);
      }
      checkedUntil(atMs + 2 * GOODBYE_MS);
    }),
    { numRuns: 50 },
  );
});

/** Whether a guard begins to hold, or goes on: the contract in one line each. */
const begins = (all: number, overdue: number) => overdue >= 0.55 * all && (overdue > 2 || overdue === all) && all > 0;
const goesOn = (all: number, overdue: number) => overdue >= 0.4 * all && overdue > 0;

test('no node is held to be silent that a guard counts with most others, and each one that it lets go has a window', () => {
  const NODES = 7;
  fc.assert(
    fc.property(
      fc.array(start, { minLength: NODES, maxLength: NODES }),
      historyOf(NODES, 15_000),
      (starts, history) => {
        const { tracker, records, play } = staged(starts);
        const happened = starts.map((): Happened[] => []);
        const pools = starts.map(({ pool }) => pool);
        const guarded = new Map<string, boolean>();
        const protectedBy = starts.map((): string | undefined => undefined);
        let atMs = 0;
        let tickedMs = 0;
        const tick = () => {
          tickedMs += 1000;
          tracker.tick(tickedMs);
          const nodes = starts.map((each, index) => {
            const { isExpected, counts, mayWait } = contract(each, happened[index] ?? []);
            return {
              isExpected,
              counts,
              isOverdue: isExpected && !mayWait(tickedMs + WINDOW_MS / 2),
              pool: pools[index],
            };
          });
          const heard = nodes.filter(({ isExpected, counts }) => isExpected && counts);
          const groups = new Map([
            [FLEET_GUARD, heard.length > 0 ? heard : nodes.filter(({ isExpected }) => isExpected)],
          ]);
          for (const pool of ['gold', 'silver'])
            groups.set(
              `pool ${pool}`,
              heard.filter((node) => node.pool === pool),
            );
          for (const [name, group] of groups) {
            const overdue = group.filter(({ isOverdue }) => isOverdue).length;
            guarded.set(name, (guarded.get(name) ? goesOn : begins)(group.length, overdue));
          }
          expect(new Set(tracker.activeGuards())).toEqual(
            new Set([...guarded.keys()].filter((name) => guarded.get(name))),
          );
          for (const [index, { isOverdue, pool }] of nodes.entries()) {
            const guard = [FLEET_GUARD, `pool ${pool}`].find((name) => guarded.get(name));
            // It is as if all began anew for the node.
            if (protectedBy[index] !== undefined && guard === undefined && isOverdue) {
              happened[index]?.push({ kind: 'renewed', node: index, hasPod: false, pool: 'gold', atMs: tickedMs });
            }
            protectedBy[index] = guard;
            const state = records[index] && tracker.of(records[index]);
            const { mayWait, isExpected } = contract(starts[index] as Start, happened[index] ?? []);
            const isSilent = isExpected && !mayWait(tickedMs);
            expect(state?.state === 'silent' ? (state.guard ?? 'silent') : 'not').toBe(
              isSilent ? (guard ?? 'silent') : 'not',
            );
          }
        };
        for (const [pauseMs, deed] of history) {
          atMs += pauseMs;
          while (tickedMs + 1000 <= atMs) tick();
          const next = { ...deed, atMs };
          for (const [index, each] of happened.entries())
            if (deed.kind === 'renewed' || deed.node === index) each.push(next);
          if (deed.kind === 'pool') pools[deed.node] = deed.pool;
          play(next);
        }
        while (tickedMs < atMs + 2 * GOODBYE_MS) tick();
      },
    ),
    { numRuns: 30 },
  );
});
