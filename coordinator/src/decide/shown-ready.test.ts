import { describe, expect, test } from 'vitest';
import { gated, serviceOf } from '../model/services.test-fixtures.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import { observed } from './intent/plan-node.test-fixtures.ts';
import { shownReady } from './shown-ready.ts';

const LABEL = 'example.com/a';
const TAINT = { key: 'example.com/no-a', value: 'true', effect: 'NoSchedule' } as const;
const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;
const BY_LABEL = serviceOf('a', { publish: { label: LABEL, taint: TAINT } });
const BOTH = gated(BY_LABEL, 'both');
const ONLY_TAINT = serviceOf('a', { publish: { taint: TAINT }, origin });

const node = (value?: string, taints: ObservedNode['taints'] = []): ObservedNode => ({
  ...observed(value === undefined ? {} : { [LABEL]: value }),
  taints,
});

describe('a service with a label and a taint', () => {
  test('is shown by its label where the gate is the label, whatever the taints are', () => {
    expect(shownReady(node('true', [TAINT]), BY_LABEL)).toBe(true);
    expect(shownReady(node('false'), BY_LABEL)).toBe(false);
    expect(shownReady(node(), BY_LABEL)).toBe(false);
  });

  test('is shown by both where the gate is both', () => {
    expect(shownReady(node('true'), BOTH)).toBe(true);
    expect(shownReady(node('true', undefined), BOTH)).toBe(true);
    expect(shownReady(node(), BOTH)).toBe(false);
    expect(shownReady(node('true', [TAINT]), BOTH)).toBe(false);
  });
});

test('a taint that keeps no pod away, or belongs to something else, hides no service', () => {
  expect(shownReady(node('true', [{ ...TAINT, effect: 'PreferNoSchedule' }]), BOTH)).toBe(true);
  expect(shownReady(node('true', [{ ...TAINT, key: 'example.com/other' }]), BOTH)).toBe(true);
});

test('a service without a label is shown by its taint alone', () => {
  expect(shownReady(node(undefined, []), ONLY_TAINT)).toBe(true);
  expect(shownReady(node(undefined, [TAINT]), ONLY_TAINT)).toBe(false);
});

test('a service with neither is shown by its condition', () => {
  const service = serviceOf('a', { publish: { condition: 'example.com/A' }, origin });
  const withCondition = (type: string, status: string): ObservedNode => ({
    ...node(),
    conditions: [{ type, status }] as unknown as NonNullable<ObservedNode['conditions']>,
  });
  expect(shownReady(withCondition('example.com/A', 'True'), service)).toBe(true);
  expect(shownReady(withCondition('example.com/A', 'False'), service)).toBe(false);
  expect(shownReady(withCondition('example.com/B', 'True'), service)).toBe(false);
  expect(shownReady(node(), service)).toBe(false);
});
