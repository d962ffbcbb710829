import { hostname } from 'node:os';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { expect, test } from 'vitest';
import type { Role } from '../../term/leadership-state.ts';
import { type ReplicaSource, replicaDocument } from './fleet-documents.ts';

function documentOf(role: Role, environment: ReplicaSource['environment'] = { podName: 'pod-1' }) {
  return replicaDocument({
    config: { dryRun: true, readinessGate: 'both', staleAfterSeconds: 30 },
    environment,
    leadershipState: { role: () => role },
    fleet: { activeGuards: () => ['fleet'] },
    evaluator: { guards: () => [{ subject: 'agents', of: 'fleet', nodes: 2 }] },
    clock: new FakeClock(),
  } as unknown as ReplicaSource);
}

test('the leader says who it is, how it is configured, and what is guarded', () => {
  expect(documentOf({ leading: true })).toEqual({
    ...{ name: 'pod-1', version: VERSION, leading: true, guards: [{ subject: 'agents', of: 'fleet', nodes: 2 }] },
    ...{ dryRun: true, readinessGate: 'both', staleAfterSeconds: 30, now: '2026-01-01T00:00:00Z' },
  });
});

test('another says who leads, and that it is the one to be asked', () => {
  expect(documentOf({ leading: false, leader: 'pod-2' })).toMatchObject({
    leading: false,
    leader: 'pod-2',
    note: 'This replica does not lead, and gets no reports: ask the leader',
  });
});

test('outside a pod it has the name of the host', () => {
  expect(documentOf({ leading: true }, { podName: undefined }).name).toBe(hostname());
});
