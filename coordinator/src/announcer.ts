import type { Clock } from '@rollcall/common/clock.ts';
import { type EventNews, type EventSubject, leaseSubject } from './events/event-news.ts';
import type { ObservedNode } from './fleet/observed-node.ts';
import type { NodeSnapshot } from './fleet/snapshot.ts';
import type { GitpodMetrics } from './gitpod-metrics.ts';
import type { JudgedNode } from './labelers/labeler.ts';
import type { ReadinessGate } from './labelers/readiness.ts';
import type { Service } from './services.ts';
import { shownReady } from './shown-ready.ts';

export type AnnouncerOptions = {
  services: readonly Service[];
  gate: ReadinessGate;
  record: (news: EventNews) => void;
  metrics: GitpodMetrics;
  /** Counts it. */
  gateOpened: (outcome: 'complete' | 'expired') => void;
  /** What Events about the fleet as a whole are attached to. */
  lease: { namespace: string; name: string };
  clock: Clock;
};

/** Tells people, by Events and by the metrics that they know, what became of services. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  /** For each node, whether a service was told to be ready. */
  readonly #told = new Map<string, Map<string, boolean>>();
  #guards: ReadonlySet<string> = new Set();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** This replica begins to lead: what came before was another leader's to tell. */
  restart(): void {
    this.#told.clear();
    this.#guards = new Set();
  }

  /** The Node is gone. */
  forget(node: string): void {
    this.#told.delete(node);
  }

  /**
   * What a Node shows, at first sight and after each write. News is what differs from what was told before, if the
   * evidence says the same: that a key was put right after somebody changed it is none.
   */
  shows(observed: ObservedNode, judged: JudgedNode): void {
    const { services, gate } = this.#options;
    const told = this.#told.get(observed.name) ?? new Map<string, boolean>();
    this.#told.set(observed.name, told);
    for (const service of services) {
      const ready = shownReady(observed, service, gate);
      const before = told.get(service.name);
      const evidence = judged.readiness.get(service.name);
      if (before === undefined) told.set(service.name, ready);
      if (before === undefined || before === ready || evidence?.state !== (ready ? 'ready' : 'not-ready')) continue;
      told.set(service.name, ready);
      this.#tell(judged, service, ready, evidence.reason);
    }
  }

  hasSeen(node: string): boolean {
    return this.#told.has(node);
  }

  #tell(node: JudgedNode, service: Service, ready: boolean, reason: string): void {
    const { record, metrics, clock } = this.#options;
    const message = `${service.name} is ${ready ? 'ready' : 'not ready'}: ${reason}`;
    const subject = nodeSubject(node);
    if (!ready) {
      record({ subject, type: 'Warning', reason: 'ServiceNotReady', message });
      return;
    }
    record({ subject, type: 'Normal', reason: 'ServiceReady', message });
    metrics.becameReady(service.component, podStartMs(service, node), clock.now());
  }

  /** A service comes and goes, and is held back. */
  heldBack(node: NodeSnapshot, service: Service): void {
    // Without count and time, so that it is the same Event each time; the console has them.
    const message = `${service.name} became not ready too often in 5 minutes, and is held back for a while`;
    this.#options.record({ subject: nodeSubject(node), type: 'Warning', reason: 'ServiceHeldBack', message });
  }

  /** The startup gate of a node was opened, at last without the labels that are missing. */
  gateOpened(node: NodeSnapshot, missing: readonly string[]): void {
    const { record, gateOpened } = this.#options;
    gateOpened(missing.length > 0 ? 'expired' : 'complete');
    if (missing.length === 0) return;
    const message = `The startup gate was opened without ${missing.join(', ')}: the node had waited long enough`;
    record({ subject: nodeSubject(node), type: 'Warning', reason: 'StartupGateExpired', message });
  }

  /** Which guards hold now. To be called often: only what changed is told. */
  guards(active: readonly string[]): void {
    const subject = leaseSubject(this.#options.lease);
    const now = new Set(active);
    for (const guard of now.difference(this.#guards)) {
      const message = `So many agents are overdue (${guard}) that silence withdraws nothing`;
      this.#options.record({ subject, type: 'Warning', reason: 'SilenceGuardActive', message });
    }
    for (const guard of this.#guards.difference(now)) {
      const message = `Agents are heard again (${guard}): silence counts as before`;
      this.#options.record({ subject, type: 'Normal', reason: 'SilenceGuardCleared', message });
    }
    this.#guards = now;
  }
}

function nodeSubject({ name, uid }: NodeSnapshot): EventSubject {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

function podStartMs({ component }: Service, { pods }: NodeSnapshot): number | undefined {
  const pod = pods.find((each) => each.component === component && each.ready && !each.terminating);
  const startMs = Date.parse(pod?.startTime ?? '');
  return Number.isNaN(startMs) ? undefined : startMs;
}
