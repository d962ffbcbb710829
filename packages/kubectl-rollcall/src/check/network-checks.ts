import type { Finding } from '../findings.ts';
import { listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { hasAgents, known, podsOf } from './evidence.ts';
import type { NetworkPolicy, PodObject, Requirement } from './objects.ts';

const REPORTS_PORT = 8443;

export const networkOpen: Check = (evidence) => {
  if (!hasAgents(evidence.config)) return { findings: [] };
  const policies = known(evidence.networkPolicies);
  const findings = [
    ...blocked(policies, podsOf(evidence, 'coordinator'), 'Ingress'),
    ...blocked(policies, podsOf(evidence, 'agent'), 'Egress'),
  ];
  return result(findings, 'no NetworkPolicy blocks the reports of agents');
};

/** Pods that some policy isolates, and that none opens for reports. */
function blocked(
  policies: readonly NetworkPolicy[],
  pods: readonly PodObject[],
  direction: 'Ingress' | 'Egress',
): Finding[] {
  const [pod] = pods;
  if (!pod) return [];
  const isolating = policies.filter((policy) => selectsPod(policy, pod) && typesOf(policy).includes(direction));
  if (isolating.length === 0) return [];
  const rules = isolating.flatMap(({ spec }) => (direction === 'Ingress' ? spec?.ingress : spec?.egress) ?? []);
  const isOpen = rules.some(
    ({ ports }) => !ports || ports.length === 0 || ports.some(({ port, endPort }) => covers(port, endPort)),
  );
  if (isOpen) return [];
  const where = direction === 'Ingress' ? 'to the coordinators' : 'from the agents';
  const names = listed(isolating.map(({ metadata }) => metadata.name));
  const text = `NetworkPolicies block the reports ${where} (TCP ${REPORTS_PORT}): ${names}`;
  return [
    {
      severity: 'fail',
      text,
      cure: 'set networkPolicy.enabled=true, or allow TCP 8443 from the agents in your own policy',
    },
  ];
}

function covers(port: number | string | undefined, endPort: number | undefined): boolean {
  if (port === undefined || port === 'reports') return true;
  const from = Number(port);
  return from <= REPORTS_PORT && REPORTS_PORT <= (endPort ?? from);
}

function selectsPod({ spec }: NetworkPolicy, { metadata: { labels = {} } }: PodObject): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.podSelector ?? {};
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => isMet(requirement, labels))
  );
}

function isMet({ key, operator, values = [] }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[key];
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  return (value !== undefined) === (operator === 'Exists');
}

function typesOf({ spec }: NetworkPolicy): string[] {
  return spec?.policyTypes ?? (spec?.egress ? ['Ingress', 'Egress'] : ['Ingress']);
}
