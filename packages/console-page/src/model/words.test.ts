import { expect, test } from 'vitest';
import { noCounts } from './node-state.ts';
import { summary } from './summary.test-fixtures.ts';
import { fleetSentence, nodeSentence } from './words.ts';

test.each([
  [0, {}, 'There are no nodes.'],
  [1, { ready: 1 }, 'The only node is ready.'],
  [5000, { ready: 5000 }, 'All 5,000 nodes are ready.'],
  [5, { ready: 4, 'not-ready': 1 }, '1 of 5 nodes is not ready.'],
  [9, { ready: 2, silent: 3, guarded: 4 }, '3 of 9 nodes are silent, 4 guarded.'],
])('the state of %i nodes is one sentence: %o', (total, counts, sentence) => {
  expect(fleetSentence(total, { ...noCounts(), ...counts })).toBe(sentence);
});

test('a node is one sentence', () => {
  expect(nodeSentence(summary('n'))).toBe('ready');
  const change = { services: { a: 'not-ready' }, agent: 'silent', guard: 'fleet', contested: ['k'] } as const;
  expect(nodeSentence(summary('n', change))).toBe(
    'guarded; a not ready; agent silent; guard over fleet; 1 contested key',
  );
});
