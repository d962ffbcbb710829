import { describe, expect, test } from 'vitest';
import { runChecks } from './check.ts';
import { checkReport, checkText } from './check-text.ts';
import { CHECKS, PRE_CHECKS } from './checks.ts';
import {
  CONFIG,
  EXPIRED_MS,
  evidence,
  findings,
  forbidden,
  gone,
  IMAGE,
  pod,
  workload,
} from './evidence.test-fixtures.ts';
import type { Evidence, Read, Right } from './evidence.ts';
import type { Workload } from './objects.ts';

const autoscaler = (command: string[]): Workload => ({
  metadata: { name: 'cluster-autoscaler', namespace: 'kube-system' },
  spec: {
    template: {
      spec: { containers: [{ name: 'a', image: 'r.example/autoscaling/cluster-autoscaler:v1.35.0', args: command }] },
    },
  },
});
const gate: Read<Record<string, unknown>> = { value: { ...CONFIG, readinessGate: 'taint' } };
const policyOf = (name: string, spec: object) => ({ value: [{ metadata: { name }, spec }] });
const coordinators = { matchLabels: { 'app.kubernetes.io/component': 'coordinator' } };

describe('check', () => {
  test('finds nothing on a healthy installation, and says what is well', async () => {
    expect(await findings({})).toEqual([]);
    expect(await findings({}, PRE_CHECKS)).toEqual([]);
    const report = checkReport(await runChecks(CHECKS, evidence()), false);
    await expect(checkText(report, { columns: 80, colors: false })).toMatchFileSnapshot('golden/healthy-80.txt');
  });

  test.each<[string, Partial<Evidence>, RegExp]>([
    [
      'a missing toleration',
      {
        agent: {
          value: workload('rollcall-agent', {
            template: { spec: { containers: [{ name: 'agent', image: IMAGE }], tolerations: [] } },
          }),
        },
      },
      /fail: The agent does not tolerate dedicated:NoExecute, so it cannot run on 1 node: node-1/,
    ],
    [
      'an undeclared taint',
      { workloads: { value: [autoscaler(['--v=4'])] }, config: gate },
      /fail: cluster-autoscaler does not know gitpod.io\/ws-daemon-not-ready/,
    ],
    ['a policy without a binding', { bindings: { value: [] } }, /fail: The policy rollcall-fence has no binding/],
    [
      'a predecessor that still runs',
      { workloads: { value: [workload('node-labeler', {}, 'registry.example.com/gitpod/node-labeler:main')] } },
      /fail: Gitpod's node-labeler runs \(rollcall\/node-labeler\)/,
    ],
    ['an expired certificate', { nowMs: EXPIRED_MS }, /fail: The CA that agents trust expired \d+d ago/],
    [
      'agents of an older version',
      { pods: { value: [pod('a-1', 'agent', { image: 'rollcall:0.0.9' })] } },
      /warn: 1 agent runs another version/,
    ],
    [
      'the wrong namespace',
      { config: { value: { namespace: 'gitpod' } } },
      /fail: Gitpod's services are configured for gitpod, but run in default/,
    ],
    [
      'no right on a subresource',
      { may: async ({ subresource }: Right) => ({ value: subresource !== 'status' }) },
      /fail: The coordinator's account may not patch nodepoollabels.rollcall.dev\/status in rollcall, patch nodeservices.rollcall.dev\/status.* patch nodes\/status/,
    ],
    [
      'a NetworkPolicy in the way',
      { networkPolicies: policyOf('deny', { podSelector: coordinators }) },
      /fail: NetworkPolicies block the reports to the coordinators/,
    ],
    [
      'two coordinators of different configuration',
      { pods: { value: [pod('c-1', 'coordinator'), pod('c-2', 'coordinator', { checksum: 'y' })] } },
      /fail: Coordinators run with 2 different configurations: c-1 and c-2/,
    ],
    [
      'a fence for another configuration',
      { config: { value: { ...CONFIG, servicesAllowedPrefixes: ['example.com/'] } } },
      /fail: The coordinator allows NodeServices keys that begin with example\.com\/ \(/,
    ],
    [
      'no installation',
      { coordinator: gone, agent: gone, ca: gone },
      /fail: There is no Deployment rollcall\/rollcall-coordinator/,
    ],
    [
      'an old API server',
      { version: { value: { gitVersion: 'v1.29.3', major: '1', minor: '29+' } }, admission: { value: [] } },
      /fail: API server v1.29.3/,
    ],
    [
      'a NodeService that is not in force',
      {
        nodeServices: {
          value: [
            {
              metadata: { name: 'ebs' },
              status: { conditions: [{ type: 'Ready', status: 'False', reason: 'KeyRefused', message: 'no' }] },
            },
          ],
        },
      },
      /fail: The NodeService ebs is not in force \(KeyRefused\): no/,
    ],
    [
      'taints that Karpenter does not know',
      { config: gate, karpenterPools: { value: [{ metadata: { name: 'default' } }] } },
      /warn: 1 NodePool of Karpenter does not list gitpod.io\/ws-daemon-not-ready: default/,
    ],
    [
      'a Lease that is not renewed',
      { lease: { value: { spec: { holderIdentity: 'c-1_x', renewTime: '2027-03-01T11:55:00Z' } } } },
      /fail: No coordinator leads in rollcall: c-1_x last renewed the Lease 5m ago/,
    ],
    ['a Lease without a holder', { lease: gone }, /fail: No coordinator leads in rollcall: the Lease has no holder/],
    [
      'pods of a service where the coordinator may not watch',
      {
        nodeServices: {
          value: [{ metadata: { name: 'ebs' }, spec: { checks: [{ pods: { namespace: 'drivers' } }] } }],
        },
        may: async ({ namespace }: Right) => ({ value: namespace !== 'drivers' }),
      },
      /fail: The coordinator's account may not list pods in drivers and watch pods in drivers, where pods of/,
    ],
    [
      'a NetworkPolicy in the way that selects by expressions',
      {
        networkPolicies: policyOf('deny', {
          podSelector: {
            matchExpressions: [{ key: 'app.kubernetes.io/component', operator: 'In', values: ['coordinator'] }],
          },
        }),
      },
      /fail: NetworkPolicies block the reports to the coordinators/,
    ],
    ['what may not be read', { nodes: forbidden }, /warn: Cannot check everything: nodes is forbidden/],
  ])('finds %s', async (_what, change, expected) => {
    const found = await findings(change);
    expect(found.join('\n')).toMatch(expected);
  });

  test.each<[string, Partial<Evidence>]>([
    [
      'a predecessor that was scaled to none',
      { workloads: { value: [workload('node-labeler', { replicas: 0 }, 'gitpod/node-labeler')] } },
    ],
    [
      'taints that cluster-autoscaler knows',
      {
        config: gate,
        workloads: {
          value: [
            autoscaler([
              '--status-taint=gitpod.io/ws-daemon-not-ready',
              '--startup-taint=gitpod.io/registry-facade-not-ready',
            ]),
          ],
        },
      },
    ],
    [
      'taints that cluster-autoscaler knows by a prefix',
      { config: gate, workloads: { value: [autoscaler(['--startup-taint-prefix=gitpod.io/'])] } },
    ],
    [
      'taints that Karpenter expects others to take off',
      {
        nodeServices: {
          value: [
            {
              metadata: { name: 'a' },
              spec: { publish: { taint: { key: 'readiness.k8s.io/a', effect: 'NoSchedule' } } },
            },
          ],
        },
        karpenterPools: { value: [{ metadata: { name: 'default' } }] },
      },
    ],
    [
      'a certificate that another program maintains',
      {
        config: { value: { ...CONFIG, tlsCertFile: '/tls.crt' } },
        ca: gone,
        may: async ({ resource }: Right) => ({ value: resource !== 'secrets' && resource !== 'configmaps' }),
      },
    ],
    [
      'a Lease of another name',
      {
        config: { value: { ...CONFIG, leaseName: 'mine' } },
        may: async ({ resource, name }: Right) => ({ value: resource !== 'leases' || name === 'mine' }),
      },
    ],
    [
      'a NetworkPolicy of all pods but these',
      {
        networkPolicies: policyOf('other', {
          podSelector: { matchExpressions: [{ key: 'app.kubernetes.io/component', operator: 'DoesNotExist' }] },
        }),
      },
    ],
    [
      'a NetworkPolicy that admits reports',
      { networkPolicies: policyOf('admit', { podSelector: coordinators, ingress: [{ ports: [{ port: 8443 }] }] }) },
    ],
    [
      'a NetworkPolicy of other pods',
      { networkPolicies: policyOf('other', { podSelector: { matchLabels: { app: 'other' } } }) },
    ],
  ])('finds nothing wrong with %s', async (_what, change) => {
    expect(await findings(change)).toEqual([]);
  });
});
