import {
  checkDocument,
  keyDocument,
  nodeDocument as nodeDocumentOf,
  nodeServiceDocument,
  replicaDocument as replicaOf,
  nodeSummary as summaryOf,
} from '@rollcall/common/console.test-fixtures.ts';
import type {
  AuditDocument,
  AuditEntry,
  KeyDocument,
  NodeDocument,
  NodeSummary,
  PlannedNode,
  ReplicaDocument,
  ServiceDocument,
  ServiceState,
} from '@rollcall/common/console.ts';

export const SERVICES = ['ws-daemon', 'registry-facade'] as const;

const SINCE = new Date(Date.now() - 192_000).toISOString();

const VERSION = '1.4.0';

/** A node on which all is well, but for what is told. */
export function nodeSummary(name: string, change: Partial<NodeSummary> = {}): NodeSummary {
  return summaryOf({ name, pool: 'general', agentVersion: VERSION, ...change });
}

export function replicaDocument(change: Partial<ReplicaDocument> = {}): ReplicaDocument {
  return replicaOf({ name: 'rollcall-coordinator-7d9', version: VERSION, now: new Date().toISOString(), ...change });
}

/** What the console would say about a node of which it said this in a line. */
export function nodeDocument(summary: NodeSummary, replica: ReplicaDocument): NodeDocument {
  const { name, pool, agent, agentVersion, guard, heldBack } = summary;
  const services = Object.entries(summary.services);
  return nodeDocumentOf({
    replica,
    name,
    uid: '2d1f3c1e-6a55-4a0e-9c38-0f7f5a1b2c3d',
    pool,
    agent: {
      state: agent,
      version: agentVersion,
      lastReportSecondsAgo: 2.4,
      ...(guard === undefined ? {} : { guard }),
    },
    services: services.map(([service, state]) =>
      nodeServiceDocument({
        name: service,
        state,
        since: SINCE,
        reason: reasonOf(state),
        ...(heldBack.includes(service)
          ? { heldBack: { until: new Date(Date.now() + 90_000).toISOString(), falls: 4 } }
          : {}),
        pods: [{ pod: `default/${service}-${name.slice(0, 12)}`, ready: true, terminating: false }],
        checks: [checkDocument({ state, reason: evidenceOf(state) })],
      }),
    ),
    keys: services.map(([service, state]) => readyLabel(service, state)),
    changes: services.flatMap(([service, state]) =>
      state === 'ready'
        ? []
        : [{ at: SINCE, kind: 'label' as const, key: labelOf(service), from: 'true', reason: reasonOf(state) }],
    ),
  });
}

function readyLabel(service: string, state: ServiceState): KeyDocument {
  const stance = { ready: 'present', 'not-ready': 'absent', unknown: 'keep' } as const;
  return keyDocument({
    key: labelOf(service),
    service,
    stance: stance[state],
    onNode: state === 'not-ready' ? null : 'true',
    reason: reasonOf(state),
    since: SINCE,
  });
}

function labelOf(service: string): string {
  return `gitpod.io/${service}_ready_ns_default`;
}

function reasonOf(state: ServiceState): string {
  if (state === 'ready') return 'pod, probe and agent agree';
  return state === 'unknown' ? 'the agent was not heard yet' : 'the probe fails';
}

function evidenceOf(state: ServiceState): string {
  return state === 'ready'
    ? 'tcp 10.0.0.7:8080 accepted'
    : 'tcp 10.0.0.7:8080 refused the connection twice (ECONNREFUSED)';
}

export function serviceDocument(name: string, change: Partial<ServiceDocument> = {}): ServiceDocument {
  return {
    name,
    origin: 'built-in',
    accepted: true,
    mode: 'Continuous',
    publish: { label: labelOf(name) },
    checks: [
      { name: 'pod', what: 'a pod in default on the node is Ready and not terminating' },
      { name: 'probe', what: "the agent's probe succeeds: tcp, port 8080" },
    ],
    nodes: { ready: 0, notReady: 0, unknown: 0 },
    ...change,
  };
}

export function plannedNode(name: string, key: string, reason: string, isRemoved = false): PlannedNode {
  const change = isRemoved ? { from: 'true' } : { to: 'true' };
  return { name, changes: [{ kind: 'label', key, reason, ...change }], reasons: {} };
}

export function auditDocument(
  nodes: number,
  change: Partial<AuditDocument> = {},
): Omit<AuditDocument, 'replica' | 'entries'> {
  return {
    since: new Date(Date.now() - 86_400_000 * 2.2).toISOString(),
    nodes,
    driftSecondsPerNodeDay: 0.42,
    keys: SERVICES.map((service, index) => ({
      kind: 'label',
      key: labelOf(service),
      service,
      saidReadySeconds: 812 / (index + 1),
      saidNotReadySeconds: 95 * index,
      nodesNow: 1 - index,
    })),
    ...change,
  };
}

export function auditEntry(node: string, change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    node,
    kind: 'label',
    key: labelOf('ws-daemon'),
    service: 'ws-daemon',
    direction: 'said-ready',
    cause: 'unwritten',
    seconds: 3.4,
    times: 2,
    evidence: 'tcp 10.0.0.7:8080 refused the connection twice (ECONNREFUSED)',
    ...change,
  };
}
