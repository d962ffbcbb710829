import { describe, expect, test } from 'vitest';
import { runChecks } from './check.ts';
import { checkReport, checkText } from './check-text.ts';
import { CHECKS, PRE_CHECKS } from './checks.ts';
import type { Evidence, Read, Right } from './evidence.ts';
import type { NodeObject, PodObject, Workload } from './objects.ts';

const NOW = Date.parse('2027-03-01T12:00:00Z');
const IMAGE = 'rollcall:0.1.0';

/** Valid from November 2026 to February 2035. */
const CA = `-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUVpmHfONSCupJ2zX4lhP3bqg2O/UwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLcm9sbGNhbGwtY2EwHhcNMjYxMTIyMDgxODAxWhcNMzUwMjA4
MDgxODAxWjAWMRQwEgYDVQQDDAtyb2xsY2FsbC1jYTBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABGzAJkBlFxpxbpj89lk2mU4oaHL9B7wdE/eipuP3t/IgYcuevg7v
TEHsu5W9SsF7pFW2AcVbBDiBOkzb1SpIAk+jUzBRMB0GA1UdDgQWBBRAT4WP9AEV
I4g2n49HNh1WY43j+jAfBgNVHSMEGDAWgBRAT4WP9AEVI4g2n49HNh1WY43j+jAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIF0uoPjEQ7jsP+ao1Zj0
FCikCmsZuLsMMSAlEMTeLOELAiEA4oqa+TTD0vjas3rwu/p+FKRW9Wlnmc1HfGk6
i3yGEKs=
-----END CERTIFICATE-----`;
const EXPIRED_MS = Date.parse('2035-02-12T00:00:00Z');

function workload(name: string, change: Partial<NonNullable<Workload['spec']>> = {}, image = IMAGE): Workload {
  const template = { spec: { containers: [{ name, image }], tolerations: [{ operator: 'Exists' }], nodeSelector: {} } };
  return {
    metadata: { name, namespace: 'rollcall' },
    spec: { replicas: 2, template, ...change },
    status: { readyReplicas: 2, desiredNumberScheduled: 3, numberReady: 3 },
  };
}

function pod(
  name: string,
  component: string,
  change: { image?: string; args?: string[]; checksum?: string } = {},
): PodObject {
  const labels = { 'app.kubernetes.io/component': component };
  const container = { name: component, image: change.image ?? IMAGE, args: change.args ?? [] };
  return {
    metadata: { name, namespace: 'rollcall', labels, annotations: { 'checksum/config': change.checksum ?? 'x' } },
    spec: { containers: [container], nodeName: 'node-1' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const node = (taints: { key: string; effect: string }[] = []): NodeObject => ({
  metadata: { name: 'node-1' },
  spec: { taints },
});
const gone = { missing: true, problem: 'not found' };
const forbidden = { missing: false, problem: 'nodes is forbidden' };

const FENCE = {
  metadata: { name: 'rollcall-fence' },
  spec: {
    matchConditions: [
      { name: 'c', expression: "request.userInfo.username == 'system:serviceaccount:rollcall:rollcall-coordinator'" },
    ],
    variables: [
      { name: 'ownLabels', expression: "['gitpod.io/ws-daemon_ready_ns_default']" },
      { name: 'servicePrefixes', expression: "['service.rollcall.dev/']" },
    ],
  },
};
const BINDING = { metadata: { name: 'rollcall-fence' }, spec: { policyName: 'rollcall-fence' } };

function evidence(change: Partial<Evidence> = {}): Evidence {
  return {
    namespace: 'rollcall',
    nowMs: NOW,
    version: { value: { gitVersion: 'v1.36.0', major: '1', minor: '36' } },
    admission: { value: ['validatingadmissionpolicies', 'mutatingadmissionpolicies'] },
    nodes: { value: [node([{ key: 'dedicated', effect: 'NoExecute' }])] },
    workloads: { value: [] },
    coordinator: { value: workload('rollcall-coordinator') },
    agent: { value: workload('rollcall-agent') },
    pods: { value: [pod('c-1', 'coordinator'), pod('c-2', 'coordinator'), pod('a-1', 'agent')] },
    config: { value: { servicesAllowedPrefixes: ['service.rollcall.dev/'] } },
    lease: { value: { spec: { holderIdentity: 'c-1_x', renewTime: '2027-03-01T11:59:55Z' } } },
    ca: { value: { metadata: { name: 'ca' }, data: { 'ca.crt': CA } } },
    policies: { value: [FENCE] },
    bindings: { value: [BINDING] },
    mutatingPolicies: { value: [] },
    mutatingBindings: { value: [] },
    crds: { value: ['nodeservices.rollcall.dev', 'nodepoollabelsets.labels.banzaicloud.io'] },
    nodeServices: { value: [] },
    karpenterPools: gone,
    networkPolicies: { value: [] },
    may: async () => ({ value: true }),
    podsWith: async () => ({ value: [{ metadata: { name: 'ws-daemon', namespace: 'default' } }] }),
    ...change,
  };
}

async function findings(change: Partial<Evidence>, checks = CHECKS): Promise<string[]> {
  const { findings: found } = checkReport(await runChecks(checks, evidence(change)), false);
  for (const { cure } of found) expect(cure.length).toBeGreaterThan(10);
  return found.map(({ severity, text }) => `${severity}: ${text}`);
}

const autoscaler = (command: string[]): Workload => ({
  metadata: { name: 'cluster-autoscaler', namespace: 'kube-system' },
  spec: {
    template: {
      spec: { containers: [{ name: 'a', image: 'r.example/autoscaling/cluster-autoscaler:v1.35.0', args: command }] },
    },
  },
});
const gate: Read<Record<string, unknown>> = { value: { readinessGate: 'taint' } };
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
      /fail: The coordinator's account may not patch nodes\/status, patch nodepoollabelsets.labels.banzaicloud.io\/status and /,
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
      { config: { value: { servicesAllowedPrefixes: ['example.com/'] } } },
      /fail: The coordinator is configured for example.com\//,
    ],
    [
      'no installation',
      { coordinator: gone, agent: gone, ca: gone },
      /fail: There is no Deployment rollcall\/rollcall-coordinator/,
    ],
    [
      'an old API server',
      { version: { value: { gitVersion: 'v1.29.3', major: '1', minor: '29+' } }, admission: { value: [] } },
      /warn: API server v1.29.3/,
    ],
    [
      'a NodeService that is not accepted',
      {
        nodeServices: {
          value: [
            {
              metadata: { name: 'ebs' },
              status: { conditions: [{ type: 'Accepted', status: 'False', reason: 'KeyNotAllowed', message: 'no' }] },
            },
          ],
        },
      },
      /fail: The NodeService ebs is not accepted \(KeyNotAllowed\): no/,
    ],
    [
      'taints that Karpenter does not know',
      { config: gate, karpenterPools: { value: [{ metadata: { name: 'default' } }] } },
      /warn: 1 NodePool of Karpenter does not list gitpod.io\/ws-daemon-not-ready: default/,
    ],
    [
      'a Lease that nobody renews',
      { lease: { value: { spec: { holderIdentity: 'c-1_x', renewTime: '2027-03-01T11:55:00Z' } } } },
      /fail: No coordinator leads in rollcall: c-1_x last renewed the Lease 5m ago/,
    ],
    ['a Lease that nobody took', { lease: gone }, /fail: No coordinator leads in rollcall: the Lease has no holder/],
    [
      'pods of a service where the coordinator may not watch',
      {
        nodeServices: { value: [{ metadata: { name: 'ebs' }, spec: { pods: { namespace: 'drivers' } } }] },
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
      'a certificate that somebody else keeps',
      {
        config: { value: { servicesAllowedPrefixes: ['service.rollcall.dev/'], tlsCertFile: '/tls.crt' } },
        ca: gone,
        may: async ({ resource }: Right) => ({ value: resource !== 'secrets' && resource !== 'configmaps' }),
      },
    ],
    [
      'a Lease of another name',
      {
        config: { value: { servicesAllowedPrefixes: ['service.rollcall.dev/'], leaseName: 'mine' } },
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
