import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Histories } from './key-history.ts';
import type { Lane } from './lane.ts';
import { differences, type NodeView, oursOn, takePicture, textOf } from './picture.ts';
import { type Done, PATIENCE_MS, type Plan, Run } from './run.ts';
import type { Scenario, Step } from './scenario.ts';

/** What a run showed. */
export type Played = {
  /** After the setup and after each step, what the API server held when all was quiet. */
  pictures: readonly string[];
  writes: readonly Done[];
  histories: Histories;
  /** Whether the plan was carried out. */
  isPlayed: boolean;
  /** What did not come about, or went wrong on the way. */
  problem: string | undefined;
};

const POLL_MS = 50;
/** Nothing is written for so long at the end of a step: more than the second after which statuses are looked at. */
const QUIET_MS = 1500;
/** The reference waits longer, so that it knows what comes late. */
const REFERENCE_QUIET_MS = 3000;

/** Plays a scenario, with a plan where there is one, and compares each step with the reference where there is one. */
export async function play(lane: Lane, scenario: Scenario, plan?: Plan, reference?: Played): Promise<Played> {
  await lane.reset();
  const run = new Run(lane, plan);
  const pictures: string[] = [];
  let problem: string | undefined;
  try {
    for (const [index, step] of [scenario.setup, ...scenario.steps].entries()) {
      if (step !== scenario.setup) run.begin(step.name);
      await step.act(run);
      pictures.push(await settle(run, step, reference?.pictures[index]));
    }
  } catch (error) {
    problem = `${error instanceof Error ? error.message : String(error)}${logsOf(run)}`;
  } finally {
    await run.stop();
  }
  const { writes, played: isPlayed } = run;
  return { pictures, writes, histories: new Map(run.histories.all), isPlayed, problem };
}

/** Waits until all is as it is to be, and stays so. Returns the picture. */
async function settle(run: Run, step: Step, expected: string | undefined): Promise<string> {
  const quietMs = expected === undefined ? REFERENCE_QUIET_MS : QUIET_MS;
  const deadlineMs = performance.now() + PATIENCE_MS;
  let readyMs: number | undefined;
  for (;;) {
    const nowMs = performance.now();
    const isReady = run.healed && (step.unled === true || (await run.isLed()));
    // A leader that has only now heard an agent may still have something to write.
    readyMs = isReady ? (readyMs ?? nowMs) : undefined;
    const isQuiet = readyMs !== undefined && nowMs - readyMs >= quietMs && run.quietMs >= quietMs;
    const why = isQuiet
      ? await difference(run, step, expected)
      : 'the plan is not over, there is no leader, or there are writes';
    if (why === undefined) return textOf(await takePicture(run.api));
    if (nowMs > deadlineMs) throw new Error(`${step.name}: ${why}`);
    await sleep(POLL_MS);
  }
}

async function difference(run: Run, step: Step, expected: string | undefined): Promise<string | undefined> {
  const nodes = await run.api.list<NodeView>('/api/v1/nodes');
  const ours = Object.fromEntries(nodes.map((node) => [node.metadata.name, oursOn(node)]));
  const wanted = Object.fromEntries(Object.entries(step.ours).map(([node, keys]) => [node, [...keys].sort()]));
  if (!isDeepStrictEqual(ours, wanted)) return `there is ${JSON.stringify(ours)}`;
  if (expected === undefined) return undefined;
  const picture = textOf(await takePicture(run.api));
  return picture === expected ? undefined : `it differs: ${differences(expected, picture).join('; ')}`;
}

function logsOf(run: Run): string {
  const logs = [...run.coordinators].map(([name, coordinator]) => `\n${name}:\n${coordinator.tail(12)}`);
  return logs.join('');
}
