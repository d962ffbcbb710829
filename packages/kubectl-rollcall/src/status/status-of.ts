import type {
  AgentState,
  NodeSummary,
  NodesDocument,
  RefusedObject,
  ReplicaDocument,
  ServiceState,
} from '@rollcall/common/console.ts';
import { startupWords } from '@rollcall/common/duration.ts';
import { guardCure, guardText } from '@rollcall/common/guards.ts';
import { isDisturbed } from '@rollcall/common/node-lifecycle.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';

export type PoolStatus = {
  pool: string;
  service: string;
  nodes: number;
  ready: number;
  notReady: number;
  unknown: number;
  heldBack: number;
};

/** What a finding is about: whether rollcall's work is done, or whether services are ready. */
export const QUESTIONS = ['rollcall', 'services'] as const;
export type Question = (typeof QUESTIONS)[number];

export type StatusFinding = Finding & { about: Question };

export type Status = {
  /** Whether rollcall's work is done: nodes have every key that rollcall wants, and agents are heard. */
  holds: boolean;
  /** The same, as a sentence. */
  answer: string;
  /** Whether every service is ready on every node that waits for it, except on nodes that are drained. */
  services: { ready: boolean; answer: string };
  replica: ReplicaDocument;
  nodes: number;
  agents: Readonly<Partial<Record<AgentState, number>>>;
  /** Nodes by the version of their agent. */
  agentVersions: Readonly<Record<string, number>>;
  pools: readonly PoolStatus[];
  findings: readonly StatusFinding[];
};

/** What there is to say about a fleet. `namespace`: that rollcall is in. */
export function statusOf(
  { replica, nodes, refused = [], nowhere = [] }: NodesDocument,
  namespace = 'rollcall',
): Status {
  const agents: Partial<Record<AgentState, number>> = {};
  const agentVersions: Record<string, number> = {};
  for (const { agent, agentVersion } of nodes) {
    agents[agent] = (agents[agent] ?? 0) + 1;
    if (agentVersion !== undefined) agentVersions[agentVersion] = (agentVersions[agentVersion] ?? 0) + 1;
  }
  const findings = [
    ...aboutRollcall(leaderFindings(replica, nodes)),
    ...(replica.leading ? [...refused.map(refusedFinding), ...nowhere.map(nowhereFinding)] : []),
    ...(replica.leading ? [...aboutRollcall(guardFindings(replica)), ...nodeFindings(replica, nodes, namespace)] : []),
    ...(replica.leading ? [...startingFindings(replica, nodes), ...aboutRollcall(lifecycleFindings(nodes))] : []),
    ...aboutRollcall(versionFindings(agentVersions, namespace)),
  ];
  const holds = !findings.some(({ severity, about }) => severity === 'fail' && about === 'rollcall');
  const answer = answerOf(findings, { replica, nodes: nodes.length });
  const services = servicesAnswer({ replica, nodes, refused });
  return {
    holds,
    answer,
    services,
    replica,
    nodes: nodes.length,
    agents,
    agentVersions,
    pools: poolsOf(nodes),
    findings,
  };
}

/** Whether the answer to each of these questions is yes. */
export function isAllWell({ holds, services }: Status, questions: readonly Question[]): boolean {
  const answers = { rollcall: holds, services: services.ready };
  return questions.every((question) => answers[question]);
}

function aboutRollcall(findings: readonly Finding[]): StatusFinding[] {
  return findings.map((finding) => ({ ...finding, about: 'rollcall' }));
}

function answerOf(
  all: readonly StatusFinding[],
  { replica, nodes }: { replica: ReplicaDocument; nodes: number },
): string {
  const findings = all.filter(({ about }) => about === 'rollcall');
  const failures = findings.filter(({ severity }) => severity === 'fail').length;
  const warnings = findings.length - failures;
  const also = warnings > 0 ? `; ${count(warnings, 'warning')}` : '';
  if (!replica.leading) return 'The state is unknown: this replica does not lead.';
  if (failures > 0)
    return `The work of rollcall is NOT done (${count(nodes, 'node')}): ${count(failures, 'failure')}${also}.`;
  if (replica.dryRun) return `This is a dry run (${count(nodes, 'node')}): rollcall writes nothing${also}.`;
  return `The work of rollcall is done (${count(nodes, 'node')})${also}.`;
}

/** A service that is unknown on a node is not known to be ready there. */
function servicesAnswer({ replica, nodes, refused = [] }: NodesDocument): Status['services'] {
  if (!replica.leading) return { ready: false, answer: 'Whether services are ready is unknown.' };
  const others = refused.filter(({ kind, dryRun }) => kind === 'NodeService' && !dryRun).map(({ name }) => name);
  const all = new Set([...nodes.flatMap(({ services }) => Object.keys(services)), ...others]);
  const failing = nodes
    .filter(isUndisturbed)
    .flatMap(({ services }) => Object.keys(services).filter((name) => services[name] !== 'ready'));
  const names = [...new Set([...failing, ...others])].sort();
  const of = count(all.size, 'service');
  if (names.length > 0) {
    return { ready: false, answer: `NOT all services are ready (${names.length} of ${of} not): ${listed(names)}.` };
  }
  if (all.size === 0) return { ready: true, answer: 'No service is checked on any node.' };
  return { ready: true, answer: `All services are ready (${of}).` };
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

function refusedFinding({ kind, name, namespace, message, dryRun }: RefusedObject): StatusFinding {
  const isService = kind === 'NodeService';
  const describe = `kubectl${namespace === undefined ? '' : ` -n ${namespace}`} describe ${kind.toLowerCase()} ${name}`;
  return {
    severity: dryRun ? 'warn' : 'fail',
    about: isService ? 'services' : 'rollcall',
    text: `The ${kind} ${name} is not in force: ${message}`,
    cure: isService ? `kubectl rollcall why nodeservice/${name}` : describe,
  };
}

function nowhereFinding(name: string): StatusFinding {
  const cure = `kubectl rollcall why nodeservice/${name}`;
  return { severity: 'warn', about: 'services', text: `The nodeSelector of ${name} selects no node`, cure };
}

/** Services that nodes wait for since their creation. */
function startingFindings({ now }: ReplicaDocument, nodes: readonly NodeSummary[]): StatusFinding[] {
  const all = nodes
    .filter(isUndisturbed)
    .flatMap(({ name: node, starting = [] }) => starting.map((each) => ({ node, ...each })));
  return [...Map.groupBy(all, ({ service }) => service)].map(([service, found]) => {
    const where = found.map(({ node, checks, ...startup }) => {
      const which = checks.length > 0 ? `, ${checks.length > 1 ? 'checks' : 'check'} ${checks.join(', ')}` : '';
      return `${node} (${startupWords(startup, now)}${which})`;
    });
    return {
      severity: 'fail',
      about: 'services',
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
  /** Defaults to rollcall. */
  about?: Question;
  of: (node: NodeSummary) => readonly string[];
  text: (what: string, nodes: string) => string;
  cure: (found: { node: string; what: string; namespace: string }) => string;
};

const YES: readonly string[] = [''];
const NO: readonly string[] = [];

/** Services in a state, but those that the node waits for since its creation. */
function servicesIn(state: ServiceState, { services, starting = [] }: NodeSummary): string[] {
  return Object.keys(services).filter(
    (name) => services[name] === state && !starting.some(({ service }) => service === name),
  );
}

/** Other findings name agents that are not heard, of which services are unknown. */
function isAgentFound({ agent }: NodeSummary): boolean {
  return agent !== 'unheard' && agent !== 'silent';
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
    severity: 'fail',
    about: 'services',
    of: (node) => (isUndisturbed(node) ? servicesIn('not-ready', node) : NO),
    text: (service, nodes) => `${service} is not ready on ${nodes}`,
    cure: ({ node }) => `kubectl rollcall why node/${node}`,
  },
  {
    severity: 'fail',
    about: 'services',
    of: (node) => (isUndisturbed(node) && isAgentFound(node) ? servicesIn('unknown', node) : NO),
    text: (service, nodes) => `Whether ${service} is ready is unknown on ${nodes}`,
    cure: ({ node }) => `kubectl rollcall why node/${node}`,
  },
  {
    severity: 'warn',
    about: 'services',
    of: ({ heldBack }) => heldBack,
    text: (service, nodes) => `${service} became not ready too often, and is held back on ${nodes}`,
    cure: ({ node }) => `kubectl rollcall why node/${node}`,
  },
];

function nodeFindings({ dryRun }: ReplicaDocument, nodes: readonly NodeSummary[], namespace: string): StatusFinding[] {
  const findings = KINDS.flatMap((kind) => {
    const found = new Map<string, string[]>();
    for (const node of nodes)
      for (const what of kind.of(node)) found.set(what, [...(found.get(what) ?? []), node.name]);
    return [...found].map(([what, names]): StatusFinding => {
      const where = `${count(names.length, 'node')}: ${listed(names, 3)}`;
      return {
        severity: kind.severity,
        about: kind.about ?? 'rollcall',
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
      about: 'rollcall',
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
  for (const { pool = '-', services, dryRun = {}, heldBack } of nodes) {
    const dry = Object.entries(dryRun).map(([service, state]) => [`${service} (dry run)`, state] as const);
    for (const [service, state] of [...Object.entries(services), ...dry]) {
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
