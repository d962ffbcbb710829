import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { WATCHED } from '@rollcall/common/watched-resources.ts';
import type { Evaluator } from '../../decide/evaluator.ts';
import { podsChecksOf, type Service } from '../../model/services.ts';
import type { Fleet } from '../../state/fleet.ts';
import type { ObservedNodeService } from '../../state/services/node-service.ts';
import type { ServiceRegistry } from '../../state/services/service-registry.ts';
import { serviceStatus } from './service-status.ts';
import { StatusController, type StatusWrites, statusPath, tellingOfInForce } from './status-controller.ts';

export type ServiceStatusOptions = {
  writes: StatusWrites;
  serviceRegistry: ServiceRegistry;
  fleet: Pick<Fleet, 'servicePods' | 'term'>;
  evaluator: Pick<Evaluator, 'tally' | 'withheld'>;
  /** Why what a service depends on cannot be watched. */
  problemOf: (service: Service) => string | undefined;
  /** Whether nodes are still to be evaluated: until then, the count is one of a part of them. */
  isCounting: () => boolean;
};

const KIND = 'NodeService';
/** Names of nodes in a condition. */
const NAMES_MAX = 100;

/** Keeps the status of every NodeService up to date. */
export function createServiceStatusController(options: ServiceStatusOptions) {
  const { writes, serviceRegistry, fleet, evaluator, problemOf, isCounting } = options;
  const { clock } = writes;
  // Before they are listed, whether they may be watched is not known.
  const arePodsKnown = (service: Service) =>
    podsChecksOf(service).every(({ settings }) => fleet.servicePods.isKnown(settings.namespace));
  const statusOf = (object: ObservedNodeService) => {
    if (!serviceRegistry.isJudged(object)) return undefined;
    const refusal = serviceRegistry.refusalOf(object);
    const problem = problemOf(object.service);
    if (!refusal && isCounting()) return undefined;
    if (!refusal && problem === undefined && !arePodsKnown(object.service)) return undefined;
    return serviceStatus({
      object,
      refusal,
      problem,
      count: evaluator.tally.count(object.name),
      commonest: evaluator.tally.commonest(object.name),
      withheld: evaluator.withheld(object.name, NAMES_MAX),
      isTakingOver: fleet.term.isYoung(clock.monotonic()),
      now: rfc3339(clock.now()),
    });
  };
  return new StatusController({
    writes,
    kind: KIND,
    path: statusPath(WATCHED.nodeServices),
    objects: serviceRegistry.all,
    look: () => statusOf,
    tellingOf: (object, { conditions }) => tellingOfInForce(KIND, object, conditions),
  });
}
