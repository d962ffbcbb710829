import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { EvaluatedNode } from './labeler.ts';
import { schedulingHintLabeler } from './scheduling-hint.ts';

const KEY = 'rollcall.dev/scheduling-hint';

function stances(change: Partial<EvaluatedNode>): string[] {
  const node = { ...snapshot(), readiness: new Map(), ageMs: 0, ...change };
  return schedulingHintLabeler.claims(node).map(({ stance, value }) => `${stance} ${value}`);
}

test('a hint is wanted, and what an earlier one left stays as it is', () => {
  const left = { annotations: { [KEY]: 'then' }, ownedAnnotations: new Set([KEY]) };
  expect(stances({})).toEqual([]);
  expect(stances({ schedulingHint: 'now' })).toEqual(['present now']);
  expect(stances(left)).toEqual(['keep then']);
  expect(stances({ ...left, schedulingHint: 'now' })).toEqual(['present now']);
  expect(stances({ annotations: { [KEY]: 'theirs' } })).toEqual([]);
});
