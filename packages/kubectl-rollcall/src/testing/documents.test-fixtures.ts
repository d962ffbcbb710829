import { nodeSummary, READY_LABEL, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { AuditDocument, NodeSummary, NodesDocument } from '@rollcall/common/console.ts';
import type { Terminal } from '../text/page.ts';

/** As golden texts are made for. */
export const TERMINALS: Readonly<Record<string, Terminal>> = {
  '80': { columns: 80, colors: false },
  '200': { columns: 200, colors: false },
  piped: { columns: undefined, colors: false },
};

/** As wide as it likes, with colors. */
export const COLORED: Terminal = { columns: undefined, colors: true };

const TONES: Readonly<Record<string, string>> = { 32: 'good', 31: 'bad', 33: 'doubtful', 2: 'quiet', 1: 'strong' };

/** Text for a terminal with colors, with its tones in words: `<bad>no</>`. */
export function toned(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with one.
  return text.replace(/\u001b\[(\d+)m/g, (_all, code: string) => (TONES[code] ? `<${TONES[code]}>` : '</>'));
}

/** A fleet in three pools; `troubled`: with one of each trouble, as far as there are nodes for it. */
export function fleet(size: number, { troubled = false } = {}): NodesDocument {
  const troubles: Partial<NodeSummary>[] = [
    { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' } },
    { agent: 'silent', services: { 'ws-daemon': 'not-ready', 'registry-facade': 'not-ready' } },
    { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' }, heldBack: ['ws-daemon'] },
    { contested: [READY_LABEL] },
    { skipped: ['example.com/tier'] },
    { agent: 'unheard', services: { 'ws-daemon': 'unknown', 'registry-facade': 'unknown' } },
    { pending: true },
    { agentVersion: '0.0.9' },
  ];
  const pools = ['workspaces-regular-europe-west1', 'headless', 'services'];
  const nodes = Array.from({ length: size }, (_, index) =>
    nodeSummary({ name: `node-${index + 1}`, pool: pools[index % 3] ?? '', ...(troubled ? troubles[index] : {}) }),
  );
  return {
    replica: replicaDocument(troubled ? { guards: [{ subject: 'agents', of: 'pool headless', nodes: 3 }] } : {}),
    nodes,
  };
}

export function ledger(change: Partial<AuditDocument> = {}): AuditDocument {
  const entry = { node: 'node-7', kind: 'label', key: READY_LABEL, service: 'ws-daemon', times: 3 } as const;
  const evidence = 'tcp 10.0.0.7:8080 refused the connection twice (ECONNREFUSED)';
  return {
    replica: replicaDocument({ dryRun: true }),
    since: '2026-02-27T12:00:00Z',
    nodes: 120,
    driftSecondsPerNodeDay: 41.3,
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
