import { expect, test } from 'vitest';
import { conditionOf, conditionsIn } from './status-controller.ts';

const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';
const READY = { status: 'True', reason: 'Ready', message: 'Ready on 1 of 1 nodes' } as const;

function since(before: object): string {
  const object = { generation: 2, status: { conditions: [before] } };
  return conditionOf('Ready', READY, { object, now: NOW }).lastTransitionTime;
}

test('a condition is of the generation that it was evaluated by, and begins now where there was none', () => {
  expect(conditionOf('Ready', READY, { object: { generation: 2, status: undefined }, now: NOW })).toEqual({
    ...{ type: 'Ready', ...READY },
    lastTransitionTime: NOW,
    observedGeneration: 2,
  });
});

test('it keeps the time of the one with its type and its status alone', () => {
  expect(since({ type: 'Ready', status: 'True', lastTransitionTime: THEN })).toBe(THEN);
  expect(since({ type: 'Ready', status: 'False', lastTransitionTime: THEN })).toBe(NOW);
  expect(since({ type: 'Stalled', status: 'True', lastTransitionTime: THEN })).toBe(NOW);
  expect(since({ type: 'Ready', status: 'True' })).toBe(NOW);
});

test.each([undefined, null, 'x', {}, { conditions: {} }])('in %j there are no conditions', (status) => {
  expect(conditionsIn(status)).toEqual([]);
});
