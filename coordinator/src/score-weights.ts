import { DEFAULT_SCORE_WEIGHTS, type ScoreWeights } from './scheduler/score.ts';

const WEIGHT_MAX = 1000;

/** Reads `TERM=WEIGHT` entries; terms that are not named keep their weight. */
export function parseScoreWeights(entries: readonly string[]): { weights: ScoreWeights; problem?: string } {
  const weights: Record<string, number> = { ...DEFAULT_SCORE_WEIGHTS };
  for (const entry of entries) {
    const [term = '', text = ''] = entry.split('=', 2);
    const weight = Number(text);
    const isNumber = text.trim() !== '' && weight >= 0 && weight <= WEIGHT_MAX;
    if (!Object.hasOwn(DEFAULT_SCORE_WEIGHTS, term) || !isNumber) {
      const terms = Object.keys(DEFAULT_SCORE_WEIGHTS).join(', ');
      const problem = `must hold TERM=WEIGHT, a number from 0 to ${WEIGHT_MAX} for one of ${terms}`;
      return { weights: DEFAULT_SCORE_WEIGHTS, problem };
    }
    weights[term] = weight;
  }
  return { weights: weights as ScoreWeights };
}
