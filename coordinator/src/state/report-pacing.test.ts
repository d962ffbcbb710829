import { describe, expect, test } from 'vitest';
import { serviceOf } from '../model/services.test-fixtures.ts';
import type { ObservedPod } from './observed-pod.ts';
import { isUnsettled, ReportPacing } from './report-pacing.ts';

const TOLERATIONS: readonly never[] = [];
const SERVICE = serviceOf();
const POD: ObservedPod = {
  uid: 'p',
  namespace: 'default',
  name: 'p',
  labels: { component: 'ws-daemon' },
  daemonSet: '',
  tolerations: TOLERATIONS,
  node: 'n',
  createdAtMs: 0,
  ready: true,
  terminating: false,
  podIP: '10.1.0.1',
  hostIP: '10.0.0.7',
  startTime: '',
  readySinceMs: 0,
};
const REPORT = { name: 'ws-daemon', ready: true, since: '2026-01-01T00:00:00Z', evidence: '', digest: 'd' };

describe('a node', () => {
  test('deserves none where all is ready, and where nothing of a service is', () => {
    expect(isUnsettled([SERVICE], [POD], [REPORT])).toBe(false);
    expect(isUnsettled([SERVICE], [], [{ ...REPORT, ready: false }])).toBe(false);
  });

  test.each([
    ['the pod is not Ready', { ...POD, ready: false }, [REPORT]],
    ['the pod is terminating', { ...POD, terminating: true }, [REPORT]],
    ['the agent says no', POD, [{ ...REPORT, ready: false }]],
    ['the agent does not know yet', POD, [{ ...REPORT, ready: false, unknown: true as const }]],
    ['the agent says nothing', POD, []],
  ])('deserves attention where %s', (_, pod, reports) => {
    expect(isUnsettled([SERVICE], [pod], reports)).toBe(true);
  });
});

describe('attention', () => {
  test('means a report a second, and ends when nothing is unsettled any more', () => {
    const attention = new ReportPacing();
    expect(attention.nextSeconds('n', false, 0)).toBeUndefined();
    expect(attention.nextSeconds('n', true, 0)).toBe(1);
    expect(attention.nextSeconds('n', false, 0)).toBeUndefined();
  });

  test('lasts a minute after the pods of a node changed', () => {
    const attention = new ReportPacing();
    attention.changed('n', 1000);
    expect(attention.nextSeconds('n', false, 60_999)).toBe(1);
    expect(attention.nextSeconds('other', false, 2000)).toBeUndefined();
    expect(attention.nextSeconds('n', false, 61_000)).toBeUndefined();
  });

  test('of so many nodes at once is spread', () => {
    const attention = new ReportPacing();
    let last: number | undefined;
    for (let node = 0; node < 5000; node += 1) last = attention.nextSeconds(`n-${node}`, true, 0);
    expect(last).toBe(5);
    for (let node = 0; node < 4999; node += 1) attention.forget(`n-${node}`);
    expect(attention.nextSeconds('n-4999', true, 0)).toBe(1);
  });

  test('of so many nodes at once is spread over those that deserve it still', () => {
    const attention = new ReportPacing();
    for (let node = 0; node < 5000; node += 1) attention.nextSeconds(`n-${node}`, true, 0);
    for (let node = 0; node < 3000; node += 1) attention.nextSeconds(`n-${node}`, false, 0);
    expect(attention.nextSeconds('n-4999', true, 0)).toBe(2);
  });
});
