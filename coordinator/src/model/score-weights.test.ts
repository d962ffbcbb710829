import { expect, test } from 'vitest';
import { COORDINATOR_OPTIONS } from './options.ts';
import { DEFAULT_SCORE_WEIGHTS, parseScoreWeights } from './score-weights.ts';

test('terms that are named get their weight, and the others keep theirs', () => {
  const { weights, problem } = parseScoreWeights(['density=0', 'spread=2.5', 'fresh=1000']);
  expect(weights).toEqual({ ...DEFAULT_SCORE_WEIGHTS, density: 0, spread: 2.5, fresh: 1000 });
  expect(problem).toBeUndefined();
});

test('by default the weights are as the documents say', () => {
  const told = 'density=4, occupied=2, spread=1, fresh=2, steady=1';
  const weights = Object.entries(parseScoreWeights([]).weights).map(([term, weight]) => `${term}=${weight}`);
  expect(weights.join(', ')).toBe(told);
  expect(COORDINATOR_OPTIONS.scoreWeights.defaultText).toBe(told);
});

test.each([
  'density',
  'density=',
  'density=4=5',
  'density=-1',
  'density=1001',
  'density=1e2',
  'density=0x10',
  'density= 4',
  'density=Infinity',
  'other=1',
  'toString=1',
])('%s is no weight', (entry) => {
  expect(parseScoreWeights([entry])).toEqual({
    weights: DEFAULT_SCORE_WEIGHTS,
    problem: expect.stringContaining('must be TERM=WEIGHT'),
  });
});
