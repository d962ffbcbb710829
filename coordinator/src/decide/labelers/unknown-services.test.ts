import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { LabelWishes } from './labeler.ts';
import { unknownServices } from './unknown-services.ts';

function held(servicesKnown: boolean, wishes: LabelWishes = new Map()): string[] {
  const labels = { ours: 'x', theirs: 'y' };
  const seen = snapshot({ servicesKnown, labels, ownedLabels: new Set(['ours', 'gone']) });
  const claims = unknownServices.claims({ ...seen, readiness: new Map(), ageMs: 0 }, wishes);
  return claims.map(({ kind, key, value, stance, ownership }) => `${stance} ${ownership} ${kind} ${key}=${value}`);
}

test('a label that rollcall applied, and nobody speaks of, stays while not every service is known', () => {
  expect(held(false)).toEqual(['hold shared label ours=x', 'hold shared label gone=']);
  expect(held(true)).toEqual([]);
});

test('one that somebody speaks of is left to them', () => {
  const wishes = new Map([['ours', { stance: 'withhold', ownership: 'exclusive', value: '' } as const]]);
  expect(held(false, wishes)).toEqual(['hold shared label gone=']);
});
