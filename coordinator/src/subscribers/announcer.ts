import type { Clock } from '@rollcall/common/clock.ts';
import { type ActiveGuard, guardText } from '@rollcall/common/guards.ts';
import type { Subscribers } from '../controller/subscribers.ts';
import type { EvaluatedNode } from '../decide/labelers/labeler.ts';
import { shownReady } from '../decide/shown-ready.ts';
import type { Service } from '../model/services.ts';
import type { GateOutcome } from '../state/metrics.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import { podsOf, readyPodIn } from '../state/observed-pod.ts';
import type { NodeSnapshot } from '../state/snapshot.ts';
import type { Term } from '../state/term.ts';
import {
  type EventNews,
  type EventSubject,
  leaseSubject,
  packMessages,
  serviceSubject,
} from './events/event-object.ts';
import type { ServiceMetrics } from './service-metrics.ts';

export type AnnouncerOptions = {
  services: () => readonly Service[];
  record: (news: EventNews) => void;
  metrics: Pick<ServiceMetrics, 'becameReady' | 'started' | 'late' | 'daemonSetReady'>;
  /** Counts it. */
  gateOpened: (outcome: GateOutcome) => void;
  /** What the budget of a service keeps from nodes, with at most so many names of nodes. */
  withheld: (service: string, namesMax: number) => string | undefined;
  /** What Events about the fleet as a whole are attached to. */
  lease: { namespace: string; name: string };
  clock: Clock;
};

/** Tells people, by Events and by the metrics that they know, what became of services. */
export class Announcer {
  readonly #options: AnnouncerOptions;
  /** For each node, whether a service was told to be ready. */
  readonly #told = new WeakMap<NodeRecord, Map<string, boolean>>();
  /** For each node, the services that were ready on it in this term. */
  readonly #started = new WeakMap<NodeRecord, Set<string>>();
  /** The guards that acted, by what and whom they are about. */
  readonly #guards = new WeakMap<Term, ReadonlyMap<string, ActiveGuard>>();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** What a Node shows at first sight: what came before is not to be told. */
  sees(record: NodeRecord, observed: ObservedNode, evaluated: EvaluatedNode): void {
    if (!this.#told.has(record)) this.shows(record, observed, evaluated);
  }

  /**
   * What a Node shows, at first sight and after each write. News is what differs from what was told before, if the
   * evidence says the same: restoring a key that another client changed is no news.
   */
  shows(record: NodeRecord, observed: ObservedNode, evaluated: EvaluatedNode): void {
    const { services, metrics, clock, record: tell } = this.#options;
    const told = this.#told.get(record) ?? new Map<string, boolean>();
    this.#told.set(record, told);
    const started = this.#started.get(record) ?? new Set<string>();
    this.#started.set(record, started);
    const news = { ready: [] as string[], notReady: [] as string[] };
    for (const service of services()) {
      if (service.dryRun) continue;
      const ready = shownReady(observed, service);
      const before = told.get(service.name);
      const evidence = evaluated.readiness.get(service.name);
      if (before === undefined) {
        told.set(service.name, ready);
        // A new node does not have the taint yet that shows that it is not ready.
        if (ready && evidence?.state !== 'not-ready') started.add(service.name);
      }
      if (before === undefined || before === ready || evidence?.state !== (ready ? 'ready' : 'not-ready')) continue;
      told.set(service.name, ready);
      const list = ready ? news.ready : news.notReady;
      list.push(`${service.name} is ${ready ? 'ready' : 'not ready'}: ${evidence.reason}`);
      if (ready) metrics.becameReady(service.name, podStartMs(service, evaluated), clock.now());
      if (ready && record.isNew && !started.has(service.name)) {
        metrics.started(service.name, clock.now() - evaluated.createdAtMs);
      }
      if (ready) started.add(service.name);
    }
    const subject = nodeSubject(evaluated);
    // One for all that changed at once: where a whole fleet does, each Event costs a quarter of what the write costs.
    for (const message of packMessages(news.notReady))
      tell({ subject, type: 'Warning', reason: 'ServiceNotReady', message });
    for (const message of packMessages(news.ready)) tell({ subject, type: 'Normal', reason: 'ServiceReady', message });
  }

  /** A service comes and goes, and is held back. */
  heldBack(node: NodeSnapshot, service: Service): void {
    if (service.dryRun) return;
    // Without count and time, so that it is the same Event each time; the console has them.
    const message = `${service.name} became not ready too often in 5 minutes and is held back: it counts as not ready for a while`;
    this.#options.record({ subject: nodeSubject(node), type: 'Warning', reason: 'ServiceHeldBack', message });
  }

  /** A service was never ready on a node, and its startup deadline is over. */
  late(node: EvaluatedNode, service: Service): void {
    const { record, metrics } = this.#options;
    if (service.dryRun) return;
    metrics.late(service.name);
    const seconds = (service.startupDeadlineMs ?? 0) / 1000;
    const reason = node.readiness.get(service.name)?.reason ?? '';
    const message = `${service.name} was not ready within ${seconds} s of the creation of the node: ${reason}`;
    record({ subject: nodeSubject(node), type: 'Warning', reason: 'StartupDeadlineExceeded', message });
  }

  /** Keys of a node that another client changes back. */
  contested(node: ObservedNode, keys: Parameters<Subscribers['contested']>[1]): void {
    for (const { kind, key, rival } of keys) {
      const message = `${rival} keeps changing the ${kind} ${key}: rollcall writes it less and less often`;
      this.#options.record({ subject: nodeSubject(node), type: 'Warning', reason: 'KeyContested', message });
    }
  }

  /** Keys that are not written because another manager owns them. */
  leftAlone(node: ObservedNode, keys: Parameters<Subscribers['leftAlone']>[1]): void {
    for (const { kind, key, message: why } of keys) {
      const message = `rollcall does not write the ${kind} ${key}: it is ${why}`;
      this.#options.record({ subject: nodeSubject(node), type: 'Warning', reason: 'KeyContested', message });
    }
  }

  /** The startup gate of a node was opened, at last without what is missing. */
  gateOpened(node: NodeSnapshot, missing: readonly string[]): void {
    const { record, gateOpened, metrics } = this.#options;
    gateOpened(missing.length > 0 ? 'expired' : 'complete');
    const { daemonSets = [], daemonPods = [] } = node.onDemand;
    for (const { uid, readySinceSeconds } of daemonPods) {
      const daemonSet = daemonSets.find((each) => each.uid === uid);
      if (!daemonSet || readySinceSeconds === 0) continue;
      metrics.daemonSetReady(`${daemonSet.namespace}/${daemonSet.name}`, readySinceSeconds * 1000 - node.createdAtMs);
    }
    if (missing.length === 0) return;
    const message = `Removed the startup taint after the maximum wait time, without ${missing.join(', ')}`;
    record({ subject: nodeSubject(node), type: 'Warning', reason: 'StartupGateExpired', message });
  }

  /** A node has waited for long at the startup gate, or as long as it should (`isOver`), and waits on for what is missing. */
  gateWaits(node: NodeSnapshot, missing: readonly string[], isOver: boolean): void {
    if (isOver) this.#options.gateOpened('stays');
    const long = isOver ? 'for longer than it should' : 'for half of its maximum time, or longer';
    const text = `The startup taint has kept pods away ${long}: the node waits for ${missing.join(', ')}`;
    const subject = nodeSubject(node);
    for (const message of packMessages([text]))
      this.#options.record({ subject, type: 'Warning', reason: 'StartupGateWaiting', message });
  }

  /** Which guards act now. To be called often: only what changed in this term is told. */
  guards(term: Term, active: readonly ActiveGuard[]): void {
    const { record } = this.#options;
    const before = this.#guards.get(term) ?? new Map<string, ActiveGuard>();
    const now = new Map(active.map((guard) => [`${guard.subject} ${guard.of}`, guard]));
    this.#guards.set(term, now);
    for (const [id, guard] of now) {
      if (before.has(id)) continue;
      const message = this.#textOf(guard);
      record({ subject: this.#subjectOf(guard), type: 'Warning', reason: 'GuardActive', message });
    }
    for (const [id, guard] of before) {
      const message = `The guard has ended (${guard.subject}): ${guard.of}`;
      if (!now.has(id)) record({ subject: this.#subjectOf(guard), type: 'Normal', reason: 'GuardCleared', message });
    }
  }

  #subjectOf({ subject, of }: ActiveGuard): EventSubject {
    const { services, lease } = this.#options;
    const origin = subject === 'taint-budget' ? services().find(({ name }) => name === of)?.origin : undefined;
    return origin?.kind === 'object' ? serviceSubject({ name: of, uid: origin.uid }) : leaseSubject(lease);
  }

  #textOf(guard: ActiveGuard): string {
    const withheld = guard.subject === 'taint-budget' ? this.#options.withheld(guard.of, NAMES_MAX) : undefined;
    return withheld === undefined ? guardText(guard) : `${guardText(guard)}; ${withheld}`;
  }
}

/** Names of nodes in an Event, whose message has 1024 characters. */
const NAMES_MAX = 10;

function nodeSubject({ name, uid }: Pick<NodeSnapshot, 'name' | 'uid'>): EventSubject {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

function podStartMs(service: Service, snapshot: NodeSnapshot): number | undefined {
  const startMs = Date.parse(readyPodIn(podsOf(service, snapshot.pods), snapshot)?.startTime ?? '');
  return Number.isNaN(startMs) ? undefined : startMs;
}
