import type {
  AuditDocument,
  KeyDocument,
  NodeDocument,
  NodeServiceDocument,
  NodeSummary,
  NodesDocument,
  ReplicaDocument,
} from '@rollcall/common/console.ts';
import type { Terminal } from '../text/page.ts';

const NOW = '2026-03-01T12:00:00Z';
export const READY_LABEL = 'gitpod.io/ws-daemon_ready_ns_default';

/** As golden texts are made for. */
export const TERMINALS: Readonly<Record<string, Terminal>> = {
  '80': { columns: 80, colors: false },
  '200': { columns: 200, colors: false },
  piped: { columns: undefined, colors: false },
};

export function replica(change: Partial<ReplicaDocument> = {}): ReplicaDocument {
  return {
    name: 'rollcall-coordinator-7c9d5b8f4-abcde',
    version: '0.1.0',
    leading: true,
    guards: [],
    heldWithdrawals: [],
    dryRun: false,
    readinessGate: 'label',
    staleAfterSeconds: 30,
    now: NOW,
    ...change,
  };
}

export function summary(change: Partial<NodeSummary> = {}): NodeSummary {
  return {
    name: 'node-1',
    agent: 'fresh',
    agentVersion: '0.1.0',
    services: { 'ws-daemon': 'ready', 'registry-facade': 'ready' },
    heldBack: [],
    contested: [],
    setAside: [],
    pending: false,
    ...change,
  };
}

/** A fleet in three pools; `troubled`: with one of each trouble, as far as there are nodes for it. */
export function fleet(size: number, { troubled = false } = {}): NodesDocument {
  const troubles: Partial<NodeSummary>[] = [
    { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' } },
    { agent: 'silent', services: { 'ws-daemon': 'not-ready', 'registry-facade': 'not-ready' } },
    { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' }, heldBack: ['ws-daemon'] },
    { contested: [READY_LABEL] },
    { setAside: ['example.com/tier'] },
    { agent: 'unheard', services: { 'ws-daemon': 'unknown', 'registry-facade': 'unknown' } },
    { pending: true },
    { agentVersion: '0.0.9' },
  ];
  const pools = ['workspaces-regular-europe-west1', 'headless', 'services'];
  const nodes = Array.from({ length: size }, (_, index) =>
    summary({ name: `node-${index + 1}`, pool: pools[index % 3] ?? '', ...(troubled ? troubles[index] : {}) }),
  );
  return { replica: replica(troubled ? { guards: ['pool headless'] } : {}), nodes };
}

export function service(change: Partial<NodeServiceDocument> = {}): NodeServiceDocument {
  const evidence = 'tcp 10.0.0.7:8080 accepted the connection';
  return {
    name: 'ws-daemon',
    state: 'ready',
    since: '2026-03-01T11:00:00Z',
    reason: `pod default/ws-daemon-abc is Ready; ${evidence}`,
    pods: [{ pod: 'default/ws-daemon-abc', ready: true, terminating: false }],
    probe: { ready: true, since: '2026-03-01T11:00:00Z', evidence },
    ...change,
  };
}

export function keyOf(change: Partial<KeyDocument> = {}): KeyDocument {
  return {
    kind: 'label',
    key: READY_LABEL,
    service: 'ws-daemon',
    stance: 'want',
    value: 'true',
    onNode: 'true',
    reason: 'pod default/ws-daemon-abc is Ready; tcp 10.0.0.7:8080 accepted the connection',
    labeler: 'readiness',
    ownership: 'exclusive',
    since: '2026-03-01T11:00:00Z',
    ...change,
  };
}

export function nodePage(change: Partial<NodeDocument> = {}): NodeDocument {
  return {
    replica: replica(),
    name: 'node-7',
    uid: 'u',
    pool: 'headless',
    agent: { state: 'fresh', version: '0.1.0', lastReportSecondsAgo: 2.5 },
    services: [service()],
    keys: [keyOf()],
    workspaces: [],
    changes: [],
    ...change,
  };
}

export function ledger(change: Partial<AuditDocument> = {}): AuditDocument {
  const entry = { node: 'node-7', kind: 'label', key: READY_LABEL, service: 'ws-daemon', times: 3 } as const;
  const evidence = 'tcp 10.0.0.7:8080 refused the connection twice (ECONNREFUSED)';
  return {
    replica: replica({ dryRun: true }),
    since: '2026-02-27T12:00:00Z',
    nodes: 120,
    lieSecondsPerNodeDay: 41.3,
    keys: [
      {
        kind: 'label',
        key: READY_LABEL,
        service: 'ws-daemon',
        saidReadySeconds: 14_400,
        saidNotReadySeconds: 3.25,
        nodesNow: 1,
      },
      { kind: 'taint', key: 'readiness.k8s.io/ebs', saidReadySeconds: 0, saidNotReadySeconds: 0.02, nodesNow: 0 },
    ],
    entries: [
      {
        ...entry,
        direction: 'said-not-ready',
        cause: 'dry-run',
        seconds: 3.25,
        evidence: 'pod default/ws-daemon-abc is Ready',
      },
      { ...entry, direction: 'said-ready', cause: 'dry-run', seconds: 14_400, since: '2026-03-01T08:00:00Z', evidence },
    ],
    ...change,
  };
}
