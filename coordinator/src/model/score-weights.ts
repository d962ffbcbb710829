/** What speaks for a node, in a score. */
export type ScoreTermName = 'density' | 'occupied' | 'spread' | 'fresh' | 'steady';

export type ScoreWeights = Readonly<Record<ScoreTermName, number>>;

/**
 * Being in use and being full weigh most, so that the fullest nodes fill up and others can be removed. That nothing is
 * starting makes up for a quarter of a node of other workspaces.
 */
export const DEFAULT_SCORE_WEIGHTS: ScoreWeights = {
  density: 4,
  occupied: 2,
  spread: 1,
  fresh: 2,
  steady: 1,
};

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
      const problem = `must be TERM=WEIGHT, with a number from 0 to ${WEIGHT_MAX} for one of ${terms}`;
      return { weights: DEFAULT_SCORE_WEIGHTS, problem };
    }
    weights[term] = weight;
  }
  return { weights: weights as ScoreWeights };
}
