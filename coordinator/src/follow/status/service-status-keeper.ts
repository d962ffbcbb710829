import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { Decider } from '../../decide/decider.ts';
import type { ServiceCatalog } from '../../services/catalog.ts';
import type { ObservedNodeService } from '../../services/node-service.ts';
import type { Service } from '../../setup/services.ts';
import type { EventSubject } from '../events/event-news.ts';
import {
  ObjectStatusKeeper,
  type StatusWriteOptions,
  statusPath,
  subjectOf,
  tellingOfAccepted,
} from './object-status-keeper.ts';
import { serviceStatus } from './service-status.ts';

export type ServiceStatusOptions = StatusWriteOptions & {
  catalog: ServiceCatalog;
  decider: Pick<Decider, 'tally' | 'firstTaints' | 'statusNoted' | 'fleet'>;
  /** Why what a service depends on cannot be watched. */
  problemOf: (service: Service) => string | undefined;
};

const KIND = 'NodeService';

/** Keeps the status of every NodeService up to date. */
export function createServiceStatusKeeper(options: ServiceStatusOptions) {
  const { catalog, decider, problemOf, clock } = options;
  // Its pods may not tolerate its taint.
  const arePodsKnown = ({ pods }: Service) => !pods || decider.fleet.servicePods.knows(pods.namespace);
  const statusOf = (object: ObservedNodeService) => {
    if (!catalog.isJudged(object)) return undefined;
    const refusal = catalog.refusalOf(object);
    const problem = problemOf(object.service);
    if (!refusal && problem === undefined && !arePodsKnown(object.service)) return undefined;
    return serviceStatus({
      object,
      refusal,
      problem,
      count: decider.tally.count(object.name),
      isTakingOver: decider.fleet.term.isYoung(clock.monotonic()),
      provenTaint: decider.firstTaints.provenTaint(object.service),
      now: rfc3339(clock.now()),
    });
  };
  return new ObjectStatusKeeper({
    ...options,
    kind: KIND,
    path: statusPath('nodeservices'),
    objects: () => catalog.objects(),
    look: () => statusOf,
    statusNow: ({ status }) => status,
    tellingOf: (object, { conditions }) => tellingOfAccepted(KIND, object, conditions),
    noteStatus: (name, status) => catalog.noteStatus(name, status),
    // Not after each: a node whose taints wait for several statuses is written to once.
    onWritten: () => decider.statusNoted(),
    optional: ['provenTaint'],
  });
}

/** What Events about a NodeService are attached to. */
export function serviceSubject(service: Pick<ObservedNodeService, 'name' | 'uid'>): EventSubject {
  return subjectOf(KIND, service);
}
