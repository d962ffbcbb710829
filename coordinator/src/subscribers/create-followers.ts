import { hostname } from 'node:os';
import type { Subscribers } from '../controller/subscribers.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import type { Service } from '../model/services.ts';
import { registerGateMetric } from '../state/metrics.ts';
import type { ServiceCatalog } from '../state/services/catalog.ts';
import { Announcer } from './announcer.ts';
import type { EventNews } from './events/event-news.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { createFollowUps, type FollowUpOptions } from './follow-ups.ts';
import { GitpodMetrics } from './gitpod-metrics.ts';
import { serviceSubject } from './status/service-status-keeper.ts';

export type FollowerOptions = Omit<FollowUpOptions, 'config' | 'record'> & {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  services: () => readonly Service[];
  catalog: Pick<ServiceCatalog, 'objects'>;
  /** Writes to Nodes wait: Events make way. */
  mustYield: () => boolean;
};

/** What the controller tells followers; the composition adds the rest. */
type Followed = Omit<Subscribers, 'podsListed' | 'taintProven'>;

export type Followers = {
  record: (news: EventNews) => void;
  subscribers: Followed;
  announcer: Announcer;
  /** Resolves when nothing is under way that only a leader may do. */
  settled: () => Promise<unknown>;
};

/** Everybody who tells or acts when a Node changed. */
export function createFollowers(options: FollowerOptions): Followers {
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
  const followUps = createFollowUps({ ...options, record });
  const subscribers: Followed = {
    changed: followUps.look,
    forget: followUps.forget,
    restart: followUps.restart,
    sees: (...seen) => announcer.sees(...seen),
    shows: (...shown) => announcer.shows(...shown),
    heldBack: (...held) => announcer.heldBack(...held),
    gateOpened: (...opened) => announcer.gateOpened(...opened),
    contested: (...contested) => announcer.contested(...contested),
    leftAlone: (...left) => announcer.leftAlone(...left),
    taintWaits: (service) => {
      const object = options.catalog.objects().find(({ name }) => name === service.name);
      if (object) announcer.taintWaits(serviceSubject(object));
    },
  };
  return { record, subscribers, announcer, settled: () => Promise.all([events.settled(), followUps.settled()]) };
}
