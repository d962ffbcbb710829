import { withCauses } from './causes.ts';
import type {
  CheckDocument,
  KeyDocument,
  NodeDocument,
  NodeServiceDocument,
  NodeSummary,
  ReplicaDocument,
} from './console.ts';

/*
 * Documents of the console for the tests of all who read them. All is well in them, but for what is told.
 */

const NOW = '2026-03-01T12:00:00Z';
const SINCE = '2026-03-01T11:00:00Z';
const EVIDENCE = 'tcp 10.0.0.7:8080 accepted the connection';
const REASON = `pod default/ws-daemon-abc is Ready; ${EVIDENCE}`;

export const READY_LABEL = 'gitpod.io/ws-daemon_ready_ns_default';

export function replicaDocument(change: Partial<ReplicaDocument> = {}): ReplicaDocument {
  return {
    name: 'rollcall-coordinator-7c9d5b8f4-abcde',
    version: '0.1.0',
    leading: true,
    guards: [],
    dryRun: false,
    readinessGate: 'label',
    staleAfterSeconds: 30,
    now: NOW,
    ...change,
  };
}

export function nodeSummary(change: Partial<NodeSummary> = {}): NodeSummary {
  return {
    name: 'node-1',
    agent: 'fresh',
    agentVersion: '0.1.0',
    services: { 'ws-daemon': 'ready', 'registry-facade': 'ready' },
    heldBack: [],
    contested: [],
    skipped: [],
    pending: false,
    ...change,
  };
}

export function nodeServiceDocument(change: Partial<NodeServiceDocument> = {}): NodeServiceDocument {
  return {
    name: 'ws-daemon',
    state: 'ready',
    since: SINCE,
    reason: REASON,
    checks: [POD_CHECK, checkDocument()],
    pods: [{ pod: 'default/ws-daemon-abc', ready: true, terminating: false }],
    steps: [],
    ...change,
  };
}

const POD_CHECK: CheckDocument = {
  name: 'pod',
  state: 'ready',
  reason: 'pod default/ws-daemon-abc is Ready',
  cause: 'evidence',
};

export function checkDocument(change: Partial<CheckDocument> = {}): CheckDocument {
  return { name: 'probe', state: 'ready', reason: EVIDENCE, cause: 'agent', ...change };
}

/** Of a key alone; the document of a node gives its keys the causes that they have there. */
const WELL = { isWell: true, headline: 'It is as it should be', next: 'Nothing needs to change.' };

export function keyDocument(change: Partial<KeyDocument> = {}): KeyDocument {
  return {
    kind: 'label',
    key: READY_LABEL,
    service: 'ws-daemon',
    cause: WELL,
    agrees: 'yes',
    stance: 'present',
    value: 'true',
    onNode: 'true',
    reason: REASON,
    labeler: 'readiness',
    ownership: 'exclusive',
    since: SINCE,
    ...change,
  };
}

export function nodeDocument(change: Partial<NodeDocument> = {}): NodeDocument {
  return withCauses({
    replica: replicaDocument(),
    name: 'node-7',
    uid: 'u',
    pool: 'headless',
    agent: { state: 'fresh', version: '0.1.0', lastReportSecondsAgo: 2.5 },
    services: [nodeServiceDocument()],
    keys: [keyDocument()],
    workspaces: [],
    changes: [],
    ...change,
  });
}
