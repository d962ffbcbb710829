import type { RefusedObject } from '@rollcall/common/console.ts';
import { poolLabelSorter, type ReservedKeys } from '../../decide/labelers/pool-keys.ts';
import type { Service } from '../../model/services.ts';
import type { Collection } from '../../state/collection.ts';
import type { Holds } from '../../state/holds/holds.ts';
import type { ObservedNodeHold } from '../../state/holds/node-hold.ts';
import { countingSet, type ObservedPoolLabelSet } from '../../state/pool-label-sets.ts';
import type { ServiceRegistry } from '../../state/services/service-registry.ts';
import { holdInForce } from './hold-status-controller.ts';
import { serviceInForce } from './service-status.ts';
import { setInForce } from './set-status.ts';
import type { StatusVerdict } from './status-controller.ts';

export type RefusedObjectsSource = {
  serviceRegistry: Pick<ServiceRegistry, 'objects' | 'refusalOf'>;
  poolLabelSets: Collection<ObservedPoolLabelSet>;
  reserved: ReservedKeys;
  holds: Pick<Holds, 'objects'>;
  /** Why what a NodeService depends on cannot be watched. */
  problemOfService: (service: Service) => string | undefined;
  /** Why the pods that a NodeHold names cannot be watched. */
  problemOfHold: (hold: ObservedNodeHold) => string | undefined;
};

type Subject = Pick<RefusedObject, 'kind' | 'name' | 'namespace'>;

/**
 * Returns a function that lists the objects that are not in force as they are written, of all kinds, with the reason that
 * their status has. In a dry run, no status says it.
 */
export function refusedObjects(source: RefusedObjectsSource): () => RefusedObject[] {
  const { serviceRegistry, poolLabelSets, holds, problemOfService, problemOfHold } = source;
  const sort = poolLabelSorter(source.reserved);
  return () => [
    ...serviceRegistry.objects().flatMap((object) => {
      const refusal = serviceRegistry.refusalOf(object);
      const verdict = serviceInForce({ object, refusal, problem: problemOfService(object.service) });
      const dryRun = object.service.dryRun ? { dryRun: true as const } : {};
      return refused({ kind: 'NodeService', name: object.name }, verdict).map((each) => ({ ...each, ...dryRun }));
    }),
    ...[...poolLabelSets.all()].flatMap((set) => {
      const counts = countingSet(poolLabelSets.on(set.pool));
      const overruledBy = counts === set ? undefined : counts;
      const { kind, name, namespace } = set;
      return refused({ kind, name, namespace }, setInForce({ set, overruledBy, refused: sort(set).refused }));
    }),
    ...holds
      .objects()
      .flatMap((hold) => refused({ kind: 'NodeHold', name: hold.name }, holdInForce(hold, problemOfHold(hold)))),
  ];
}

function refused(subject: Subject, { status, reason, message }: StatusVerdict): RefusedObject[] {
  return status === 'False' ? [{ ...subject, reason, message }] : [];
}
