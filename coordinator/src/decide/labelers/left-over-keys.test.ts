import { SERVICE_KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../../setup/keys/key-registry.test-fixtures.ts';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE } from '../readiness/readiness.test-fixtures.ts';
import type { JudgedNode } from './labeler.ts';
import { leftOverKeysLabeler } from './left-over-keys.ts';

const labeler = leftOverKeysLabeler(registryOf({ watchedServices: [WS_DAEMON_SERVICE], poolLabels: ['agentpool'] }));

function claims(listed: object, change: Partial<JudgedNode> = {}): string[] {
  const annotations = { [SERVICE_KEYS_ANNOTATION]: JSON.stringify(listed) };
  const node = { ...snapshot({ annotations, ...change }), readiness: new Map(), ageMs: 0 };
  return labeler
    .claims(node)
    .map(({ kind, key, stance, ownership, service }) => `${stance} ${ownership} ${kind} ${key} ${service}`);
}

test('what a node lists of services that are none any more goes, whoever wrote it, and a condition is let go of', () => {
  expect(claims({ labels: ['a.example/x'], taints: ['b.example/x'], conditions: ['c.example/X'] })).toEqual([
    'withhold exclusive label a.example/x left-over',
    'withhold exclusive taint b.example/x left-over',
    'withhold shared condition c.example/X left-over',
  ]);
});

test('a condition that rollcall applied counts as listed, once', () => {
  const ownedConditions = new Set(['c.example/X', 'd.example/X']);
  expect(claims({ conditions: ['c.example/X'] }, { ownedConditions })).toEqual([
    'withhold shared condition c.example/X left-over',
    'withhold shared condition d.example/X left-over',
  ]);
});

test('what Kubernetes, a pool or another labeler has a say in stays, whatever is listed', () => {
  const labels = ['kubernetes.io/os', 'agentpool', WS_DAEMON_LABEL];
  expect(claims({ labels, taints: ['node.kubernetes.io/unreachable'], conditions: ['Ready'] })).toEqual([]);
});

test('all of it stays while not every service is known', () => {
  const reasons = (servicesKnown: boolean) => {
    const annotations = { [SERVICE_KEYS_ANNOTATION]: '{"labels":["a.example/x"]}' };
    const node = { ...snapshot({ annotations, servicesKnown }), readiness: new Map(), ageMs: 0 };
    return labeler.claims(node).map(({ stance, reason }) => `${stance}: ${reason}`);
  };
  expect(reasons(false)).toEqual(['hold: it may belong to a NodeService; these have not been listed yet']);
  expect(reasons(true)).toEqual(['withhold: the service that published it no longer exists']);
});
