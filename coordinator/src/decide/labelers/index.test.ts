import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { type IntentEntry, intentOf } from '../intent/intent.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { createLabelers, type LabelerOptions } from './index.ts';
import { NOTHING_CONFIGURED } from './labelers.test-fixtures.ts';
import { rulesOf } from './rules.test-fixtures.ts';

function labelersWith(change: Partial<LabelerOptions> = {}) {
  return createLabelers({
    services: () => [],
    withheldTaint: () => undefined,
    hasEvictionPlace: () => true,
    keys: registryOf(),
    ...NOTHING_CONFIGURED,
    forbiddenLabelDomains: ['example.org'],
    ...change,
  });
}

const rules = () => rulesOf(['size'], { implied: { size: { value: 'big', reason: 'a rule' } } });

test('the guard sees each label once, and what follows from others after them', () => {
  const poolLabelSet = {
    kind: 'NodePoolLabels' as const,
    ...{ uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' },
    ...{ labels: { tier: 'gold', 'example.org/x': 'y' }, status: undefined },
  };
  const node = { ...snapshot({ pool: 'gold', poolLabelSet }), readiness: new Map(), ageMs: 0 };
  const seen: string[] = [];
  const guard = (entry: IntentEntry): IntentEntry => {
    if (entry.kind === 'label') seen.push(`${entry.stance} ${entry.key}`);
    return entry.kind === 'label' ? { ...entry, stance: 'keep' } : entry;
  };
  const intent = intentOf(labelersWith({ rules }), node, guard);
  expect(seen).toEqual(['present tier', 'present size']);
  expect(['tier', 'size'].map((key) => intent.get(`label:${key}`)?.stance)).toEqual(['keep', 'keep']);
});

test('without rules none are asked about, and what was taken is noted only where pods are evicted for it', () => {
  const names = (change: Partial<LabelerOptions>) => labelersWith(change).consequences.map(({ name }) => name);
  expect(names({})).toEqual(['left-over-keys', 'left-over-keys', 'startup-gate']);
  expect(names({ rules, eviction: { isIgnored: () => false } })).toEqual([
    'left-over-keys',
    'implied-labels',
    'left-over-keys',
    'startup-gate',
    'withdrawn-labels',
  ]);
});

test('a fact that the agent reports no longer takes its label along, as what an agent says, and not by a flag', () => {
  const key = 'fact.rollcall.dev/board';
  const change = {
    labels: { [key]: 'x' },
    ownedLabels: new Set([key]),
    annotations: { 'rollcall.dev/keys': JSON.stringify({ [`label:${key}`]: 'fact' }) },
    machine: { devices: [], facts: {} },
  };
  const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
  const claim = intentOf(labelersWith({ factLabels: ['board'] }), node).get(`label:${key}`);
  expect(claim).toMatchObject({ stance: 'absent', cause: 'agent' });
  expect(claim?.reason).not.toContain('--fact-labels no longer names it');
});
