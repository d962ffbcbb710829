import type { AgentState, NodeSummary, NodesDocument, ReplicaDocument } from '@rollcall/common/console.ts';
import { guardCure, guardText } from '@rollcall/common/guards.ts';
import { isDisturbed } from '@rollcall/common/node-lifecycle.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { startupWords } from '../text/duration.ts';

export type PoolStatus = {
  pool: string;
  service: string;
  nodes: number;
  ready: number;
  notReady: number;
  unknown: number;
  heldBack: number;
};

export type Status = {
  /** Whether all that is wanted holds. */
  holds: boolean;
  /** The same, as a sentence. */
  answer: string;
  replica: ReplicaDocument;
  nodes: number;
  agents: Readonly<Partial<Record<AgentState, number>>>;
  /** Nodes by the version of their agent. */
  agentVersions: Readonly<Record<string, number>>;
  pools: readonly PoolStatus[];
  findings: readonly Finding[];
};

/** What there is to say about a fleet. `namespace`: that rollcall is in. */
export function statusOf({ replica, nodes }: NodesDocument, namespace = 'rollcall'): Status {
  const agents: Partial<Record<AgentState, number>> = {};
  const agentVersions: Record<string, number> = {};
  for (const { agent, agentVersion } of nodes) {
    agents[agent] = (agents[agent] ?? 0) + 1;
    if (agentVersion !== undefined) agentVersions[agentVersion] = (agentVersions[agentVersion] ?? 0) + 1;
  }
  const findings = [
    ...leaderFindings(replica, nodes),
    ...(replica.leading ? [...guardFindings(replica), ...nodeFindings(replica, nodes, namespace)] : []),
    ...(replica.leading ? [...startingFindings(replica, nodes), ...lifecycleFindings(nodes)] : []),
    ...versionFindings(agentVersions, namespace),
  ];
  const holds = !findings.some(({ severity }) => severity === 'fail');
  const answer = answerOf(holds, findings, { replica, nodes: nodes.length });
  return { holds, answer, replica, nodes: nodes.length, agents, agentVersions, pools: poolsOf(nodes), findings };
}

function answerOf(
  holds: boolean,
  findings: readonly Finding[],
  { replica, nodes }: { replica: ReplicaDocument; nodes: number },
): string {
  const failures = findings.filter(({ severity }) => severity === 'fail').length;
  const warnings = findings.length - failures;
  const also = warnings > 0 ? `; ${count(warnings, 'warning')}` : '';
  if (!replica.leading) return 'The state is unknown: this replica does not lead.';
  if (!holds)
    return `NOT all nodes are as rollcall wants them (${count(nodes, 'node')}): ${count(failures, 'failure')}${also}.`;
  if (replica.dryRun) return `This is a dry run (${count(nodes, 'node')}): rollcall writes nothing${also}.`;
  return `All nodes are as rollcall wants them (${count(nodes, 'node')})${also}.`;
}

function leaderFindings(replica: ReplicaDocument, nodes: readonly NodeSummary[]): Finding[] {
  const findings: Finding[] = [];
  const { leading, leader, dryRun } = replica;
  if (!leading) {
    const who = leader === undefined ? 'no leader is known' : `the leader is ${leader}`;
    const cure = 'leave out --console-url, or pass the one of the leader';
    findings.push({ severity: 'fail', text: `The replica that answered does not lead: ${who}`, cure });
  }
  if (leading && dryRun) {
    const changes = nodes.filter(({ pending }) => pending).length;
    const text = `This is a dry run: ${count(changes, 'node')} would be changed`;
    findings.push({ severity: 'warn', text, cure: 'to write these changes, set coordinator.config.dryRun=false' });
  }
  if (leading && nodes.length === 0) {
    findings.push({
      severity: 'fail',
      text: 'The cluster has no nodes',
      cure: 'check that this is the right cluster',
    });
  }
  return findings;
}

function guardFindings({ guards }: ReplicaDocument): Finding[] {
  return guards.map((guard) => ({ severity: 'fail', text: guardText(guard), cure: guardCure(guard) }));
}

/** Services that nodes wait for since their creation. */
function startingFindings({ now }: ReplicaDocument, nodes: readonly NodeSummary[]): Finding[] {
  const all = nodes
    .filter(isUndisturbed)
    .flatMap(({ name: node, starting = [] }) => starting.map((each) => ({ node, ...each })));
  return [...Map.groupBy(all, ({ service }) => service)].map(([service, found]) => {
    const where = found.map(({ node, checks, ...startup }) => {
      const which = checks.length > 0 ? `, ${checks.length > 1 ? 'checks' : 'check'} ${checks.join(', ')}` : '';
      return `${node} (${startupWords(startup, now)}${which})`;
    });
    return {
      severity: 'warn',
      text: `${service} was never ready on ${count(found.length, 'node')}: ${listed(where, 3)}`,
      cure: `kubectl rollcall why node/${found[0]?.node}`,
    };
  });
}

/** Nodes that are drained, maintained or shut down, and those that will be. */
function lifecycleFindings(nodes: readonly NodeSummary[]): Finding[] {
  const all = nodes.flatMap(({ name: node, lifecycle = [] }) => lifecycle.map((type) => ({ node, type })));
  return [...Map.groupBy(all, ({ type }) => type)].map(([type, found]) => {
    const names = found.map(({ node }) => node);
    const quiet = isDisturbed([type]) ? '; silent agents and services that are not ready there are not listed' : '';
    return {
      severity: 'warn',
      text: `${type} is True on ${count(names.length, 'node')}: ${listed(names, 3)}${quiet}`,
      cure: `kubectl describe node ${names[0]}`,
    };
  });
}

/** Whether what fails on the node is worth a finding. */
function isUndisturbed({ lifecycle = [] }: NodeSummary): boolean {
  return !isDisturbed(lifecycle);
}

type Kind = {
  severity: Finding['severity'];
  of: (node: NodeSummary) => readonly string[];
  text: (what: string, nodes: string) => string;
  cure: (found: { node: string; what: string; namespace: string }) => string;
};

const YES: readonly string[] = [''];
const NO: readonly string[] = [];

/** Services that are not ready, but those that the node waits for since its creation. */
function notReady({ services, starting = [] }: NodeSummary): string[] {
  return Object.keys(services).filter(
    (name) => services[name] === 'not-ready' && !starting.some(({ service }) => service === name),
  );
}

const KINDS: readonly Kind[] = [
  {
    severity: 'fail',
    of: (node) => (node.agent === 'silent' && node.guard === undefined && isUndisturbed(node) ? YES : NO),
    text: (_what, nodes) => `The agent is silent on ${nodes}`,
    cure: ({ node }) => `kubectl get pods -A -o wide --field-selector spec.nodeName=${node}`,
  },
  {
    severity: 'warn',
    of: (node) => (node.agent === 'absent' && isUndisturbed(node) ? YES : NO),
    text: (_what, nodes) => `There is no agent on ${nodes}`,
    cure: ({ namespace }) =>
      `kubectl -n ${namespace} describe daemonset rollcall-agent; check its node selector and tolerations`,
  },
  {
    severity: 'fail',
    of: ({ agent }) => (agent === 'unheard' ? YES : NO),
    text: (_what, nodes) => `The agent has not reported to this leader yet on ${nodes}`,
    cure: () => 'wait, since agents report within a minute',
  },
  {
    severity: 'fail',
    of: ({ contested }) => contested,
    text: (key, nodes) => `Another writer keeps changing ${key} on ${nodes}`,
    cure: ({ node, what: key }) => `stop the other writer; to see who it is: kubectl rollcall why node/${node} ${key}`,
  },
  {
    severity: 'fail',
    of: ({ skipped }) => skipped,
    text: (key, nodes) => `${key} cannot be written on ${nodes}`,
    cure: ({ node, what: key }) => `to see the owner or the error: kubectl rollcall why node/${node} ${key}`,
  },
  {
    severity: 'warn',
    of: ({ left = [] }) => left,
    text: (key, nodes) => `Another program set ${key} for a pool, and rollcall leaves it on ${nodes}`,
    cure: ({ node, what: key }) =>
      `to see why: kubectl rollcall why node/${node} ${key}; to remove it: kubectl label node ${node} ${key}-, or poolsRemovedLabels`,
  },
  {
    severity: 'warn',
    of: (node) => (isUndisturbed(node) ? notReady(node) : NO),
    text: (service, nodes) => `${service} is not ready on ${nodes}`,
    cure: ({ node }) => `kubectl rollcall why node/${node}`,
  },
  {
    severity: 'warn',
    of: ({ heldBack }) => heldBack,
    text: (service, nodes) => `${service} became not ready too often, and is held back on ${nodes}`,
    cure: ({ node }) => `kubectl rollcall why node/${node}`,
  },
];

function nodeFindings({ dryRun }: ReplicaDocument, nodes: readonly NodeSummary[], namespace: string): Finding[] {
  const findings = KINDS.flatMap((kind) => {
    const found = new Map<string, string[]>();
    for (const node of nodes)
      for (const what of kind.of(node)) found.set(what, [...(found.get(what) ?? []), node.name]);
    return [...found].map(([what, names]): Finding => {
      const where = `${count(names.length, 'node')}: ${listed(names, 3)}`;
      return {
        severity: kind.severity,
        text: kind.text(what, where),
        cure: kind.cure({ node: names[0] ?? '', what, namespace }),
      };
    });
  });
  const pending = nodes.filter((node) => node.pending);
  if (pending.length > 0 && !dryRun) {
    const text = `${count(pending.length, 'node')} ${pending.length === 1 ? 'has' : 'have'} pending writes: ${listed(
      pending.map(({ name }) => name),
      3,
    )}`;
    findings.push({
      severity: 'fail',
      text,
      cure: 'wait, or pass --wait; if it lasts, see the log of the coordinator',
    });
  }
  return findings;
}

function versionFindings(versions: Readonly<Record<string, number>>, namespace: string): Finding[] {
  const known = Object.entries(versions).sort((a, b) => b[1] - a[1]);
  if (known.length < 2) return [];
  const text = `Agents run ${known.length} versions: ${listed(known.map(([version, nodes]) => `${version} on ${count(nodes, 'node')}`))}`;
  return [{ severity: 'warn', text, cure: `kubectl -n ${namespace} rollout status daemonset/rollcall-agent` }];
}

function poolsOf(nodes: readonly NodeSummary[]): PoolStatus[] {
  const pools = new Map<string, PoolStatus>();
  for (const { pool = '-', services, heldBack } of nodes) {
    for (const [service, state] of Object.entries(services)) {
      const id = `${pool}\n${service}`;
      const row = pools.get(id) ?? { pool, service, nodes: 0, ready: 0, notReady: 0, unknown: 0, heldBack: 0 };
      pools.set(id, row);
      row.nodes += 1;
      if (state === 'ready') row.ready += 1;
      else if (state === 'not-ready') row.notReady += 1;
      else row.unknown += 1;
      if (heldBack.includes(service)) row.heldBack += 1;
    }
  }
  return [...pools.values()].sort((a, b) => compare(a.pool, b.pool) || compare(a.service, b.service));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
