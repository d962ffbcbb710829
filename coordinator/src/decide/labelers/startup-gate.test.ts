import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import type { LabelWishes } from './labeler.ts';
import { startupGateLabeler } from './startup-gate.ts';

type State = ServiceReadiness['state'];

function stance(
  labels: Record<string, string>,
  waitedMs: number,
  requires = ['a', 'b'],
  states: Record<string, State> = {},
  wishes: LabelWishes = new Map(),
) {
  const gate = startupGateLabeler({ requires, maxWaitMs: 600_000 }, () => [
    { name: 'csi', publish: {} },
    { name: 'gpu', publish: {}, nodeSelector: { matchLabels: { gpu: 'true' } } },
  ]);
  const verdicts = Object.entries(states).map(
    ([name, state]) => [name, { state, reason: '', cause: 'agent', sinceMs: 0 }] as const,
  );
  const node = { ...snapshot({ labels }), readiness: new Map(verdicts), ageMs: 0, waitedMs };
  return gate.claims(node, wishes, new Map())[0];
}

test('a node waits behind the gate for every required label', () => {
  expect(stance({ a: 'true' }, 1000)).toMatchObject({ stance: 'keep', reason: expect.stringMatching(/^waits for b,/) });
  expect(stance({ a: 'true', b: '' }, 1000)).toMatchObject({ stance: 'absent' });
});

test('a node does not wait longer than it may', () => {
  expect(stance({}, 599_999)).toMatchObject({ stance: 'keep' });
  expect(stance({}, 600_000)).toMatchObject({
    stance: 'absent',
    reason: expect.stringMatching(/^the maximum wait time of 600 s is over, without a, b/),
  });
});

test('the gate is never put there, and goes where no label is required', () => {
  expect(stance({}, 0)?.stance).not.toBe('present');
  expect(stance({}, 0, [])).toMatchObject({
    stance: 'absent',
    reason: 'the startup gate is off',
    cause: 'configuration',
  });
  expect(stance({}, 0, ['a'])?.cause).toBe('evidence');
});

test('a node waits for a service by its name, where the service is for it, and a label of that name is nothing', () => {
  for (const state of ['not-ready', 'unknown'] as const) {
    expect(stance({ a: '', csi: 'true' }, 0, ['a', 'csi'], { csi: state })).toMatchObject({
      stance: 'keep',
      reason: 'waits for the service csi, at most 600 s from its creation',
    });
  }
  expect(stance({ a: '' }, 0, ['a', 'csi', 'gpu'], { csi: 'ready' })).toMatchObject({ stance: 'absent' });
  expect(stance({}, 600_000, ['a', 'csi'], { csi: 'not-ready' })).toMatchObject({
    stance: 'absent',
    reason: 'the maximum wait time of 600 s is over, without a, the service csi',
  });
});

test('a node waits for a service that is for it by a label that the node is about to get', () => {
  const wish = { stance: 'present', ownership: 'shared', value: 'true' } as const;
  expect(stance({ a: '' }, 0, ['a', 'gpu'], {}, new Map([['gpu', wish]]))).toMatchObject({
    stance: 'keep',
    reason: expect.stringMatching(/^waits for the service gpu,/),
  });
  expect(stance({ a: '' }, 0, ['a', 'gpu'], {}, new Map([['gpu', { ...wish, value: 'no' }]]))?.stance).toBe('absent');
});
