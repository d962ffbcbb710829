import { describe, expect, test } from 'vitest';
import { serviceOf } from '../model/services.test-fixtures.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import { observed } from './intent/plan-node.test-fixtures.ts';
import { shownReady } from './shown-ready.ts';

const LABEL = 'example.com/a';
const TAINT = { key: 'example.com/no-a', value: 'true', effect: 'NoSchedule' } as const;
const BOTH = serviceOf('a', { publish: { label: LABEL, taint: TAINT } });
const ONLY_TAINT = serviceOf('a', { publish: { taint: TAINT } });

const node = (value?: string, taints: ObservedNode['taints'] = []): ObservedNode => ({
  ...observed(value === undefined ? {} : { [LABEL]: value }),
  taints,
});

describe('a service with a label and a taint', () => {
  test('is shown by its label where the gate is the label, whatever the taints are', () => {
    expect(shownReady(node('true', [TAINT]), BOTH, 'label')).toBe(true);
    expect(shownReady(node('false'), BOTH, 'label')).toBe(false);
    expect(shownReady(node(), BOTH, 'label')).toBe(false);
  });

  test('is shown by both where the gate is both', () => {
    expect(shownReady(node('true'), BOTH, 'both')).toBe(true);
    expect(shownReady(node('true', undefined), BOTH, 'both')).toBe(true);
    expect(shownReady(node(), BOTH, 'both')).toBe(false);
    expect(shownReady(node('true', [TAINT]), BOTH, 'both')).toBe(false);
  });
});

test('a taint that keeps nobody away, or is of something else, hides no service', () => {
  expect(shownReady(node('true', [{ ...TAINT, effect: 'PreferNoSchedule' }]), BOTH, 'both')).toBe(true);
  expect(shownReady(node('true', [{ ...TAINT, key: 'example.com/other' }]), BOTH, 'both')).toBe(true);
});

test('a service without a label is shown by its taint alone', () => {
  expect(shownReady(node(undefined, []), ONLY_TAINT, 'both')).toBe(true);
  expect(shownReady(node(undefined, [TAINT]), ONLY_TAINT, 'both')).toBe(false);
});

test('a service with neither is shown by its condition', () => {
  const service = serviceOf('a', { publish: { condition: 'example.com/A' } });
  const withCondition = (type: string, status: string): ObservedNode => ({
    ...node(),
    conditions: [{ type, status }] as unknown as NonNullable<ObservedNode['conditions']>,
  });
  expect(shownReady(withCondition('example.com/A', 'True'), service, 'label')).toBe(true);
  expect(shownReady(withCondition('example.com/A', 'False'), service, 'label')).toBe(false);
  expect(shownReady(withCondition('example.com/B', 'True'), service, 'label')).toBe(false);
  expect(shownReady(node(), service, 'label')).toBe(false);
});
