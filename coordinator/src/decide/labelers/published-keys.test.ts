import { expect, test } from 'vitest';
import { serviceOf } from '../../setup/services.test-fixtures.ts';
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
  [{ state: 'ready' }, 'True', 'ServiceReady', 'mirror is ready: because'],
  [{ state: 'not-ready' }, 'False', 'ServiceNotReady', 'mirror is not ready: because'],
  [{ state: 'not-ready', bySilence: true }, 'Unknown', 'AgentSilent', 'mirror may be ready or not: because'],
] as const)('of a service that is %j the condition says %s', (readiness, value, reason, message) => {
  const news = { reason, message, at: '1970-01-01T00:00:05Z' };
  expect(claimed(readiness)).toMatchObject([{ kind: 'condition', key: CONDITION, stance: 'want', value, news }]);
});

test('a condition is held while nobody knows, and gone where the service is not for the node', () => {
  expect(claimed({ state: 'unknown' })).toMatchObject([{ stance: 'hold' }]);
  expect(claimed({ state: 'ready' }, { tier: 'lead' })).toMatchObject([{ stance: 'withhold' }]);
});
