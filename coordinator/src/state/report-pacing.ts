import type { ServiceReport } from '@rollcall/common/report.ts';
import { probeChecksOf, type Service } from '../model/services.ts';
import { type ObservedPod, podsOf } from './observed-pod.ts';

/** Of the whole fleet, as long as the silence window permits: a few percent of a core. */
const HEARTBEATS_PER_SECOND = 100;
/** Agents hear of a new NodeService with the reply to their next report. */
const HEARTBEAT_SECONDS_MIN = 2;

/**
 * Seconds between two reports of a node. It grows with the fleet, so that the load stays level, and stays below half of
 * the window after which a node counts as silent: one report may be lost.
 */
export function heartbeatSeconds(nodes: number, windowSeconds: number): number {
  return Math.min(windowSeconds * 0.45, Math.max(HEARTBEAT_SECONDS_MIN, nodes / HEARTBEATS_PER_SECOND));
}

/** Seconds between two reports of a node that deserves attention. */
const SECONDS_MIN = 1;
/** The most such reports per second, over all nodes: a fault of the whole fleet must not flood the coordinator. */
const REPORTS_PER_SECOND_MAX = 1000;
/** How long a node deserves attention after a change of its pods: more changes may follow. */
const CHANGED_MS = 60_000;

/**
 * Which nodes should report often, since what their agents are to probe changes, or is not ready: addresses travel with
 * replies alone. Times are monotonic.
 */
export class ReportPacing {
  readonly #changedAtMs = new Map<string, number>();
  readonly #nodes = new Set<string>();

  /** The pods of a service on this node changed. */
  changed(node: string, nowMs: number): void {
    this.#changedAtMs.set(node, nowMs);
  }

  forget(node: string): void {
    this.#changedAtMs.delete(node);
    this.#nodes.delete(node);
  }

  /** Seconds until the next report of a node that has just reported; `undefined` where nothing is special. */
  nextSeconds(node: string, isUnsettled: boolean, nowMs: number): number | undefined {
    const changedAtMs = this.#changedAtMs.get(node) ?? Number.NEGATIVE_INFINITY;
    const deserves = isUnsettled || nowMs - changedAtMs < CHANGED_MS;
    if (!deserves) {
      this.forget(node);
      return undefined;
    }
    this.#nodes.add(node);
    return Math.max(SECONDS_MIN, this.#nodes.size / REPORTS_PER_SECOND_MAX);
  }
}

/**
 * Whether a service that has pods on a node is not ready there, by what they and the agent say. One that has none, as on
 * nodes that are not for it, may stay so for ever.
 */
export function isUnsettled(
  services: readonly Service[],
  pods: readonly ObservedPod[],
  reports: readonly ServiceReport[],
): boolean {
  return services.some((service) => {
    const own = podsOf(service, pods);
    if (own.length === 0) return false;
    const isSeen = probeChecksOf(service).every(({ id }) => reports.some(({ name, ready }) => name === id && ready));
    return !isSeen || !own.some(({ ready, terminating }) => ready && !terminating);
  });
}
