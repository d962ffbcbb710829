import { hostname } from 'node:os';
import type { Subscribers } from '../controller/subscribers.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import type { Service } from '../model/services.ts';
import { registerGateMetric } from '../state/metrics.ts';
import type { ServiceRegistry } from '../state/services/service-registry.ts';
import { Announcer } from './announcer.ts';
import { type ChangeHandlersOptions, createChangeHandlers } from './change-handlers.ts';
import type { EventNews } from './events/event-news.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { GitpodMetrics } from './gitpod-metrics.ts';
import { serviceSubject } from './status/service-status-controller.ts';

export type CreateSubscribersOptions = Omit<ChangeHandlersOptions, 'config' | 'record'> & {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  services: () => readonly Service[];
  serviceRegistry: Pick<ServiceRegistry, 'objects'>;
  /** Writes to Nodes wait: Events make way. */
  mustYield: () => boolean;
};

/** What the controller calls, without the two calls that the composition adds. */
type NodeSubscribers = Omit<Subscribers, 'podsListed' | 'taintProven'>;

export type CreatedSubscribers = {
  record: (news: EventNews) => void;
  subscribers: NodeSubscribers;
  announcer: Announcer;
  /** Resolves when nothing is under way that only a leader may do. */
  settled: () => Promise<unknown>;
};

/** Creates everything that reports or acts when a Node changed. */
export function createSubscribers(options: CreateSubscribersOptions): CreatedSubscribers {
  const { config, environment, services, registry, clock } = options;
  const events = new EventRecorder({ ...options, instance: environment.podName ?? hostname() });
  const record = (news: EventNews) => {
    // In a dry run nothing becomes of an object that could be told.
    if (!config.dryRun) events.record(news);
  };
  const announcer = new Announcer({
    services,
    record,
    metrics: new GitpodMetrics(registry),
    gateOpened: registerGateMetric(registry),
    lease: { namespace: config.leaseNamespace, name: config.leaseName },
    clock,
  });
  const changeHandlers = createChangeHandlers({ ...options, record });
  const subscribers: NodeSubscribers = {
    changed: changeHandlers.look,
    forget: changeHandlers.forget,
    restart: changeHandlers.restart,
    sees: (...seen) => announcer.sees(...seen),
    shows: (...shown) => announcer.shows(...shown),
    heldBack: (...held) => announcer.heldBack(...held),
    gateOpened: (...opened) => announcer.gateOpened(...opened),
    contested: (...contested) => announcer.contested(...contested),
    leftAlone: (...left) => announcer.leftAlone(...left),
    taintWaits: (service) => {
      const object = options.serviceRegistry.objects().find(({ name }) => name === service.name);
      if (object) announcer.taintWaits(serviceSubject(object));
    },
  };
  return { record, subscribers, announcer, settled: () => Promise.all([events.settled(), changeHandlers.settled()]) };
}
