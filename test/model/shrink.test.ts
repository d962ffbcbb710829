import { expect, test } from 'vitest';
import { historyOf } from './history.ts';
import { shrink } from './shrink.ts';

test('leaves of a failing history only what it takes', async () => {
  const history = historyOf(1);
  const [, third, , , seventh] = history.steps.slice(1);
  const needed = [third, seventh].map((step) => step?.number);
  const shortest = await shrink(history, async ({ steps }) =>
    needed.every((number) => steps.some((step) => step.number === number)),
  );
  expect(shortest.steps.map(({ number }) => number)).toEqual(needed);
  expect(shortest.steps.map(({ pauseMs }) => pauseMs)).toEqual([0, 0]);
});
