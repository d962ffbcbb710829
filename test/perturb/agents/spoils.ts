import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Fate, Passing } from './report-line.ts';

/** What befalls a report, and what becomes of it. */
export type Spoil = {
  act: (passing: Passing, place: Place) => Promise<Fate>;
  /** It befalls every report for so long; defaults to one report. */
  lastsMs?: number;
  /** So many reports more than the reference has, at most; defaults to one, which repeats it. */
  more?: number;
  /** Keys may have other values on the way: an agent that is sent elsewhere sees nothing there. */
  misleads?: true;
};

export type Place = {
  /** A port on which no process listens. */
  closedPort: number;
  /** The last report in full before it, as it was sent. */
  before: Passing['report'] | undefined;
};

/** Longer than an agent waits for an answer, which is 5 s. */
const GIVEN_UP_MS = 5500;
const LATE_MS = 3000;

/** The coordinator takes the report, and something else is heard. */
export function answered(change: (answer: Answer) => Fate): Spoil['act'] {
  return async ({ forward }) => change(await forward());
}

/** An answer that does not come from the coordinator, which hears nothing. */
function refused(status: number, headers: Record<string, string> = {}): Spoil['act'] {
  const type = { 'content-type': 'application/problem+json' };
  const body = JSON.stringify({ title: 'Perturbed', status });
  return async () => ({ status, headers: { ...type, ...headers }, body });
}

/** What befalls a report between an agent and a coordinator that both mean well. Each is over by itself. */
export const SPOILS: Readonly<Record<string, Spoil>> = {
  'the connection ends before the coordinator has it': { act: async () => 'cut' },
  'the connection ends before the answer': { act: answered(() => 'cut') },
  'nothing is answered, and nothing was heard': { act: async () => 'silence' },
  'nothing is answered, and it was heard': { act: answered(() => 'silence') },
  'the answer is late': {
    act: async ({ forward }) => {
      const answer = await forward();
      await sleep(LATE_MS);
      return answer;
    },
  },
  'it is heard after those that came later': {
    act: async ({ forward }) => {
      void sleep(GIVEN_UP_MS)
        .then(() => forward())
        .catch(() => {});
      return 'silence';
    },
  },
  'one that came before is heard again': {
    act: async ({ forward }, { before }) => {
      const answer = await forward();
      if (before) await forward(before);
      return answer;
    },
  },
  '401': { act: refused(401) },
  '409': { act: refused(409) },
  '410': { act: refused(410) },
  '422': { act: refused(422) },
  '429, and again in 2 s': { act: refused(429, { 'retry-after': '2' }) },
  '429 for 3 s, each time again in 2 s': { act: refused(429, { 'retry-after': '2' }), lastsMs: 3000, more: 2 },
  '500': { act: refused(500) },
  '500, and it was heard': { act: answered(() => ({ status: 500, headers: {}, body: '' })) },
  '503 for 3 s': { act: refused(503), lastsMs: 3000, more: 8 },
  'the answer is a page': { act: answered((answer) => ({ ...answer, body: '<html>It works</html>' })) },
  'the answer is empty': { act: answered((answer) => ({ ...answer, body: '' })) },
  'the answer ends in the middle': { act: answered((answer) => ({ ...answer, brokenOff: true })) },
};
