import { describe, expect, test } from 'vitest';
import type { Sighted, Sighting, SpeakingAgent } from '../readiness/verdict.ts';
import { CHANGED_FOR_MS, ObserverGuard } from './observer.ts';

/** An agent that was there when the term began, and whose pod is not known. */
const agentOf = (version: string) => ({ version, startedMs: Number.NEGATIVE_INFINITY });

/** The answer of the guard, which is the same before and after the sighting is recorded. */
function answerOf(guard: ObserverGuard, sighted: Sighted, nowMs: number): number | undefined {
  const before = guard.heldUntilMs(sighted, nowMs);
  guard.record(sighted, nowMs);
  expect(guard.heldUntilMs(sighted, nowMs)).toBe(before);
  return before;
}

/** A guard that has heard version 1 of so many nodes, and then version 2. */
function replaced(count: number, { of = count } = {}) {
  const guard = new ObserverGuard(() => true, 0);
  const names = Array.from({ length: of }, (_, index) => `n${index}`);
  for (const name of names) guard.sees(name, agentOf('1'), 0);
  for (const name of names.slice(0, count)) guard.sees(name, agentOf('2'), 1000);
  const look = (sighting: Sighting, name: string, nowMs = 2000, service = 's') =>
    answerOf(guard, { node: name, agent: undefined, service, sighting }, nowMs);
  const lose = (...asked: [name: string, nowMs?: number, service?: string]) => look('lost', ...asked);
  /** Every node is selected by the service, and still sees it. */
  for (const name of names) look('settled', name);
  return { guard, names, look, lose };
}

const UNTIL_MS = 1000 + CHANGED_FOR_MS;

describe('agents that were replaced', () => {
  test('cost three nodes a service, and no further one', () => {
    const { names, lose, guard } = replaced(5);
    expect(names.map((name) => lose(name))).toEqual([undefined, undefined, undefined, UNTIL_MS, UNTIL_MS]);
    expect(guard.held()).toEqual([{ subject: 'agent-version', of: 's', nodes: 2 }]);
  });

  test('have the same answer when they are asked again', () => {
    const { lose } = replaced(5);
    const answers = () => ['n0', 'n1', 'n2', 'n3'].map((name) => lose(name));
    expect(answers()).toEqual(answers());
  });

  test('are believed where fewer than 55 % of them say so', () => {
    const { names, lose } = replaced(10);
    const first = names.slice(0, 6).map((name) => lose(name));
    expect(first).toEqual([undefined, undefined, undefined, undefined, undefined, undefined]);
    expect(lose('n6')).toBe(UNTIL_MS);
  });

  test('are doubted from exactly 55 % of them on', () => {
    const { names, lose } = replaced(20);
    expect(names.slice(0, 12).map((name) => lose(name))).toEqual([...Array(11).fill(undefined), UNTIL_MS]);
  });

  test('are counted for each service', () => {
    const { names, lose } = replaced(4);
    for (const name of names) lose(name);
    expect(lose('n3', 2000, 'other')).toBeUndefined();
  });

  test('no longer count where the service came back', () => {
    const { look, lose } = replaced(4);
    for (const name of ['n0', 'n1', 'n2']) lose(name);
    look('settled', 'n0');
    expect(lose('n3')).toBeUndefined();
  });

  test('are believed after 10 minutes, and their nodes are looked at then', () => {
    const { guard, names, lose } = replaced(4);
    for (const name of names) lose(name);
    expect(CHANGED_FOR_MS).toBe(600_000);
    expect(guard.held()).toEqual([{ subject: 'agent-version', of: 's', nodes: 1 }]);
    expect(guard.tick(UNTIL_MS - 1)).toEqual([]);
    expect(guard.tick(UNTIL_MS)).toEqual(['n3']);
    expect(lose('n3', UNTIL_MS)).toBeUndefined();
    expect(guard.held()).toEqual([]);
  });
});

test('an agent is believed when its time is over, whether that was noticed or not', () => {
  const { names, lose } = replaced(4);
  for (const name of names) lose(name);
  expect(lose('n3', UNTIL_MS - 1)).toBe(UNTIL_MS);
  expect(lose('n3', UNTIL_MS)).toBeUndefined();
});

test('nodes whose time is over no longer count when most nodes have to lose a service', () => {
  const { guard, lose } = replaced(10);
  guard.tick(UNTIL_MS);
  for (const name of ['n0', 'n1', 'n2', 'n3']) guard.sees(name, agentOf('3'), UNTIL_MS);
  const answers = ['n0', 'n1', 'n2', 'n3'].map((name) => lose(name, UNTIL_MS));
  expect(answers).toEqual([undefined, undefined, undefined, UNTIL_MS + CHANGED_FOR_MS]);
});

test('one that was replaced again does not delay the end for the others', () => {
  const { guard, names, lose } = replaced(4);
  guard.sees('n0', agentOf('3'), 500_000);
  for (const name of names) lose(name, 500_000);
  expect(guard.tick(UNTIL_MS)).toEqual(['n3']);
});

test('an agent that was not replaced is believed, however many others are not', () => {
  const { names, lose } = replaced(4, { of: 5 });
  for (const name of names.slice(0, 4)) lose(name);
  expect(lose('n4')).toBeUndefined();
});

test('a node whose agent was not replaced is not among those of which most lost the service', () => {
  const { lose } = replaced(4, { of: 20 });
  expect(['n0', 'n1', 'n2', 'n3'].map((name) => lose(name))).toEqual([undefined, undefined, undefined, UNTIL_MS]);
});

test('what is heard first is no change, and nor is the same again', () => {
  const guard = new ObserverGuard(() => true, 0);
  for (const name of ['a', 'b', 'c', 'd']) {
    guard.sees(name, agentOf('2'), 0);
    guard.sees(name, agentOf('2'), 1000);
    expect(answerOf(guard, { node: name, agent: undefined, service: 's', sighting: 'lost' }, 2000)).toBeUndefined();
  }
});

test('an agent whose version changes all the time is doubted for 10 minutes from the first change', () => {
  const { guard, names, lose } = replaced(4);
  for (const name of names) lose(name);
  for (const version of ['1', '2']) for (const name of names) guard.sees(name, agentOf(version), 500_000);
  expect(lose('n3', UNTIL_MS - 1)).toBe(UNTIL_MS);
  expect(guard.tick(UNTIL_MS)).toEqual(['n3']);
  expect(lose('n3', UNTIL_MS)).toBeUndefined();
});

test('a service is protected that runs on a few of the nodes whose agents were replaced', () => {
  const { guard, lose } = replaced(20);
  const few = ['n0', 'n1', 'n2', 'n3', 'n4'];
  for (const name of few) answerOf(guard, { node: name, agent: undefined, service: 'rare', sighting: 'settled' }, 2000);
  const answers = few.map((name) => lose(name, 2000, 'rare'));
  expect(answers).toEqual([undefined, undefined, undefined, UNTIL_MS, UNTIL_MS]);
});

test('a loss counts on while the agent goes on without the service', () => {
  const { look, lose } = replaced(4);
  for (const name of ['n0', 'n1', 'n2']) {
    lose(name);
    look('unchanged', name);
  }
  expect(lose('n3')).toBe(UNTIL_MS);
});

test('an agent that does not know yet is among those that the service selects', () => {
  const guard = new ObserverGuard(() => true, 0);
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  for (const version of ['1', '2']) for (const name of names) guard.sees(name, agentOf(version), 0);
  for (const name of names) answerOf(guard, { node: name, agent: undefined, service: 's', sighting: 'unchanged' }, 0);
  const answers = names
    .slice(0, 5)
    .map((name) => answerOf(guard, { node: name, agent: undefined, service: 's', sighting: 'lost' }, 0));
  expect(answers).toEqual([undefined, undefined, undefined, undefined, CHANGED_FOR_MS]);
});

test('a node that is made anew is not one whose agent was replaced', () => {
  const { guard, lose } = replaced(4);
  for (const name of ['n0', 'n1', 'n2']) lose(name);
  guard.forget('n3');
  guard.sees('n3', agentOf('3'), 1500);
  expect(lose('n3')).toBeUndefined();
});

test('a node that is gone is forgotten', () => {
  const { guard, names, lose } = replaced(4);
  for (const name of names) lose(name);
  for (const name of names) guard.forget(name);
  expect([guard.held(), guard.tick(UNTIL_MS)]).toEqual([[], []]);
});

describe('a new leader', () => {
  const NOW_MS = 5_000_000;
  const STARTED_MS = NOW_MS - 60_000;
  const young = { version: '2', startedMs: STARTED_MS };

  /** Agents as it first hears them. `lost`: nodes that lost the service in the term before. */
  function taken(agents: Record<string, SpeakingAgent>, lost: readonly string[] = [], isKnown = true) {
    let known = isKnown;
    const guard = new ObserverGuard(() => known, NOW_MS - 1000);
    for (const [node, agent] of Object.entries(agents)) guard.sees(node, agent, NOW_MS);
    const look = (sighting: Sighting, node: string, nowMs = NOW_MS) =>
      answerOf(guard, { node, agent: agents[node], service: 's', sighting }, nowMs);
    for (const node of Object.keys(agents)) look(lost.includes(node) ? 'gone' : 'settled', node);
    const know = () => {
      known = true;
      return guard.tick(NOW_MS);
    };
    return { guard, look, know };
  }

  test('goes on with what the one before held, until 10 minutes after the agents were replaced', () => {
    const { look, guard } = taken({ a: young, b: young, c: young, d: young, e: young }, ['a', 'b', 'c']);
    const untilMs = STARTED_MS + CHANGED_FOR_MS;
    expect(['d', 'e'].map((node) => look('lost', node))).toEqual([untilMs, untilMs]);
    expect(guard.tick(untilMs)).toEqual(['d', 'e']);
    expect(look('lost', 'd', untilMs)).toBeUndefined();
  });

  test.each([
    ['joins after the take-over', NOW_MS - 500],
    ['was there for 10 minutes', NOW_MS - CHANGED_FOR_MS],
  ])('does not doubt an agent that %s', (_when, startedMs) => {
    const agent = { version: '2', startedMs };
    const { look } = taken({ a: agent, b: agent, c: agent, d: agent }, ['a', 'b', 'c']);
    expect(look('lost', 'd')).toBeUndefined();
  });

  test('holds what the very first report of an agent takes away', () => {
    const { guard } = taken({ a: young, b: young, c: young }, ['a', 'b', 'c']);
    const sighted = { node: 'd', agent: young, service: 's', sighting: 'lost' } as const;
    expect(guard.heldUntilMs(sighted, NOW_MS)).toBe(STARTED_MS + CHANGED_FOR_MS);
  });

  test('lets no node go before most agents were heard, and then as many as may', () => {
    const few = taken({ a: young, b: young, c: young }, [], false);
    expect(['a', 'b'].map((node) => few.look('lost', node) === undefined)).toEqual([false, false]);
    expect(few.know()).toEqual(['a', 'b']);
    expect(few.look('lost', 'a')).toBeUndefined();
    const many = taken({ a: young, b: young, c: young, d: young }, [], false);
    for (const node of ['a', 'b', 'c']) many.look('lost', node);
    expect(many.know()).toEqual([]);
    expect(many.guard.held()).toEqual([{ subject: 'agent-version', of: 's', nodes: 3 }]);
  });
});
