import { expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import { publishedKeysLabeler } from './published-keys.ts';

const CONDITION = 'example.com/MirrorReady';
const MIRROR = serviceOf('mirror', {
  nodeSelector: { matchLabels: { tier: 'gold' } },
  publish: { condition: CONDITION },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});
const { claims } = publishedKeysLabeler({ services: () => [MIRROR], mayTaint: () => true, mayClear: () => true });

function claimed(readiness: Omit<ServiceReadiness, 'reason' | 'sinceMs'>, labels = { tier: 'gold' }) {
  const judged = new Map([['mirror', { reason: 'because', sinceMs: 0, ...readiness }]]);
  return claims({ ...snapshot({ labels, createdAtMs: 1000 }), readiness: judged, ageMs: 4000 });
}

test.each([
  [{ state: 'ready', cause: 'agent' }, 'True', 'ServiceReady', 'mirror is ready: because'],
  [{ state: 'not-ready', cause: 'agent' }, 'False', 'ServiceNotReady', 'mirror is not ready: because'],
  [{ state: 'not-ready', cause: 'damping' }, 'False', 'ServiceNotReady', 'mirror is not ready: because'],
  [{ state: 'not-ready', cause: 'silence' }, 'Unknown', 'AgentSilent', 'mirror may be ready or not: because'],
] as const)('of a service that is %j the condition says %s', (readiness, value, reason, message) => {
  const news = { reason, message, at: '1970-01-01T00:00:05Z' };
  expect(claimed(readiness)).toMatchObject([{ kind: 'condition', key: CONDITION, stance: 'want', value, news }]);
});

test('a condition is held while nobody knows, and gone where the service is not for the node', () => {
  expect(claimed({ state: 'unknown', cause: 'unknown' })).toMatchObject([{ stance: 'hold' }]);
  expect(claimed({ state: 'ready', cause: 'agent' }, { tier: 'lead' })).toMatchObject([{ stance: 'withhold' }]);
});

test.each([
  ['is held as it was before the edit, until it may go to this node', [{ key: 'k', effect: 'NoExecute' }], 'hold'],
  ['is held with its value from before', [{ key: 'k', value: 'old', effect: 'NoSchedule' }], 'hold'],
  ['is wanted where it is as written', [{ key: 'k', effect: 'NoSchedule' }], 'want'],
  ['waits where there is none', [{ key: 'other', effect: 'NoSchedule' }], 'withhold'],
] as const)('a taint that was edited and may not go to every node yet %s', (_what, taints, stance) => {
  const taint = { key: 'k', value: '', effect: 'NoSchedule' } as const;
  const service = { ...MIRROR, publish: { taint } };
  const labeler = publishedKeysLabeler({ services: () => [service], mayTaint: () => false, mayClear: () => false });
  const readinessOf = (state: 'ready' | 'not-ready') =>
    new Map([['mirror', { reason: '', cause: 'agent' as const, sinceMs: 0, state }]]);
  const node = { ...snapshot({ labels: { tier: 'gold' }, createdAtMs: 0, taints }), ageMs: 0 };
  expect(labeler.claims({ ...node, readiness: readinessOf('not-ready') })).toMatchObject([{ stance }]);
  // Only the one that is written waits for the status to say that it can go.
  const [claim] = labeler.claims({ ...node, readiness: readinessOf('ready') });
  expect(claim?.stance).toBe(stance === 'want' ? 'hold' : 'withhold');
});
