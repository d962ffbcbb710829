import { IMPLIED_LABELS_ANNOTATION, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../../setup/keys/key-registry.test-fixtures.ts';
import { intentOf } from '../intent/intent.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { createLabelers, type LabelerOptions } from './index.ts';
import type { Claim } from './labeler.ts';
import { NOTHING_CONFIGURED } from './labelers.test-fixtures.ts';

function labelersWith(change: Partial<LabelerOptions> = {}) {
  const delayed: string[] = [];
  const options: LabelerOptions = {
    services: () => [],
    mayTaint: () => true,
    mayClear: () => true,
    gate: 'label',
    keys: registryOf(),
    ...NOTHING_CONFIGURED,
    forbiddenLabelDomains: ['example.org'],
    ...change,
  };
  const delay = (claims: readonly Claim[], _node: unknown, list: string) => {
    delayed.push(`${list}: ${claims.map(({ key, stance }) => `${stance} ${key}`).join(', ')}`);
    return claims.filter(({ kind }) => kind === 'label').map((claim): Claim => ({ ...claim, stance: 'hold' }));
  };
  return { labelers: createLabelers({ ...options, delay }), delayed };
}

const rules = () => ({
  labels: new Set(['size']),
  questions: [],
  evaluate: () => ({ implied: new Map([['size', { value: 'big', reason: 'a rule' }]]), unknown: new Map() }),
});

test('labels of pools and of rules are delayed as is asked for, each with its own list', () => {
  const { labelers, delayed } = labelersWith({ rules });
  const poolLabelSet = {
    ...{ uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' },
    ...{ labels: { tier: 'gold', 'example.org/x': 'y' }, status: undefined },
  };
  const node = { ...snapshot({ pool: 'gold', poolLabelSet }), readiness: new Map(), ageMs: 0 };
  const intent = intentOf(labelers, node);
  expect(delayed).toEqual([
    `${MANAGED_LABELS_ANNOTATION}: want tier, want ${MANAGED_LABELS_ANNOTATION}`,
    `${IMPLIED_LABELS_ANNOTATION}: want size, want ${IMPLIED_LABELS_ANNOTATION}`,
  ]);
  expect(['tier', 'size'].map((key) => intent.get(`label:${key}`)?.stance)).toEqual(['hold', 'hold']);
});

test('without rules none are asked about, and what was taken is noted only where pods are evicted for it', () => {
  const names = (change: Partial<LabelerOptions>) => {
    return labelersWith(change).labelers.consequences.map(({ name }) => name);
  };
  expect(names({})).toEqual(['left-over-keys']);
  expect(names({ rules, eviction: { isIgnored: () => false } })).toEqual([
    'implied-labels',
    'left-over-keys',
    'withdrawn-labels',
  ]);
});
