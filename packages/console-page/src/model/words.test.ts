import { expect, test } from 'vitest';
import { noCounts } from './node-state.ts';
import { summary } from './summary.test-fixtures.ts';
import { fleetSentence, nodeSentence, number, plural } from './words.ts';

test.each([
  [0, {}, 'There are no nodes.'],
  [1, { ready: 1 }, 'The only node is ready.'],
  [5000, { ready: 5000 }, 'All 5,000 nodes are ready.'],
  [5, { none: 5 }, 'Nothing is checked on any of the 5 nodes.'],
  [1, { none: 1 }, 'Nothing is checked on the only node.'],
  [5, { ready: 3, none: 2 }, 'Ready: 3 of 5 nodes. Nothing is checked on the others.'],
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

test('a node is told with what it waits for since its creation, and with its drain', () => {
  const starting = [{ service: 'a', checks: [], since: '2026-01-01T00:00:00Z' }];
  expect(nodeSentence(summary('n', { services: { a: 'not-ready' }, starting, lifecycle: ['Drained'] }))).toBe(
    'not ready; a not ready; never ready yet: a; Drained',
  );
});

test('two are plural, and large numbers are grouped', () => {
  expect([plural(0, 'node'), plural(1, 'node'), plural(2000, 'node'), number(1_000_000)]).toEqual([
    '0 nodes',
    '1 node',
    '2,000 nodes',
    '1,000,000',
  ]);
});

test('two nodes are all nodes', () => {
  expect(fleetSentence(2, { ...noCounts(), ready: 2 })).toBe('All 2 nodes are ready.');
});

test('a node is told with what is not ready, how its agent is, and who else has a say', () => {
  const change = {
    services: { a: 'not-ready', b: 'ready', c: 'unknown' },
    agent: 'unheard',
    contested: ['k', 'l'],
    skipped: ['m'],
  } as const;
  expect(nodeSentence(summary('n', change))).toBe(
    'not ready; a not ready, c unknown; agent not reporting yet; 2 contested keys; 1 key left to another owner',
  );
});
