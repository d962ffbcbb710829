import { expect, test } from 'vitest';
import { ruleLabelProblem } from './rule-labels.ts';

const base = { services: [{ label: 'gitpod.io/ws-daemon_ready_ns_default' }], poolLabels: ['agentpool'] };

test.each([
  'gitpod.io/ws-daemon_ready_ns_default',
  'agentpool',
  'device.rollcall.dev/edgetpu',
  'fact.rollcall.dev/cpu',
  'gitpod.io/workload_workspace_regular',
])('%s is nothing for rules, whatever is allowed', (label) => {
  expect(ruleLabelProblem(label, { ...base, allowedPrefixes: [] })).toBeDefined();
  expect(ruleLabelProblem(label, { ...base, allowedPrefixes: [label] })).toBeDefined();
});

test('without a list every label outside the domains of Kubernetes is allowed', () => {
  const problem = (label: string) => ruleLabelProblem(label, { ...base, allowedPrefixes: [] });
  expect(['accelerators/edgetpu', 'gpu', 'example.org/x'].map(problem)).toEqual([undefined, undefined, undefined]);
  expect(problem('node-role.kubernetes.io/gpu')).toMatch('reserved domain kubernetes.io');
});

test('with a list what begins with one of it is allowed, in any domain', () => {
  const problem = (label: string) =>
    ruleLabelProblem(label, { ...base, allowedPrefixes: ['accelerators/', 'node-role.kubernetes.io/gpu'] });
  expect(['accelerators/edgetpu', 'node-role.kubernetes.io/gpu'].map(problem)).toEqual([undefined, undefined]);
  expect(problem('example.org/x')).toMatch('rules.allowedPrefixes (accelerators/, node-role.kubernetes.io/gpu)');
});
