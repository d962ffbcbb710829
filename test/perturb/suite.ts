import { setTimeout as sleep } from 'node:timers/promises';
import { Lane } from './lane.ts';
import { type Played, play } from './play.ts';
import type { Plan } from './run.ts';
import type { Scenario } from './scenario.ts';
import { judge, type Verdict } from './verdict.ts';

export type Result = { scenario: string; plan: Plan; verdict: Verdict };

export type Reference = { scenario: string; writes: number };

export type SuiteOptions = {
  lanes: number;
  scenarios: readonly Scenario[];
  /** Which plans are played, by the reference run of a scenario. */
  choose: (scenario: Scenario, reference: Played) => readonly Plan[];
  /** No plan is begun after so many minutes; those that are played are a random choice. No limit by default. */
  minutes?: number | undefined;
  onReference?: (reference: Reference) => void;
  onResult?: (result: Result) => void;
};

type Job = { scenario: Scenario; plan?: Plan; reference?: Played };

/**
 * Plays a reference run of each scenario, and then its plans, several at once in lanes of their own.
 * @throws where a reference run does not come to its end.
 */
export async function playAll(options: SuiteOptions): Promise<Result[]> {
  const jobs: Job[] = options.scenarios.map((scenario) => ({ scenario }));
  const endsMs = performance.now() + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  const results: Result[] = [];
  let busy = 0;

  async function playReference(lane: Lane, scenario: Scenario): Promise<void> {
    const reference = await play(lane, scenario);
    if (reference.problem !== undefined) throw new Error(`The reference of ${scenario.name}: ${reference.problem}`);
    options.onReference?.({ scenario: scenario.name, writes: reference.writes.length });
    jobs.push(...options.choose(scenario, reference).map((plan) => ({ scenario, plan, reference })));
  }

  async function work(lane: Lane): Promise<void> {
    for (;;) {
      const job = takeNext(jobs);
      if (performance.now() > endsMs) return;
      if (job) {
        busy += 1;
        await carryOut(lane, job);
        busy -= 1;
      } else if (busy === 0) return;
      // Another lane may bring more.
      else await sleep(100);
    }
  }

  async function carryOut(lane: Lane, { scenario, plan, reference }: Job): Promise<void> {
    if (!plan || !reference) return playReference(lane, scenario);
    const verdict = judge(plan, reference, await play(lane, scenario, plan, reference), scenario);
    const result = { scenario: scenario.name, plan, verdict };
    results.push(result);
    options.onResult?.(result);
  }

  const lanes = await Promise.all(Array.from({ length: options.lanes }, () => Lane.open()));
  try {
    await Promise.all(lanes.map(work));
  } finally {
    await Promise.all(lanes.map((lane) => lane.stop()));
  }
  return results;
}

/** References in order, and then plans in any. */
function takeNext(jobs: Job[]): Job | undefined {
  const isPlan = jobs[0]?.plan !== undefined;
  return jobs.splice(isPlan ? Math.floor(Math.random() * jobs.length) : 0, 1)[0];
}

/** Whether nothing came of the plan that it does not explain. */
export function isGood({ verdict: { divergences, unexplained } }: Result): boolean {
  return divergences.length + unexplained.length === 0;
}

/** Describes the failure of a run, and how to play it alone. */
export function account({ scenario, plan, verdict }: Result): string {
  const { divergences, unexplained } = verdict;
  const writes = unexplained.length === 0 ? [] : [`writes that nothing explains: ${unexplained.join(', ')}`];
  return [
    `${scenario}: ${plan.kind} at ${plan.write} #${plan.nth}`,
    ...[...divergences, ...writes].map((line) => `  ${line}`),
    `  again: npm run perturb -- ${scenario} --kind ${plan.kind} --write '${plan.write}' --nth ${plan.nth}`,
  ].join('\n');
}

/** A line for each scenario. */
export function tableOf(references: readonly Reference[], results: readonly Result[]): string {
  const head = ['scenario', 'W', 'plans', 'not played', 'divergences', 'extra writes', 'unexplained'];
  const rows = references.map(({ scenario, writes }) => {
    const own = results.filter((result) => result.scenario === scenario);
    const count = (of: (verdict: Verdict) => number) => own.reduce((sum, { verdict }) => sum + of(verdict), 0);
    return [
      scenario,
      writes,
      own.length,
      count(({ isPlayed }) => (isPlayed ? 0 : 1)),
      count(({ divergences }) => (divergences.length > 0 ? 1 : 0)),
      count(({ explained, unexplained }) => explained.length + unexplained.length),
      count(({ unexplained }) => unexplained.length),
    ].map(String);
  });
  const widths = head.map((title, index) =>
    Math.max(...[head, ...rows].map((row) => row[index]?.length ?? title.length)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  ');
  return [head, ...rows].map(line).join('\n');
}
