import { Counter, Gauge, type Registry } from '@rollcall/common/metrics.ts';
import type { Freshness } from './freshness.ts';
import { FLEET_GUARD } from './guard.ts';

/** Where the gauges look when they are read. A standby is told nothing by agents, and gives nothing. */
export type FleetSources = {
  countByFreshness: () => Readonly<Partial<Record<Freshness['state'], number>>>;
  activeGuards: () => readonly string[];
  heldBack: () => number;
  /** What guards keep on nodes for now, although it should go. */
  heldWithdrawals: () => readonly { guard: 'observer' | 'blast-radius'; nodes: number }[];
  refusedPoolKeys: () => number;
  ruleProblems: () => number;
};

/** Counts the startup gates that were opened. Registers it; once for a registry. */
export function registerGateMetric(registry: Registry): (outcome: 'complete' | 'expired') => void {
  const opened = new Counter({
    name: 'rollcall_coordinator_startup_gates_opened_total',
    help: 'Startup gates of nodes that were opened: complete, with every label that they required, or expired.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // From the start, or the first one would not count as an increase.
  for (const outcome of ['complete', 'expired']) opened.inc({ outcome }, 0);
  return (outcome) => opened.inc({ outcome });
}

/** What is known about the nodes, as gauges. Registers them; once for a registry. */
export function registerFleetMetrics(registry: Registry, sources: FleetSources): void {
  const registers = [registry];
  new Gauge({
    name: 'rollcall_coordinator_nodes',
    help: 'On the leader: nodes by how well their agent is heard: fresh, leaving, unheard (since this replica leads), silent, absent.',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset();
      for (const [state, count] of Object.entries(sources.countByFreshness())) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_held_back_services',
    help: 'Services that became not ready too often on their node, and are held back for a while.',
    registers,
    collect() {
      this.set(sources.heldBack());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_held_withdrawals',
    help: 'Labels that should go from nodes and stay for now: because agents that were replaced are doubted (observer), or because many nodes would lose them for what was configured (blast-radius).',
    labelNames: ['guard'],
    registers,
    collect() {
      const held = { observer: 0, 'blast-radius': 0 };
      for (const { guard, nodes } of sources.heldWithdrawals()) held[guard] += nodes;
      for (const [guard, nodes] of Object.entries(held)) this.set({ guard }, nodes);
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_refused_pool_keys',
    help: 'Labels in NodePoolLabelSets that may not be set; each set says which, and why, in its status.',
    registers,
    collect() {
      this.set(sources.refusedPoolKeys());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_rule_problems',
    help: 'What is wrong in the files of --label-dir: lines and files that do not count, and rules in a circle; the log and /v1/rules tell.',
    registers,
    collect() {
      this.set(sources.ruleProblems());
    },
  });
  new Gauge({
    name: 'rollcall_coordinator_guard_active',
    help: 'Guards that hold, so that silence withdraws nothing: 1 for the fleet, and the number of pools.',
    labelNames: ['scope'],
    registers,
    collect() {
      const guards = sources.activeGuards();
      this.set({ scope: 'fleet' }, guards.includes(FLEET_GUARD) ? 1 : 0);
      this.set({ scope: 'pool' }, guards.filter((name) => name !== FLEET_GUARD).length);
    },
  });
}
