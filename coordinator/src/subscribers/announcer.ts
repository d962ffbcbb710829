import type { Clock } from '@rollcall/common/clock.ts';
import { type ActiveGuard, guardText } from '@rollcall/common/guards.ts';
import type { Transition } from '../controller/transitions.ts';
import type { Service } from '../model/services.ts';
import type { GateOutcome } from '../state/metrics.ts';
import { podsOf, readyPodIn } from '../state/observed-pod.ts';
import type { NodeSnapshot } from '../state/snapshot.ts';
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

/** Tells people what happened, by Events and by the metrics that they know. */
export class Announcer {
  readonly #options: AnnouncerOptions;

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  happened(all: readonly Transition[]): void {
    const { record } = this.#options;
    // What a dry run of a service would show is no news.
    const transitions = all.filter((each) => !('service' in each && each.service.dryRun));
    for (const each of transitions) this.#count(each);
    // One for all services that changed at once: where a whole fleet does, each Event costs a quarter of what the write costs.
    const together = Map.groupBy(transitions, ({ kind }) =>
      kind === 'ready' || kind === 'not-ready' ? kind : 'single',
    );
    for (const kind of ['single', 'not-ready', 'ready'] as const) {
      const news = (together.get(kind) ?? []).flatMap((each) => {
        const found = this.#newsOf(each);
        return found ? [{ ...found, subject: this.#subjectOf(each) }] : [];
      });
      const [first] = news;
      if (kind === 'single') news.forEach(record);
      else if (first)
        for (const message of packMessages(news.map((each) => each.message))) record({ ...first, message });
    }
  }

  #count(transition: Transition): void {
    const { metrics, gateOpened, clock } = this.#options;
    switch (transition.kind) {
      case 'ready': {
        const { service, node, isFirst } = transition;
        metrics.becameReady(service.name, podStartMs(service, node), clock.now());
        if (isFirst) metrics.started(service.name, clock.now() - node.createdAtMs);
        break;
      }
      case 'late':
        metrics.late(transition.service.name);
        break;
      case 'gate-opened': {
        const { missing, node } = transition;
        gateOpened(missing.length > 0 ? 'expired' : 'complete');
        const { daemonSets = [], daemonPods = [] } = node.onDemand;
        for (const { uid, readySinceSeconds } of daemonPods) {
          const daemonSet = daemonSets.find((each) => each.uid === uid);
          if (!daemonSet || readySinceSeconds === 0) continue;
          const ms = readySinceSeconds * 1000 - node.createdAtMs;
          metrics.daemonSetReady(`${daemonSet.namespace}/${daemonSet.name}`, ms);
        }
        break;
      }
      case 'gate-waits':
        if (transition.isOver) gateOpened('stays');
    }
  }

  /** `undefined` where it is only counted. */
  #newsOf(transition: Transition): Omit<EventNews, 'subject'> | undefined {
    switch (transition.kind) {
      case 'ready':
        return {
          type: 'Normal',
          reason: 'ServiceReady',
          message: `${transition.service.name} is ready: ${transition.reason}`,
        };
      case 'not-ready':
        return {
          type: 'Warning',
          reason: 'ServiceNotReady',
          message: `${transition.service.name} is not ready: ${transition.reason}`,
        };
      case 'held-back': {
        // Without count and time, so that it is the same Event each time; the console has them.
        const message = `${transition.service.name} became not ready too often in 5 minutes and is held back: it counts as not ready for a while`;
        return { type: 'Warning', reason: 'ServiceHeldBack', message };
      }
      case 'late': {
        const { service, node } = transition;
        const seconds = (service.startupDeadlineMs ?? 0) / 1000;
        const reason = node.readiness.get(service.name)?.reason ?? '';
        const message = `${service.name} was not ready within ${seconds} s of the creation of the node: ${reason}`;
        return { type: 'Warning', reason: 'StartupDeadlineExceeded', message };
      }
      case 'gate-opened': {
        const { missing } = transition;
        if (missing.length === 0) return undefined;
        const message = `Removed the startup taint after the maximum wait time, without ${missing.join(', ')}`;
        return { type: 'Warning', reason: 'StartupGateExpired', message };
      }
      case 'gate-waits': {
        const { isOver, missing } = transition;
        const long = isOver ? 'for longer than it should' : 'for half of its maximum time, or longer';
        const message = `The startup taint has kept pods away ${long}: the node waits for ${missing.join(', ')}`;
        return { type: 'Warning', reason: 'StartupGateWaiting', message };
      }
      case 'contested': {
        const { kind, key, rival } = transition.key;
        const message = `${rival} keeps changing the ${kind} ${key}: rollcall writes it less and less often`;
        return { type: 'Warning', reason: 'KeyContested', message };
      }
      case 'left-alone': {
        const { kind, key, message } = transition.key;
        return {
          type: 'Warning',
          reason: 'KeyContested',
          message: `rollcall does not write the ${kind} ${key}: it is ${message}`,
        };
      }
      case 'guard-active':
        return { type: 'Warning', reason: 'GuardActive', message: this.#textOf(transition.guard) };
      case 'guard-cleared': {
        const { subject, of } = transition.guard;
        return { type: 'Normal', reason: 'GuardCleared', message: `The guard has ended (${subject}): ${of}` };
      }
    }
  }

  #subjectOf(transition: Transition): EventSubject {
    if ('node' in transition) {
      const { name, uid } = transition.node;
      return { apiVersion: 'v1', kind: 'Node', name, uid };
    }
    const { services, lease } = this.#options;
    const { subject, of } = transition.guard;
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

function podStartMs(service: Service, snapshot: NodeSnapshot): number | undefined {
  const startMs = Date.parse(readyPodIn(podsOf(service, snapshot.pods), snapshot)?.startTime ?? '');
  return Number.isNaN(startMs) ? undefined : startMs;
}
