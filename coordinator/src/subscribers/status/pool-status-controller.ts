import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { collectionPath } from '@rollcall/common/watched-resources.ts';
import { poolLabelSorter, type ReservedKeys } from '../../decide/labelers/pool-keys.ts';
import { labelsLeftOn } from '../../decide/labelers/pool-labels.ts';
import type { Fleet } from '../../state/fleet.ts';
import {
  countingSet,
  type ObservedPoolLabelSet,
  POOL_LABEL_KINDS,
  POOL_LABEL_RESOURCES,
  type PoolLabelKind,
} from '../../state/pool-label-sets.ts';
import { OTHER_POOL, type SetStatus, type Standings, setStatus, tallyOf } from './set-status.ts';
import { conditionsIn, StatusController, type StatusWrites, type Telling } from './status-controller.ts';

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
    objects: poolLabelSets,
    part: kind,
    look,
    tellingOf: tellingOfRefused,
  });
  return { controller, refusedKeys: () => refusedKeys };

  function look() {
    refusedKeys = 0;
    if (poolLabelSets.all(kind).next().done) return () => undefined;
    const nodes = Map.groupBy(fleet.nodeNames(), (name) => fleet.poolLabelSetOf(name));
    const others = nodesOfOtherPools();
    return (set: ObservedPoolLabelSet): SetStatus => {
      const counts = countingSet(poolLabelSets.on(set.pool));
      const ofPool = (nodes.get(set) ?? []).flatMap((name) => fleet.node(name) ?? []);
      const { accepted, refused } = sort(set);
      refusedKeys += refused.length;
      return setStatus({
        set,
        overruledBy: counts === set ? undefined : counts,
        refused,
        tally: tallyOf(ofPool, accepted, standings),
        nodesOfOtherPools: others.get(set) ?? [],
        previous: set.status,
        now: rfc3339(writes.clock.now()),
      });
    };
  }

  /** Nodes that keep labels of a set although they are in another pool, by the set. */
  function nodesOfOtherPools(): ReadonlyMap<ObservedPoolLabelSet, string[]> {
    const found = new Map<ObservedPoolLabelSet, string[]>();
    for (const name of fleet.nodeNames()) {
      const otherPoolLabelSets = fleet.otherPoolLabelSetsOf(name);
      const node = otherPoolLabelSets.length > 0 ? fleet.node(name) : undefined;
      if (!node) continue;
      const { labels, annotations, owned } = node;
      const pool = { pool: undefined, poolLabelSet: fleet.poolLabelSetOf(name) };
      const listed = { labels, annotations, ownedLabels: owned.labels, ...pool };
      for (const set of otherPoolLabelSets) {
        const left = labelsLeftOn({ ...listed, otherPoolLabelSets: [set] }, reserved, sort);
        const { accepted } = sort(set);
        if (!left.keys().some((key) => accepted.has(key))) continue;
        const names = found.get(set) ?? [];
        found.set(set, names);
        names.push(name);
      }
    }
    return found;
  }

  function tellingOfRefused(set: ObservedPoolLabelSet, { refusedKeys: refused, conditions }: SetStatus): Telling {
    const { uid, name, namespace } = set;
    const previous = set.status as Partial<SetStatus> | null | undefined;
    const subject = { apiVersion: `${watched.group}/${watched.version}`, kind, name, namespace, uid };
    const ofOtherPools = conditions.filter(({ reason }) => reason === OTHER_POOL).map(({ message }) => message);
    const before = conditionsIn(previous).filter((condition) => condition?.reason === OTHER_POOL);
    const message = [...refused.map(({ key, reason }) => `${key} ${reason}`), ...ofOtherPools].join('; ');
    const reason = refused.length > 0 ? 'KeysRefused' : OTHER_POOL;
    return {
      about: [refused, ofOtherPools],
      shown: [previous?.refusedKeys ?? [], before.map((condition) => condition?.message)],
      news: message === '' ? undefined : { subject, type: 'Warning', reason, message },
      isAllClear: false,
    };
  }
}
