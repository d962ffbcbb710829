import type { Clock } from '@rollcall/common/clock.ts';
import type { EventNews, EventSubject } from './events/event-news.ts';
import type { NodeSnapshot } from './fleet/snapshot.ts';
import type { GitpodMetrics } from './gitpod-metrics.ts';
import type { ReadinessNews } from './readiness-news.ts';
import type { Service } from './services.ts';

export type AnnouncerOptions = {
  record: (news: EventNews) => void;
  metrics: GitpodMetrics;
  /** What Events about the fleet as a whole are attached to. */
  lease: { namespace: string; name: string };
  clock: Clock;
};

/** Tells people, by Events and by the metrics that they know, what became of services. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  #guards: ReadonlySet<string> = new Set();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** A Node shows something else of a service than before. */
  readiness(node: NodeSnapshot, { service, ready, reason }: ReadinessNews): void {
    const { record, metrics, clock } = this.#options;
    const message = `${service.name} is ${ready ? 'ready' : 'not ready'}: ${reason}`;
    record(
      ready
        ? { subject: nodeSubject(node), type: 'Normal', reason: 'ServiceReady', message }
        : { subject: nodeSubject(node), type: 'Warning', reason: 'ServiceNotReady', message },
    );
    if (ready) metrics.becameReady(service.component, podStartMs(service, node), clock.now());
  }

  /** A service comes and goes, and is held back. */
  heldBack(node: NodeSnapshot, service: Service): void {
    // Without count and time, so that it is the same Event each time; the console has them.
    const message = `${service.name} became not ready too often in 5 minutes, and is held back for a while`;
    this.#options.record({ subject: nodeSubject(node), type: 'Warning', reason: 'ServiceHeldBack', message });
  }

  /** This replica begins to lead: what held before was another leader's to tell. */
  restart(): void {
    this.#guards = new Set();
  }

  /** Which guards hold now. To be called often: only what changed is told. */
  guards(active: readonly string[]): void {
    const now = new Set(active);
    for (const guard of now.difference(this.#guards)) {
      const message = `So many agents are silent (${guard}) that silence withdraws nothing`;
      this.#options.record({ subject: this.#leaseSubject(), type: 'Warning', reason: 'SilenceGuardActive', message });
    }
    for (const guard of this.#guards.difference(now)) {
      const message = `Agents are heard again (${guard}): silence counts as before`;
      this.#options.record({ subject: this.#leaseSubject(), type: 'Normal', reason: 'SilenceGuardCleared', message });
    }
    this.#guards = now;
  }

  #leaseSubject(): EventSubject {
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', uid: '', ...this.#options.lease };
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
