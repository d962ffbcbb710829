import { DEFAULT_SCORE_WEIGHTS, type ScoreWeights } from './scheduler/score.ts';

const WEIGHT_MAX = 1000;

/** Decimal, without sign or exponent. */
const ENTRY = /^([^=]*)=(\d+(?:\.\d+)?)$/;

/** Reads `TERM=WEIGHT` entries; terms that are not named keep their weight. */
export function parseScoreWeights(entries: readonly string[]): { weights: ScoreWeights; problem?: string } {
  const weights: Record<string, number> = { ...DEFAULT_SCORE_WEIGHTS };
  for (const entry of entries) {
    const [, term = '', text] = ENTRY.exec(entry) ?? [];
    const weight = Number(text);
    if (!Object.hasOwn(DEFAULT_SCORE_WEIGHTS, term) || !(weight <= WEIGHT_MAX)) {
      const terms = Object.keys(DEFAULT_SCORE_WEIGHTS).join(', ');
      const problem = `must hold TERM=WEIGHT, a number from 0 to ${WEIGHT_MAX} for one of ${terms}`;
      return { weights: DEFAULT_SCORE_WEIGHTS, problem };
    }
    weights[term] = weight;
  }
  return { weights: weights as ScoreWeights };
}
