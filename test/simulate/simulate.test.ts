import { CHECK_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { expect, test } from 'vitest';
import { historyOf, play } from './history.ts';
import { describeFailure, search } from './search.ts';

const { ROLLCALL_SIMULATE_HOURS, ROLLCALL_SIMULATE_SEED } = process.env;
const asked = ROLLCALL_SIMULATE_HOURS === undefined ? undefined : Number(ROLLCALL_SIMULATE_HOURS);
/** The same in each run of the suite; new ones where more are asked for. */
const FROM = asked === undefined ? 0 : Math.floor(Math.random() * 2 ** 31);
/** Hours of nodes. Of those that are asked for, most are patient, of which a core plays three times as many. */
const UNASKED = { hurried: 200, patient: 1000 };
const HOURS = asked === undefined ? UNASKED : { hurried: asked * 0.1, patient: asked * 0.9 };
/** A core plays eight hours of nodes a second, and is not alone. */
const timeout = 900_000 + (HOURS.hurried + HOURS.patient) * 10_000;

test.skipIf(ROLLCALL_SIMULATE_SEED !== undefined).for([
  ['within minutes', { patient: false, hours: HOURS.hurried }],
  ['over days', { patient: true, hours: HOURS.patient }],
] as const)(
  'whatever happens to a cluster %s, its Nodes say the truth, one coordinator writes, and nothing grows',
  { timeout },
  async ([, { patient, hours }]) => {
    const { failing, nodeHours, histories } = await search(FROM, hours, patient);
    expect(failing && (await describeFailure(failing))).toBeUndefined();
    if (asked !== undefined) process.stdout.write(`${nodeHours.toFixed(0)} hours of nodes in ${histories} histories\n`);
  },
);

test.runIf(ROLLCALL_SIMULATE_SEED !== undefined)('the history that is asked for', { timeout }, async () => {
  const history = historyOf(Number(ROLLCALL_SIMULATE_SEED));
  const { violations } = await play(history);
  expect(violations.length > 0 && (await describeFailure(history))).toBe(false);
});

test('histories ask services by every kind of check', () => {
  const services = Array.from({ length: 500 }, (_, seed) => historyOf(seed).world.services).flat();
  const kinds = services.flatMap(({ pods, probe, seen }) =>
    [...(pods ? ['pods'] : []), probe ?? [], seen ?? []].flat(),
  );
  expect([...new Set(kinds)].sort()).toEqual(Object.keys(CHECK_KINDS).sort());
});

test('a seed is played the same, to the last byte', async () => {
  const [first, again, other] = [await play(historyOf(4)), await play(historyOf(4)), await play(historyOf(5))];
  expect(again.digest).toBe(first.digest);
  expect(other.digest).not.toBe(first.digest);
});
