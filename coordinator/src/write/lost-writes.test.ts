import { expect, test } from 'vitest';
import type { WriteOutcome } from './classify.ts';
import { started, TAINTS } from './node-turn.test-fixtures.ts';

/** A request that adds a taint may have been carried out although it was not answered, and the watch does not show it yet. */

const FAILED: WriteOutcome = { kind: 'failed', error: new Error('on purpose') };
/** The API server gives a write up after 10 s, and may commit it a second later. */
const GIVEN_UP_MS = 11_000;

test('a node to which a taint may have been added rests only after it was read', async () => {
  const { turn, newTurn, replan, clock, reads, wholeReads, rests } = started(
    { taints: TAINTS },
    { reply: (kind) => (kind === 'taints' ? FAILED : undefined), managedFields: [] },
  );
  expect(await turn.run()).toMatchObject({ kind: 'retry' });
  // The service is ready again, and the Node as it was observed has no taint.
  replan({});
  expect(await newTurn().run()).toEqual({ kind: 'later', priority: 'normal', delayMs: GIVEN_UP_MS });
  expect(rests()).toBe(0);
  await clock.advance(GIVEN_UP_MS);
  expect(await newTurn().run()).toEqual({ kind: 'holds' });
  // Metadata alone does not show a taint.
  expect([reads(), wholeReads(), rests()]).toEqual([1, 1, 1]);
  expect(await newTurn().run()).toEqual({ kind: 'holds' });
  expect(reads()).toBe(1);
});

test('a node that cannot be read does not rest', async () => {
  const { turn, newTurn, replan, clock, rests } = started({ taints: TAINTS }, { reply: () => FAILED });
  await turn.run();
  replan({});
  await clock.advance(GIVEN_UP_MS);
  expect(await newTurn().run()).toEqual({ kind: 'retry', error: undefined });
  expect(rests()).toBe(0);
});

test('an answer to a later write ends no doubt: the API server may carry out the lost one after it', async () => {
  const { turn, newTurn, replan, clock, rests } = started(
    { taints: TAINTS },
    { reply: (kind) => (kind === 'taints' ? FAILED : undefined), managedFields: [] },
  );
  await turn.run();
  replan({ set: { labels: { a: '1' }, annotations: {}, force: false } });
  expect(await newTurn().run()).toEqual({ kind: 'holds' });
  replan({});
  expect(await newTurn().run()).toMatchObject({ kind: 'later' });
  await clock.advance(GIVEN_UP_MS);
  await newTurn().run();
  expect(rests()).toBe(1);
});

test('a taint that is only removed leaves no doubt', async () => {
  const { turn, newTurn, replan, reads, rests } = started(
    { taints: { ...TAINTS, add: [], remove: ['t'] } },
    { reply: () => FAILED },
  );
  await turn.run();
  replan({});
  expect(await newTurn().run()).toEqual({ kind: 'holds' });
  expect([reads(), rests()]).toEqual([0, 1]);
});
