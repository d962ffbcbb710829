import { hostname } from 'node:os';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import type { Subscribers } from '../controller/subscribers.ts';
import type { KubeClient } from '../kube/client.ts';
import type { LeaderRequests } from '../kube/leader-requests.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import type { Service } from '../model/services.ts';
import { notifyUrl } from '../model/urls.ts';
import type { Fleet } from '../state/fleet.ts';
import { registerGateMetric } from '../state/metrics.ts';
import { Announcer } from './announcer.ts';
import { type EventNews, leaseSubject } from './events/event-object.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { Evictor } from './eviction/evictor.ts';
import type { NodeState } from './eviction/misplaced-pods.ts';
import { createNotifiers } from './notify/notifier.ts';
import { ServiceMetrics } from './service-metrics.ts';

export type CreateSubscribersOptions = {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  client: KubeClient;
  requests: LeaderRequests;
  fleet: Fleet;
  services: () => readonly Service[];
  /** Returns the labels of a node, and those for which pods may be evicted from it; `undefined` if it is not known. */
  evictable: (node: string) => NodeState | undefined;
  /** What the budget of a service keeps from nodes, for people, with at most so many names. */
  withheld: (service: string, namesMax: number) => string | undefined;
  /** Writes to Nodes wait: Events make way. */
  mustYield: () => boolean;
  /** Called when a node may have changed. */
  onChanged: (node: string) => void;
  /** Called when this replica begins or ends to lead. */
  onRestart: () => void;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  registry: Registry;
};

export type CreatedSubscribers = {
  record: (news: EventNews) => void;
  subscribers: Subscribers;
};

/** Creates everything that reports or acts when a Node changed: Events, metrics, eviction, notification. */
export function createSubscribers(options: CreateSubscribersOptions): CreatedSubscribers {
  const { config, environment, client, requests, fleet, services, onChanged, onRestart } = options;
  const { clock, random, signal, logger, registry } = options;
  const { dryRun } = config;
  const lease = { namespace: config.leaseNamespace, name: config.leaseName };
  const events = new EventRecorder({
    requests,
    mustYield: options.mustYield,
    instance: environment.podName ?? hostname(),
    clock,
    random,
    signal,
    logger,
    registry,
  });
  const record = (news: EventNews) => {
    // A dry run changes nothing that an Event could report.
    if (!dryRun) events.record(news);
  };
  const announcer = new Announcer({
    services,
    record,
    metrics: new ServiceMetrics(registry),
    gateOpened: registerGateMetric(registry),
    withheld: options.withheld,
    lease,
    clock,
  });
  // A dry run only observes: the leader beside it notifies.
  const urls = (dryRun ? [] : config.notifyUrl).flatMap((text) => {
    const parsed = notifyUrl(text);
    return 'url' in parsed ? [parsed.url] : [];
  });
  const subject = leaseSubject(lease);
  const notifiers = createNotifiers({
    urls,
    nodes: config.notifyNodes,
    onFailing: (message) => record({ subject, type: 'Warning', reason: 'NotificationFailed', message }),
    clock,
    random,
    signal,
    logger,
    registry,
  });
  const evictor = config.evict
    ? new Evictor({
        client,
        requests,
        record,
        dryRun,
        stateOf: options.evictable,
        delayMs: config.evictionDelaySeconds * 1000,
        perSecond: config.evictionsPerMinute / 60,
        clock,
        random,
        signal,
        logger,
        registry,
      })
    : undefined;
  const subscribers: Subscribers = {
    changed: (name) => {
      onChanged(name);
      evictor?.consider(name);
      const node = fleet.node(name);
      if (node) for (const notifier of notifiers) notifier.offer(node);
    },
    gone: (name) => {
      onChanged(name);
      // The Node no longer exists: forget what is kept about it as well.
      evictor?.consider(name);
      for (const notifier of notifiers) notifier.gone(name);
    },
    restart: () => {
      onRestart();
      evictor?.restart();
      for (const notifier of notifiers) notifier.clear();
    },
    happened: (transitions) => announcer.happened(transitions),
  };
  return { record, subscribers };
}
