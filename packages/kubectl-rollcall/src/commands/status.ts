import { cleanDocument } from '@rollcall/common/clean.ts';
import type { NodesDocument } from '@rollcall/common/console.ts';
import { duration } from '@rollcall/common/duration.ts';
import type { Console } from '../cluster/console.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { isAllWell, QUESTIONS, type Question, type Status, statusOf } from '../status/status-of.ts';
import { statusText } from '../status/status-text.ts';
import { printedFor, type Surroundings } from '../surroundings.ts';

const POLL_MS = 1000;

export type StatusFlags = {
  /** For how long to wait until the answer is yes. */
  wait?: number;
  /** The only question that the answer depends on. Defaults to all. */
  only?: Question;
};

/** Returns the exit code. */
export async function status(surroundings: Surroundings, { wait: waitMs, only }: StatusFlags): Promise<number> {
  const questions = only === undefined ? QUESTIONS : [only];
  const found =
    waitMs === undefined ? await lookOnce(surroundings) : await waitUntilWell(surroundings, questions, waitMs);
  if (!printedFor(surroundings, found)) {
    surroundings.print(statusText(cleanDocument(found), surroundings.terminal, surroundings.isWide));
  }
  if (!found.replica.leading) return EXIT.unknown;
  return isAllWell(found, questions) ? EXIT.ok : EXIT.notSo;
}

function lookOnce({ withConsole, flags }: Surroundings): Promise<Status> {
  return withConsole((console) => look(console, flags.namespace));
}

async function look(console: Console, namespace: string): Promise<Status> {
  return statusOf(await console.get<NodesDocument>('/v1/nodes'), namespace);
}

/** Also waits for a leader, which may be missing for a while, as after an installation. */
async function waitUntilWell(
  surroundings: Surroundings,
  questions: readonly Question[],
  waitMs: number,
): Promise<Status> {
  const endMs = performance.now() + waitMs;
  let told = '';
  for (;;) {
    const found = await lookOnce(surroundings).catch((error: unknown) => {
      if (error instanceof CommandFailure && error.exitCode === EXIT.unknown) return error;
      throw error;
    });
    const isFailure = found instanceof CommandFailure;
    if (!isFailure && isAllWell(found, questions)) return found;
    const leftMs = endMs - performance.now();
    if (leftMs <= 0) {
      if (isFailure) throw found;
      return found;
    }
    const problem = isFailure ? found.message : problemOf(found, questions);
    if (problem !== told) surroundings.note(`Waiting (${duration(leftMs)} left): ${cleanDocument(problem)}\n`);
    told = problem;
    await new Promise((resolve) => setTimeout(resolve, Math.min(POLL_MS, leftMs)));
  }
}

function problemOf({ findings, answer, services }: Status, questions: readonly Question[]): string {
  const found = findings.find(({ severity, about }) => severity === 'fail' && questions.includes(about));
  return found?.text ?? (questions.includes('services') ? services.answer : answer);
}
