import { expect, test } from 'vitest';
import { historyOf, play } from './history.ts';
import { describeFailure, search } from './search.ts';

const { ROLLCALL_SIMULATE_HOURS, ROLLCALL_SIMULATE_SEED } = process.env;
/** Hours of nodes. */
const HOURS = ROLLCALL_SIMULATE_SEED === undefined ? Number(ROLLCALL_SIMULATE_HOURS ?? 200) : 1e-9;
/** The same in each run of the suite; new ones where more are asked for. */
const FROM = Number(
  ROLLCALL_SIMULATE_SEED ?? (ROLLCALL_SIMULATE_HOURS === undefined ? 0 : Math.floor(Math.random() * 2 ** 31)),
);

test('whatever happens to a cluster, its Nodes say the truth, one coordinator writes, and nothing grows', {
  // A core plays eight hours of nodes a second, and is not alone.
  timeout: 900_000 + HOURS * 10_000,
}, async () => {
  const { failing, nodeHours, histories } = await search(FROM, HOURS);
  expect(failing && (await describeFailure(failing))).toBeUndefined();
  if (ROLLCALL_SIMULATE_HOURS)
    process.stdout.write(`${nodeHours.toFixed(0)} hours of nodes in ${histories} histories\n`);
});

test('a seed is played the same, to the last byte', async () => {
  const [first, again, other] = [await play(historyOf(3)), await play(historyOf(3)), await play(historyOf(4))];
  expect(again.digest).toBe(first.digest);
  expect(other.digest).not.toBe(first.digest);
});
