import { hostname } from 'node:os';
import { registerGateMetric } from '../fleet/metrics.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../setup/config.ts';
import type { Service } from '../setup/services.ts';
import { Announcer } from './announcer.ts';
import type { EventNews } from './events/event-news.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { createFollowUps, type FollowUpOptions, type FollowUps } from './follow-ups.ts';
import { GitpodMetrics } from './gitpod-metrics.ts';

export type FollowerOptions = Omit<FollowUpOptions, 'config' | 'record'> & {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  services: () => readonly Service[];
  /** Writes to Nodes wait: Events make way. */
  mustYield: () => boolean;
};

export type Followers = {
  record: (news: EventNews) => void;
  announcer: Announcer;
  followUps: FollowUps;
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
    gate: config.readinessGate,
    record,
    metrics: new GitpodMetrics(registry),
    gateOpened: registerGateMetric(registry),
    lease: { namespace: config.leaseNamespace, name: config.leaseName },
    clock,
  });
  const followUps = createFollowUps({ ...options, record });
  return { record, announcer, followUps, settled: () => Promise.all([events.settled(), followUps.settled()]) };
}
