import { shrink } from '../model/shrink.ts';
import { type History, historyOf, isPatient, play } from './history.ts';

export type Found = { nodeHours: number; histories: number; failing: History | undefined };

/** Plays histories of one kind, one seed after the other, until they add up to so many hours of nodes, or one goes wrong. */
export async function search(fromSeed: number, hours: number, patient: boolean): Promise<Found> {
  let [nodeHours, histories] = [0, 0];
  for (let seed = fromSeed; nodeHours < hours; seed += 1) {
    if (isPatient(seed) !== patient) continue;
    const history = historyOf(seed);
    const played = await play(history);
    nodeHours += played.nodeHours;
    histories += 1;
    if (played.violations.length > 0) return { nodeHours, histories, failing: history };
  }
  return { nodeHours, histories, failing: undefined };
}

/** Maximum number of lines of a trace. */
const LINES_MAX = 60;

/** Describes the shortest form of a failing history. */
export async function describeFailure(history: History, triesMax = 60): Promise<string> {
  const shortest = await shrink(history, async (each) => (await play(each)).violations.length > 0, triesMax);
  const lines: string[] = [];
  const { violations, digest } = await play(shortest, (line) => lines.push(line));
  const { services, nodes } = shortest.world;
  return [
    `seed ${history.seed} (again: ROLLCALL_SIMULATE_SEED=${history.seed}), ${nodes.length} nodes, trace ${digest}`,
    JSON.stringify(services),
    ...shortest.steps.map(({ pauseMs, deed }) => `after ${pauseMs} ms: ${deed}`),
    ...lines.filter((line) => !line.endsWith(' 200')).slice(-LINES_MAX),
    ...violations.slice(0, 5),
  ].join('\n');
}
