import { expect, test } from 'vitest';
import { KINDS, type Kind } from './plans.ts';
import type { Plan } from './run.ts';
import { SCENARIOS } from './scenarios.ts';
import { account, isGood, playAll } from './suite.ts';

/** One plan of each kind, at writes that come in every run; `npm run perturb` plays them all. */
const PLANS: Readonly<Record<string, readonly Plan[]>> = {
  delete: [
    { kind: 'crash-before', write: 'edit a/status', nth: 1 },
    { kind: 'crash-after', write: 'apply a', nth: 1 },
    { kind: 'behind', write: 'merge b', nth: 1 },
  ],
  pool: [
    { kind: 'frozen', write: 'apply a', nth: 1 },
    { kind: 'dropped', write: 'merge a', nth: 1 },
    { kind: 'crash-behind', write: 'apply b', nth: 1 },
  ],
};

test('whatever befalls a write, the end is the same, and nothing more is written', async () => {
  const played = Object.values(PLANS).flatMap((plans) => plans.map(({ kind }) => kind));
  expect(played.toSorted()).toEqual((Object.keys(KINDS) as Kind[]).toSorted());
  const results = await playAll({
    lanes: 3,
    scenarios: SCENARIOS.filter(({ name }) => name in PLANS),
    choose: ({ name }) => PLANS[name] ?? [],
  });
  expect(results.filter((result) => !isGood(result)).map(account)).toEqual([]);
  expect(results.filter(({ verdict }) => verdict.isPlayed)).toHaveLength(played.length);
}, 300_000);
