import { expect, test } from 'vitest';
import { pod, resultOf } from './evidence.test-fixtures.ts';
import { networkOpen } from './network-checks.ts';
import type { NetworkPolicy, Requirement } from './objects.ts';

const COMPONENT = 'app.kubernetes.io/component';
const WELL = 'no NetworkPolicy blocks the reports of agents';
const CURE = 'set networkPolicy.enabled=true, or allow TCP 8443 from the agents in your own policy';

type Spec = NonNullable<NetworkPolicy['spec']>;

const of = (...specs: (Spec | undefined)[]) =>
  resultOf(networkOpen, {
    networkPolicies: {
      value: specs.map((spec, index) => ({ metadata: { name: `p${index + 1}` }, ...(spec ? { spec } : {}) })),
    },
  });
const to = (component: string) => ({ podSelector: { matchLabels: { [COMPONENT]: component } } });
const ingress = (...ports: { port?: number | string; endPort?: number }[]) =>
  of({ ...to('coordinator'), ingress: [{ ports }] });

test('a policy of coordinators blocks reports to them, and one of agents those from them', async () => {
  expect(await of(to('coordinator'), to('coordinator'))).toEqual([
    'fail: NetworkPolicies block the reports to the coordinators (TCP 8443): p1 and p2',
    CURE,
  ]);
  expect(await of({ ...to('agent'), policyTypes: ['Egress'] })).toEqual([
    'fail: NetworkPolicies block the reports from the agents (TCP 8443): p1',
    CURE,
  ]);
});

test('a policy blocks the directions that it names', async () => {
  expect(await of({ ...to('coordinator'), policyTypes: ['Egress'] })).toBe(WELL);
  expect(await of({ ...to('agent'), policyTypes: ['Ingress'] })).toBe(WELL);
});

test('a policy that names no direction blocks the way in, and the way out where it has rules for it', async () => {
  expect(await of(to('agent'))).toBe(WELL);
  expect(await of({ ...to('agent'), egress: [] })).toHaveLength(2);
  expect(await of({ ...to('coordinator'), egress: [{}] })).toHaveLength(2);
});

test('a policy without a selector is of all pods', async () => {
  expect(await of(undefined)).toHaveLength(2);
});

test('rules for any port let reports through', async () => {
  expect(await of({ ...to('coordinator'), ingress: [{}] })).toBe(WELL);
  expect(await ingress()).toBe(WELL);
  expect(await ingress({})).toBe(WELL);
  expect(await of({ ...to('agent'), egress: [{}] })).toBe(WELL);
});

test.each([
  [{ port: 8443 }, true],
  [{ port: 'reports' }, true],
  [{ port: 8000, endPort: 8443 }, true],
  [{ port: 8443, endPort: 9000 }, true],
  [{ port: 8444 }, false],
  [{ port: 8442 }, false],
  [{ port: 8000, endPort: 8442 }, false],
  [{ port: 8444, endPort: 9000 }, false],
  [{ port: 'other' }, false],
])('a rule for %j lets reports through: %s', async (port, isOpen) => {
  expect((await ingress({ port: 1 }, port)) === WELL).toBe(isOpen);
});

test('one policy that lets reports through is enough', async () => {
  expect(await of(to('coordinator'), { ...to('coordinator'), ingress: [{ ports: [{ port: 8443 }] }] })).toBe(WELL);
});

test('the ways out of coordinators are nothing to reports', async () => {
  const egress = [{ ports: [{ port: 8443 }] }];
  expect(await of({ ...to('coordinator'), egress, ingress: [{ ports: [{ port: 1 }] }] })).toHaveLength(2);
});

test.each<[Requirement, boolean]>([
  [{ key: COMPONENT, operator: 'In', values: ['coordinator'] }, true],
  [{ key: COMPONENT, operator: 'In', values: ['other'] }, false],
  [{ key: 'none', operator: 'In', values: ['undefined'] }, false],
  [{ key: COMPONENT, operator: 'NotIn', values: ['other'] }, true],
  [{ key: COMPONENT, operator: 'NotIn', values: ['coordinator'] }, false],
  [{ key: 'none', operator: 'NotIn', values: ['other'] }, true],
  [{ key: COMPONENT, operator: 'Exists' }, true],
  [{ key: 'none', operator: 'Exists' }, false],
  [{ key: COMPONENT, operator: 'DoesNotExist' }, false],
  [{ key: 'none', operator: 'DoesNotExist' }, true],
])('a policy for pods by %j is of coordinators: %s', async (requirement, isOf) => {
  const found = await of({ podSelector: { matchExpressions: [requirement] } });
  expect(found === WELL).toBe(!isOf);
});

test('a policy is of pods that have all of its labels and expressions', async () => {
  const matchLabels = { [COMPONENT]: 'coordinator' };
  const other = { key: 'none', operator: 'Exists' };
  expect(await of({ podSelector: { matchLabels, matchExpressions: [other] } })).toBe(WELL);
  expect(await of({ podSelector: { matchLabels: { ...matchLabels, other: 'x' } } })).toBe(WELL);
});

test('without pods nothing is blocked', async () => {
  const networkPolicies = { value: [{ metadata: { name: 'p1' } }] };
  expect(await resultOf(networkOpen, { networkPolicies, pods: { value: [] } })).toBe(WELL);
  const gone = pod('c-1', 'coordinator');
  gone.metadata.deletionTimestamp = '2027-03-01T12:00:00Z';
  expect(await resultOf(networkOpen, { networkPolicies, pods: { value: [gone] } })).toBe(WELL);
});
