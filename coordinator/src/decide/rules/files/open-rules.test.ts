import { expect, test } from 'vitest';
import { registryOf } from '../../../model/keys/key-registry.test-fixtures.ts';
import { serviceOf } from '../../../model/services.test-fixtures.ts';
import { ruleLabelProblem } from './rule-directory.ts';

const watchedServices = [serviceOf()];
const base = { keys: registryOf({ watchedServices, poolLabels: ['agentpool'] }) };

test.each([
  'gitpod.io/ws-daemon_ready_ns_default',
  'agentpool',
  'device.rollcall.dev/edgetpu',
  'fact.rollcall.dev/cpu',
  'feature.node.kubernetes.io/usb-x',
  'beta.devicetree.org/x',
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
  expect(problem('kubernetes.io/os')).toBe('is set by the kubelet or the cloud provider');
  expect(problem('example.org/x')).toMatch('rules.allowedPrefixes (accelerators/, node-role.kubernetes.io/gpu)');
});

test('a list of one is a list', () => {
  const problem = (label: string) => ruleLabelProblem(label, { ...base, allowedPrefixes: ['accelerators/'] });
  expect(problem('accelerators/edgetpu')).toBeUndefined();
  expect(problem('example.org/x')).toBe('does not begin with one of rules.allowedPrefixes (accelerators/)');
});
