import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { startupGateLabeler } from './startup-gate.ts';

function stance(labels: Record<string, string>, ageMs: number, requires = ['a', 'b']) {
  const gate = startupGateLabeler({ requires, maxWaitMs: 600_000 });
  return gate.claims({ ...snapshot({ labels }), readiness: new Map(), ageMs })[0];
}

test('a node waits behind the gate for every required label', () => {
  expect(stance({ a: 'true' }, 1000)).toMatchObject({ stance: 'hold', reason: expect.stringMatching(/^waits for b,/) });
  expect(stance({ a: 'true', b: '' }, 1000)).toMatchObject({ stance: 'withhold' });
});

test('a node does not wait longer than it may', () => {
  expect(stance({}, 599_999)).toMatchObject({ stance: 'hold' });
  expect(stance({}, 600_000)).toMatchObject({
    stance: 'withhold',
    reason: expect.stringMatching(/^a, b did not come within 600 s/),
  });
});

test('the gate is never put there, and without required labels there is none', () => {
  expect(stance({}, 0)?.stance).not.toBe('want');
  expect(stance({}, 0, [])).toBeUndefined();
});
