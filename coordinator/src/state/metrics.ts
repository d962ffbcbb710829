import { type ActiveGuard, SUBJECTS } from '@rollcall/common/guards.ts';
import { Counter, Gauge, type Registry } from '@rollcall/common/metrics.ts';
import { isDisturbed } from '@rollcall/common/node-lifecycle.ts';
import type { Fleet } from './fleet.ts';
import { lifecycleOf } from './observed-conditions.ts';

/** The values of the gauges, computed when they are read. A standby hears no agents, and returns nothing. */
export type FleetSources = {
  nodesByFreshness: () => Readonly<Record<string, number>>;
  heldBack: () => number;
  guards: () => readonly ActiveGuard[];
  refusedPoolKeys: () => number;
  ruleProblems: () => number;
  /** By service: Gitpod's two, and the NodeServices that are in force. */
  serviceNodes: () => ReadonlyMap<string, Readonly<Record<'ready' | 'not-ready' | 'unknown', number>>>;
  nodeServices: () => readonly { name: string; isInForce: boolean }[];
  /** Whether a service is a dry run. */
  isDryRun: (service: string) => boolean;
};

export type GateOutcome = 'complete' | 'expired' | 'stays';

/** A node that is drained, shut down or in maintenance is no reason for an alert: if no agent is heard, it counts apart. */
export function countByFreshness(
  fleet: Pick<Fleet, 'term' | 'freshness' | 'node'>,
  hasAgents: boolean,
): Record<string, number> {
  const states = { fresh: 0, leaving: 0, unheard: 0, silent: 0, absent: 0, maintenance: 0 };
  const count: Record<string, number> = hasAgents ? states : { none: 0 };
  for (const record of fleet.term.records()) {
    const { state } = fleet.freshness.of(record);
    const node = state === 'silent' || state === 'absent' ? fleet.node(record.name) : undefined;
    const counted = node && isDisturbed(lifecycleOf(node)) ? 'maintenance' : state;
    count[counted] = (count[counted] ?? 0) + 1;
  }
  return count;
}

/** Counts the startup gates that were opened, and those whose time is over and that stay closed. Registers it; once for a registry. */
export function registerGateMetric(registry: Registry): (outcome: GateOutcome) => void {
  const opened = new Counter({
    name: 'rollcall_coordinator_startup_gates_opened_total',
    help: 'Nodes whose startup gate opened, by outcome: complete (nothing was missing) or expired (after the maximum wait time); stays is for those that stay closed after that time.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // From the start, or the first one would not count as an increase.
  for (const outcome of ['complete', 'expired', 'stays']) opened.inc({ outcome }, 0);
  return (outcome) => opened.inc({ outcome });
}

/** What is known about the nodes, as gauges. Registers them; once for a registry. */
export function registerFleetMetrics(registry: Registry, sources: FleetSources): void {
  const registers = [registry];
  const dryRun = (service: string) => (sources.isDryRun(service) ? { dry_run: 'true' } : {});
  new Gauge({
    name: 'rollcall_coordinator_nodes',
    help: 'Nodes by the state of their agent, on the leader: fresh, leaving, unheard (no report to this leader yet), silent, absent, maintenance (silent or absent, on a node that is drained, shut down or in maintenance by its conditions), or none where agents are switched off.',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset();
      for (const [state, count] of Object.entries(sources.nodesByFreshness())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_held_back_services',
    help: 'Services on nodes that became not ready too often, and count as not ready for a while (held back).',
    registers,
    collect() {
      this.set(sources.heldBack());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_guarded_nodes',
    help: 'Nodes from which a guard keeps something, by what would be at fault: agents, reporters (most are silent), target (a check of DNS or of the network fails on most nodes), agent-version (most new agents see less), configuration (many nodes would lose a label after a change), taint-budget (the taint of a service closes as many nodes as it may).',
    labelNames: ['subject'],
    registers,
    collect() {
      const nodes = new Map<string, number>(SUBJECTS.map((subject) => [subject, 0]));
      for (const guard of sources.guards()) nodes.set(guard.subject, (nodes.get(guard.subject) ?? 0) + guard.nodes);
      for (const [subject, count] of nodes) this.set({ subject }, count);
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_refused_pool_keys',
    help: 'Labels in NodePoolLabels and NodePoolLabelSets that are refused; the status of each object lists them with the reason.',
    registers,
    collect() {
      this.set(sources.refusedPoolKeys());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_rule_problems',
    help: 'Errors in the files of --label-dir: ignored lines and files, and rules in a cycle; see the log and /v1/rules.',
    registers,
    collect() {
      this.set(sources.ruleProblems());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_service_nodes',
    help: 'Nodes that a service is for, by the state of the service there, on the leader: ready, not-ready, unknown. dry_run is true for a NodeService with spec.dryRun, and not set for others.',
    labelNames: ['service', 'state', 'dry_run'],
    registers,
    collect() {
      this.reset();
      for (const [service, counts] of sources.serviceNodes()) {
        for (const [state, count] of Object.entries(counts)) this.set({ service, state, ...dryRun(service) }, count);
      }
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_service_in_force',
    help: 'Whether a NodeService is in force (1) or not (0), on the leader; its condition Ready has the reason.',
    labelNames: ['service', 'dry_run'],
    registers,
    collect() {
      this.reset();
      for (const { name, isInForce } of sources.nodeServices())
        this.set({ service: name, ...dryRun(name) }, isInForce ? 1 : 0);
    },
  });
}
