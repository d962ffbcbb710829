import { expect, test } from 'vitest';
import { snapshot } from '../decide/readiness/readiness.test-fixtures.ts';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { createIntern } from '../state/intern.ts';
import { nodeRecord } from '../state/node-record.test-fixtures.ts';
import { observeNode } from '../state/observed-node.ts';
import { announced } from './announcer.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE = serviceOf('a', {
  checks: [podsCheck('a')],
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 's', generation: 1, createdAtMs: 0 },
});

test('the time that a service with a taint alone took to be ready on a new node is measured', async () => {
  const { announcer, transitions, metric } = announced([SERVICE]);
  const record = nodeRecord('n', 'u', { isNew: true });
  const at = (state: 'ready' | 'not-ready', taints: object[]) => {
    const node = observeNode(
      { metadata: { name: 'n', uid: 'u', resourceVersion: '1' }, spec: { taints }, status: {} } as never,
      createIntern(),
      new Set(),
    );
    const readiness = new Map([['a', { state, reason: 'because', cause: 'evidence' as const, sinceMs: 0 }]]);
    return [node, { ...snapshot(), readiness, ageMs: 0 }] as const;
  };
  transitions.firstSeen(record, ...at('not-ready', []));
  announcer.happened(transitions.shown(record, ...at('not-ready', [TAINT])));
  announcer.happened(transitions.shown(record, ...at('ready', [])));
  expect(await metric('rollcall_coordinator_service_startup_seconds')).toContain(
    'rollcall_coordinator_service_startup_seconds_count{service="a"} 1',
  );
});
