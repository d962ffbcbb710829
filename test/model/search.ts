import { type History, historyOf, play } from './history.ts';
import { shrink } from './shrink.ts';

/** The first seed in a range whose history goes wrong; `undefined` where all is well. */
export async function search(seeds: { from: number; count: number }): Promise<History | undefined> {
  for (let seed = seeds.from; seed < seeds.from + seeds.count; seed += 1) {
    const history = historyOf(seed);
    if ((await play(history)).length > 0) return history;
  }
  return undefined;
}

/** What a failing history comes down to, as a text to work from. */
export async function describeFailure(history: History): Promise<string> {
  const shortest = await shrink(history, async (each) => (await play(each)).length > 0);
  const lines: string[] = [];
  const violations = await play(shortest, (line) => lines.push(line));
  const { gate, nodes } = shortest.world;
  return [
    `seed ${history.seed} (again: ROLLCALL_SEED=${history.seed}), gate ${gate}, nodes ${JSON.stringify(nodes)}`,
    ...lines,
    ...violations.slice(0, 5),
  ].join('\n');
}
