import type { FullReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import { createIntern } from './intern.ts';
import { nodeRecord } from './node-record.test-fixtures.ts';
import { observeNode } from './observed-node.ts';
import { observePod } from './observed-pod.ts';
import { PodCollection } from './pod-collection.ts';
import { ProbeAssignments } from './probe-assignments.ts';

const NOW_MS = 1000;
const CREATED = '2026-01-01T00:00:00Z';

/** The orders of one node, over what is watched as it is kept. */
function orders(first: readonly Service[] = [serviceOf()]) {
  const index = new PodCollection<ReturnType<typeof observePod>>();
  const record = nodeRecord();
  const made = new ProbeAssignments();
  let services = first;
  let labels: Record<string, string> = {};
  let creationTimestamp = CREATED;
  const observed = () =>
    observeNode(
      { metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels, creationTimestamp } },
      createIntern(),
      new Set(),
    );
  let node = observed();
  const podOf = (podIP: string, { namespace = 'default', on = 'n', readySince = CREATED } = {}) =>
    observePod({
      metadata: {
        name: `p-${on}`,
        uid: `p-${on}`,
        namespace,
        resourceVersion: '1',
        creationTimestamp: CREATED,
        labels: { component: 'ws-daemon' },
      },
      spec: { nodeName: on },
      status: { podIP, conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: readySince }] },
    });
  const now = () => made.of(record, { services, node, pods: index.on('n') });
  return {
    record,
    now,
    pod: (podIP: string, where: { namespace?: string; on?: string; readySince?: string } = {}) =>
      index.handlers(where.namespace ?? 'default').onUpsert(podOf(podIP, where)),
    podGone: (namespace = 'default') => index.handlers(namespace).onDelete(podOf('', { namespace })),
    services: (next: readonly Service[]) => {
      services = next;
    },
    /** The Node is created anew under the same name. */
    recreate: (at: string) => {
      creationTimestamp = at;
      node = observed();
    },
    label: (next: Record<string, string>) => {
      labels = next;
      node = observed();
    },
    says: (ready: boolean, sequence: number) => {
      const digest = now().assigned.services.find(({ name }) => name === 'ws-daemon')?.digest ?? '';
      const service = { name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: '', digest };
      const header = { node: 'n', boot: 'b', sequence, digest: `${ready}` };
      record.sessions.admit({ ...header, services: [service], devices: [], facts: {} } as FullReport, {}, NOW_MS);
    },
  };
}

const hostOf = ({ assigned }: ReturnType<ProbeAssignments['of']>) =>
  assigned.services.find(({ name }) => name === 'ws-daemon')?.target?.host;
const namesOf = ({ assigned }: ReturnType<ProbeAssignments['of']>) => assigned.services?.map(({ name }) => name);

describe('the orders of a node', () => {
  test('are the same as long as nothing changes there, whatever changes elsewhere', () => {
    const { now, pod } = orders();
    pod('10.1.0.1');
    const before = now().assigned;
    pod('10.1.0.2', { on: 'other' });
    expect(now().assigned).toBe(before);
  });

  test('are not made anew for a label of the node that selects nothing', () => {
    const { now, pod, label, says } = orders();
    pod('10.0.0.1');
    says(true, 1);
    const before = now();
    label({ other: 'label' });
    expect(now().assigned).toBe(before.assigned);
    expect(now().reports).toBe(before.reports);
  });

  test('follow a pod that comes, moves to another address, and goes', () => {
    const { now, pod, podGone } = orders();
    expect(hostOf(now())).toBeUndefined();
    pod('10.1.0.1');
    expect(hostOf(now())).toBe('10.1.0.1');
    pod('10.1.0.2');
    expect(hostOf(now())).toBe('10.1.0.2');
    podGone();
    expect(hostOf(now())).toBeUndefined();
  });

  test('follow a pod where pods of several namespaces are on the node', () => {
    const { now, pod, podGone } = orders();
    pod('10.1.0.9', { namespace: 'other' });
    pod('10.1.0.1');
    expect(hostOf(now())).toBe('10.1.0.1');
    pod('10.1.0.2');
    expect(hostOf(now())).toBe('10.1.0.2');
    podGone('other');
    podGone();
    expect(hostOf(now())).toBeUndefined();
  });

  test('follow the services, and the labels of the node', () => {
    const mirror = serviceOf('mirror', {
      nodeSelector: { matchLabels: { role: 'mirror' } },
      checks: [probeCheck('mirror', { spec: { kind: 'tcp' }, port: 80, host: 'Loopback' })],
    });
    const { now, pod, services, label } = orders();
    pod('10.1.0.1');
    services([serviceOf(), mirror]);
    expect(namesOf(now())).toEqual(['ws-daemon']);
    label({ role: 'mirror' });
    expect(namesOf(now())).toEqual(['mirror', 'ws-daemon']);
    services([]);
    expect(namesOf(now())).toEqual([]);
  });

  test('name no pod of the machine before until it became Ready on this one', () => {
    const { now, pod, recreate } = orders();
    pod('10.1.0.1');
    recreate('2026-01-01T00:10:00Z');
    expect(hostOf(now())).toBeUndefined();
    expect(now().isUnsettled).toBe(true);
    pod('10.1.0.1', { readySince: '2026-01-01T00:10:05Z' });
    expect(hostOf(now())).toBe('10.1.0.1');
  });

  test('come soon again while what the agent says of a service with pods is not good', () => {
    const { now, pod, says } = orders();
    pod('10.1.0.1');
    expect(now().isUnsettled).toBe(true);
    says(true, 1);
    expect(now().isUnsettled).toBe(false);
    says(false, 2);
    expect(now().isUnsettled).toBe(true);
  });

  test('say nothing of what the agent reports of a check that is not assigned any more', () => {
    const { now, pod, says } = orders();
    pod('10.1.0.1');
    says(true, 1);
    expect(now().reports.get('ws-daemon')?.ready).toBe(true);
    pod('10.1.0.2');
    expect([now().reports.size, now().isUnsettled]).toEqual([0, true]);
    says(true, 2);
    expect(now().reports.get('ws-daemon')?.ready).toBe(true);
  });
});
