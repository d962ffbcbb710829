import { Flood, type FloodOptions, type FloodResult } from '../rig/flood.ts';
import { answerQuestions } from './helper.ts';

/** What this process is asked: to begin, and to end and say what became of it. */
export type FloodQuestion = { ask: 'begin'; options: FloodOptions } | { ask: 'end' };

/** {@link FloodResult} as it can be sent. */
export type FloodSummary = Omit<FloodResult, 'madeUp' | 'stolen'> & { madeUp: number; stolen: number };

const count = (answers: ReadonlyMap<number, number>) => answers.values().reduce((sum, each) => sum + each, 0);

let flood: Flood | undefined;

answerQuestions<FloodQuestion, FloodSummary | undefined>(async (question) => {
  if (question.ask === 'begin') {
    flood = new Flood(question.options);
    return undefined;
  }
  const result = await flood?.stop();
  return result && { ...result, madeUp: count(result.madeUp), stolen: count(result.stolen) };
});
