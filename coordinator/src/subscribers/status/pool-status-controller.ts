import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import { poolLabelSorter, type ReservedKeys } from '../../decide/labelers/pool-keys.ts';
import type { Fleet } from '../../state/fleet.ts';
import type { ObservedPoolLabelSet } from '../../state/pool-label-sets.ts';
import { type SetStatus, type Standings, setStatus, tallyOf } from './set-status.ts';
import { StatusController, type StatusWrites, type Telling } from './status-controller.ts';

export type PoolStatusOptions = {
  writes: StatusWrites;
  fleet: Fleet;
  reserved: ReservedKeys;
};

const GROUP_VERSION = 'labels.banzaicloud.io/v1alpha1';
const KIND = 'NodePoolLabelSet';

/** Keeps the status of every NodePoolLabelSet up to date. `refusedKeys` says how many keys are refused, over all sets. */
export function createPoolStatusController({ writes, fleet, reserved }: PoolStatusOptions) {
  const sort = poolLabelSorter(reserved);
  const standings: Standings = new WeakMap();
  let refusedKeys = 0;
  const controller = new StatusController<ObservedPoolLabelSet, SetStatus>({
    writes,
    kind: KIND,
    path: ({ namespace, name }) => `${collectionPath(WATCHED.nodePoolLabelSets, namespace)}/${name}/status`,
    objects: () => [...fleet.poolLabelSets.all()],
    look,
    statusNow: ({ name }) => fleet.poolLabelSets.statusOf(name),
    tellingOf: tellingOfRefused,
    noteStatus: (name, status) => fleet.poolLabelSets.noteStatus(name, status),
  });
  return { controller, refusedKeys: () => refusedKeys };

  function look() {
    refusedKeys = 0;
    const nodes = Map.groupBy(fleet.nodeNames(), (name) => fleet.poolLabelSetOf(name));
    return (set: ObservedPoolLabelSet): SetStatus => {
      const counts = fleet.poolLabelSets.of(set.pool);
      const { accepted, refused } = sort(set);
      refusedKeys += refused.length;
      const ofPool = (nodes.get(set) ?? []).flatMap((name) => fleet.node(name) ?? []);
      return setStatus({
        set,
        overruledBy: counts === set ? undefined : counts,
        refused,
        tally: tallyOf(ofPool, accepted, standings),
        previous: fleet.poolLabelSets.statusOf(set.name),
        now: rfc3339(writes.clock.now()),
      });
    };
  }

  function tellingOfRefused(
    { uid, name, namespace }: ObservedPoolLabelSet,
    { refusedKeys: refused }: SetStatus,
  ): Telling {
    const previous = fleet.poolLabelSets.statusOf(name) as Partial<SetStatus> | null | undefined;
    const subject = { apiVersion: GROUP_VERSION, kind: KIND, name, namespace, uid };
    const message = refused.map(({ key, reason }) => `${key} ${reason}`).join('; ');
    const news = { subject, type: 'Warning', reason: 'KeysRefused', message } as const;
    return {
      about: refused,
      shown: previous?.refusedKeys,
      news: refused.length > 0 ? news : undefined,
      isAllClear: false,
    };
  }
}
