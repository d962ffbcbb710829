import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { collectionPath } from '@rollcall/common/watched-resources.ts';
import { poolLabelSorter, type ReservedKeys } from '../../decide/labelers/pool-keys.ts';
import type { Fleet } from '../../state/fleet.ts';
import {
  type ObservedPoolLabelSet,
  POOL_LABEL_KINDS,
  POOL_LABEL_RESOURCES,
  type PoolLabelKind,
} from '../../state/pool-label-sets.ts';
import { type SetStatus, type Standings, setStatus, tallyOf } from './set-status.ts';
import { StatusController, type StatusWrites, type Telling } from './status-controller.ts';

export type PoolStatusOptions = {
  writes: StatusWrites;
  fleet: Fleet;
  reserved: ReservedKeys;
};

/** Controllers of the status of NodePoolLabels and NodePoolLabelSets. `refusedKeys`: number of keys that are refused. */
export function createPoolStatusControllers(options: PoolStatusOptions) {
  const statuses = POOL_LABEL_KINDS.map((kind) => createPoolStatusController(kind, options));
  return {
    controllers: statuses.map(({ controller }) => controller),
    refusedKeys: () => statuses.reduce((sum, { refusedKeys }) => sum + refusedKeys(), 0),
  };
}

/** Keeps the status of every set of a kind up to date. */
function createPoolStatusController(kind: PoolLabelKind, { writes, fleet, reserved }: PoolStatusOptions) {
  const { poolLabelSets } = fleet;
  const watched = POOL_LABEL_RESOURCES[kind];
  const sort = poolLabelSorter(reserved);
  const standings: Standings = new WeakMap();
  let refusedKeys = 0;
  const controller = new StatusController<ObservedPoolLabelSet, SetStatus>({
    writes,
    kind,
    path: ({ namespace, name }) => `${collectionPath(watched, namespace)}/${name}/status`,
    objects: () => poolLabelSets.all(kind),
    look,
    statusNow: (set) => poolLabelSets.statusOf(set),
    tellingOf: tellingOfRefused,
    noteStatus: (name, status) => poolLabelSets.noteStatus({ kind, name }, status),
  });
  return { controller, refusedKeys: () => refusedKeys };

  function look() {
    refusedKeys = 0;
    const nodes = Map.groupBy(fleet.nodeNames(), (name) => fleet.poolLabelSetOf(name));
    return (set: ObservedPoolLabelSet): SetStatus => {
      const counts = poolLabelSets.of(set.pool);
      const { accepted, refused } = sort(set);
      refusedKeys += refused.length;
      const ofPool = (nodes.get(set) ?? []).flatMap((name) => fleet.node(name) ?? []);
      return setStatus({
        set,
        overruledBy: counts === set ? undefined : counts,
        refused,
        tally: tallyOf(ofPool, accepted, standings),
        previous: poolLabelSets.statusOf(set),
        now: rfc3339(writes.clock.now()),
      });
    };
  }

  function tellingOfRefused(set: ObservedPoolLabelSet, { refusedKeys: refused }: SetStatus): Telling {
    const { uid, name, namespace } = set;
    const previous = poolLabelSets.statusOf(set) as Partial<SetStatus> | null | undefined;
    const subject = { apiVersion: `${watched.group}/${watched.version}`, kind, name, namespace, uid };
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
