import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Check, runChecks } from './check.ts';
import { checkReport } from './check-text.ts';
import { CHECKS } from './checks.ts';
import type { Evidence } from './evidence.ts';
import type { NodeObject, PodObject, Policy, Workload } from './objects.ts';

const NOW = Date.parse('2027-03-01T12:00:00Z');
export const IMAGE = 'rollcall:0.1.0';

/** Valid from November 2026 to February 2035. */
export const CA = `-----BEGIN CERTIFICATE-----
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
export const EXPIRED_MS = Date.parse('2035-02-12T00:00:00Z');

export function workload(name: string, change: Partial<NonNullable<Workload['spec']>> = {}, image = IMAGE): Workload {
  const template = { spec: { containers: [{ name, image }], tolerations: [{ operator: 'Exists' }], nodeSelector: {} } };
  return {
    metadata: { name, namespace: 'rollcall' },
    spec: { replicas: 2, template, ...change },
    status: { readyReplicas: 2, desiredNumberScheduled: 3, numberReady: 3 },
  };
}

export function pod(
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
export const gone = { missing: true, problem: 'not found' };
export const forbidden = { missing: false, problem: 'nodes is forbidden' };

/** What the chart makes with `gitpod.enabled`. */
const [MANIFESTS, POLICIES] = ['manifests/install.yaml', 'policies/fence.yaml'].map((file) =>
  parseAllDocuments(readFileSync(path.resolve(import.meta.dirname, '../../../../deploy', file), 'utf8')).map(
    (document) => document.toJS() as { kind: string; metadata: { name: string } } | null,
  ),
);
export const FENCE = POLICIES?.find((object) => object?.kind === 'ValidatingAdmissionPolicy') as Policy;
const FILE = MANIFESTS?.find(
  (object) => object?.kind === 'ConfigMap' && object.metadata.name === 'rollcall-coordinator',
) as unknown as { data: { 'coordinator.yaml': string } };
const { gitpod: _, ...config } = parse(FILE.data['coordinator.yaml']) as Record<string, unknown>;
export const CONFIG = config;
const BINDING = { metadata: { name: 'rollcall-fence' }, spec: { policyName: 'rollcall-fence' } };

export function evidence(change: Partial<Evidence> = {}): Evidence {
  return {
    namespace: 'rollcall',
    nowMs: NOW,
    clockAheadMs: 0,
    version: { value: { gitVersion: 'v1.36.0', major: '1', minor: '36' } },
    admission: { value: ['validatingadmissionpolicies', 'mutatingadmissionpolicies'] },
    nodes: { value: [node([{ key: 'dedicated', effect: 'NoExecute' }])] },
    workloads: { value: [] },
    daemonSets: { value: [] },
    coordinator: { value: workload('rollcall-coordinator') },
    agent: { value: workload('rollcall-agent') },
    pods: { value: [pod('c-1', 'coordinator'), pod('c-2', 'coordinator'), pod('a-1', 'agent')] },
    config: { value: CONFIG },
    lease: { value: { spec: { holderIdentity: 'c-1_x', renewTime: '2027-03-01T11:59:55Z' } } },
    ca: { value: { metadata: { name: 'ca' }, data: { 'ca.crt': CA } } },
    configMaps: { value: [] },
    serviceAccounts: { value: [{ metadata: { name: 'default' } }, { metadata: { name: 'rollcall-coordinator' } }] },
    policies: { value: [FENCE] },
    bindings: { value: [BINDING] },
    mutatingPolicies: { value: [] },
    mutatingBindings: { value: [] },
    crds: { value: ['nodeservices.rollcall.dev', 'nodepoollabels.rollcall.dev'] },
    nodeServices: { value: [] },
    nodeHolds: gone,
    karpenterPools: gone,
    readinessRules: gone,
    networkPolicies: { value: [] },
    may: async () => ({ value: true }),
    podsWith: async () => ({ value: [{ metadata: { name: 'ws-daemon', namespace: 'default' } }] }),
    ...change,
  };
}

export async function findings(change: Partial<Evidence>, checks = CHECKS): Promise<string[]> {
  const { findings: found } = checkReport(await runChecks(checks, evidence(change)), false);
  for (const { cure } of found) expect(cure.length).toBeGreaterThan(10);
  return found.map(({ severity, text }) => `${severity}: ${text}`);
}

/** What one check comes to: what is well, or `fail` and `warn` with the text and the cure of each finding. */
export async function resultOf(check: Check, change: Partial<Evidence> = {}): Promise<string | string[]> {
  const result = await check(evidence(change));
  if ('well' in result) return result.well;
  return result.findings.flatMap(({ severity, text, cure }) => [`${severity}: ${text}`, cure]);
}
