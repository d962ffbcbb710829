import { expect, test } from 'vitest';
import { eachOf } from '../../scale/each-of.ts';
import { AgentRun, compare, MOMENTS, type Moment } from './agent-run.ts';
import { LIES } from './lies.ts';
import { SPOILS, type Spoil } from './spoils.ts';
import { Stage } from './stage.ts';

const AT_ONCE = 24;
/** News that come together go into one report: how many there are depends a little on who is faster. */
const REFERENCES = 3;

type Plan = { name: string; spoil: Spoil; moment: Moment };

/** Each kind at one moment or another, and with ROLLCALL_SPOILS=full at all of them. */
function plans(): Plan[] {
  const isFull = process.env['ROLLCALL_SPOILS'] === 'full';
  return Object.entries({ ...SPOILS, ...LIES }).flatMap(([name, spoil], index) => {
    // Who leaves looks nowhere.
    const moments = MOMENTS.filter((moment) => !(spoil.misleads && moment === 'goodbye'));
    const chosen = isFull ? moments : moments.filter((_moment, nth) => nth === index % moments.length);
    return chosen.map((moment) => ({ name, spoil, moment }));
  });
}

test('whatever befalls a report or its answer, the end is the same, and little more is reported', async () => {
  const stage = await Stage.open();
  try {
    const names = Array.from({ length: REFERENCES }, (_, index) => `reference-${index}`);
    const { problem: firstProblem } = await new AgentRun(stage, 'first').play({ isFirst: true });
    expect(firstProblem).toBeUndefined();
    const references = await Promise.all(names.map((name) => new AgentRun(stage, name).play()));
    for (const { problem } of references) expect(problem).toBeUndefined();
    const wrong: string[] = [];
    await eachOf(plans(), AT_ONCE, async ({ name, spoil, moment }, index) => {
      const actual = await new AgentRun(stage, `node-${index}`, { spoil, moment }).play();
      wrong.push(...compare(references, actual, spoil).map((line) => `${name}, at ${moment}: ${line}`));
    });
    expect(wrong).toEqual([]);
  } finally {
    await stage.stop();
  }
}, 600_000);
