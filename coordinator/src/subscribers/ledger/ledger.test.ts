import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import type { NodeRecord } from '../../state/node-record.ts';
import type { LedgerFacts } from './drift.ts';
import { Ledger } from './ledger.ts';

const HOUR_MS = 3_600_000;
const SAID_NOT_READY = { key: 'tier', direction: 'said-not-ready' };

/** A node that is to have the label `tier`, and has these. */
function evaluationOf(name: string, labels: Record<string, string>): LedgerFacts {
  const entry = {
    ...{ kind: 'label', key: 'tier', value: 'gold', stance: 'present', ownership: 'forced' },
    ...{ reason: 'asked for', labeler: 'other' },
  };
  return {
    node: { name, labels, annotations: {} },
    evaluated: { readiness: new Map(), sharedLabels: new Set() },
    intent: new Map([['label:tier', entry]]),
    skipped: [],
  } as unknown as LedgerFacts;
}

/** A ledger of nodes that `say` reports. */
function stage() {
  const clock = new FakeClock();
  const records = new Map<string, object>();
  const evaluations = new Map<string, LedgerFacts>();
  const rig = { mayJudge: true };
  const ledger = new Ledger({
    record: (name) => records.get(name) as NodeRecord | undefined,
    facts: (name) => evaluations.get(name),
    rules: () => ({ services: [], dryRun: false }),
    mayJudge: () => rig.mayJudge,
    clock,
  });
  return Object.assign(rig, {
    clock,
    ledger,
    records,
    evaluations,
    /** The node has these labels now, and is looked at. */
    say(name: string, labels: Record<string, string>) {
      if (!records.has(name)) records.set(name, { name });
      evaluations.set(name, evaluationOf(name, labels));
      ledger.look(name);
    },
    entries: () => [...ledger.entries()],
  });
}

let rig: ReturnType<typeof stage>;
beforeEach(() => {
  rig = stage();
});

describe('a lie', () => {
  test('counts from when it is seen until it is seen no more', async () => {
    rig.say('n', {});
    await rig.clock.advance(2000);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 2 }]);
    rig.say('n', { tier: 'gold' });
    await rig.clock.advance(2000);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 2 }]);
  });

  test('is not looked for while what is known is not fit to judge by', () => {
    rig.mayJudge = false;
    rig.say('n', {});
    expect(rig.ledger.summary().nodes).toBe(0);
    rig.mayJudge = true;
    rig.ledger.look('n');
    expect(rig.ledger.summary().nodes).toBe(1);
  });

  test('ends with its node, and still counts for its key', async () => {
    rig.say('n', {});
    await rig.clock.advance(1000);
    rig.records.delete('n');
    rig.ledger.look('n');
    await rig.clock.advance(1000);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 1 }]);
    expect(rig.entries()).toEqual([]);
    expect(rig.ledger.summary().nodes).toBe(0);
  });

  test('of a node with the name of another that is gone is its own', async () => {
    rig.say('n', {});
    await rig.clock.advance(1000);
    rig.records.delete('n');
    rig.say('n', {});
    await rig.clock.advance(500);
    expect(rig.entries()).toMatchObject([{ node: 'n', seconds: 0.5, times: 1 }, undefined]);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 1.5 }]);
  });

  test('of a node of which nothing can be said goes on as it was', async () => {
    rig.say('n', {});
    rig.evaluations.delete('n');
    await rig.clock.advance(1000);
    rig.ledger.look('n');
    await rig.clock.advance(1000);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 2 }]);
  });
});

describe('another term', () => {
  test('begins with no node, and goes on counting from what was counted by key', async () => {
    rig.say('n', {});
    await rig.clock.advance(1000);
    rig.ledger.restart();
    await rig.clock.advance(5000);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 1 }]);
    expect(rig.ledger.summary()).toMatchObject({ nodes: 0, keys: [], since: '2026-01-01T00:00:01Z' });
    rig.say('n', {});
    await rig.clock.advance(2000);
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 3 }]);
    rig.ledger.restart();
    rig.ledger.restart();
    expect(rig.ledger.seconds()).toEqual([{ ...SAID_NOT_READY, seconds: 3 }]);
  });
});

describe('the audit', () => {
  test('says how long nodes lied in a day, on the average', async () => {
    rig.say('n', {});
    rig.say('m', { tier: 'gold' });
    await rig.clock.advance(HOUR_MS);
    rig.say('n', { tier: 'gold' });
    await rig.clock.advance(HOUR_MS);
    // An hour by one of two nodes, in two hours.
    expect(rig.ledger.summary()).toMatchObject({
      since: '2026-01-01T00:00:00Z',
      nodes: 2,
      driftSecondsPerNodeDay: 21_600,
      keys: [{ key: 'tier', saidReadySeconds: 0, saidNotReadySeconds: 3600, nodesNow: 0 }],
    });
  });

  test('rounds that to a tenth of a second, and adds up both directions', async () => {
    rig.say('n', {});
    await rig.clock.advance(10);
    const entry = { kind: 'label', key: 'old', value: 'x', stance: 'absent', ownership: 'exclusive', reason: '' };
    rig.evaluations.set('n', { ...evaluationOf('n', { old: 'x' }), intent: new Map([['label:old', entry]]) } as never);
    rig.ledger.look('n');
    await rig.clock.advance(10);
    rig.say('n', { tier: 'gold' });
    await rig.clock.advance(7 * 24 * HOUR_MS - 20);
    expect(rig.ledger.summary()).toMatchObject({ driftSecondsPerNodeDay: 0 });
    expect(rig.ledger.summary().keys).toMatchObject([
      { key: 'old', saidReadySeconds: 0.01 },
      { key: 'tier', saidNotReadySeconds: 0.01 },
    ]);
  });

  test('is 0 without nodes, and of the first moment', () => {
    expect(rig.ledger.summary()).toMatchObject({ nodes: 0, driftSecondsPerNodeDay: 0, keys: [] });
    rig.say('n', {});
    expect(rig.ledger.summary()).toMatchObject({ nodes: 1, driftSecondsPerNodeDay: 0 });
  });

  test('comes node by node, with a pause after each', async () => {
    rig.say('n', {});
    rig.say('m', { tier: 'gold' });
    rig.say('o', {});
    await rig.clock.advance(1000);
    expect(rig.entries()).toMatchObject([
      { node: 'n', seconds: 1, since: '2026-01-01T00:00:00Z', cause: 'unwritten', evidence: 'asked for' },
      undefined,
      undefined,
      { node: 'o' },
      undefined,
    ]);
  });
});
