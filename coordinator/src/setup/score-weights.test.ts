import { expect, test } from 'vitest';
import { DEFAULT_SCORE_WEIGHTS, parseScoreWeights } from './score-weights.ts';

test('terms that are named get their weight, and the others keep theirs', () => {
  const { weights, problem } = parseScoreWeights(['density=0', 'spread=2.5', 'fresh=1000']);
  expect(weights).toEqual({ ...DEFAULT_SCORE_WEIGHTS, density: 0, spread: 2.5, fresh: 1000 });
  expect(problem).toBeUndefined();
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
