import { meetsNodeSelector } from '../kube/node-affinity.ts';
import type { Counters, NodeSelector, ResourceSlice, SliceDevice, SliceReach } from '../kube/objects.ts';
import type { DraDevices } from '../model/inventory/inventory.ts';
import { quantityOf } from '../model/inventory/quantity.ts';
import { EVERY_NODE, type OnNode } from './collection.ts';
import { lastWriteMs } from './last-write.ts';
import type { ObservedNode } from './observed-node.ts';
import { type Amounts, mostAtOnce } from './shared-counters.ts';

/** Devices of a slice that reach the same nodes: on the node of the slice, or as `reach` says. */
type OfferedDevices = {
  reach?: { nodeName: string } | { nodeSelector: NodeSelector };
  /** How many take nothing from shared counters. */
  count: number;
  /** What the others take, device by device. */
  sharing: readonly Readonly<Record<string, number>>[];
};

/** A part of what a driver offers for dynamic resource allocation. */
export type ObservedResourceSlice = OnNode & {
  driver: string;
  pool: string;
  generation: number;
  /** How many slices its pool has in this generation. */
  slices: number;
  /** Uid of the Node that owns it; `undefined` where none does. */
  nodeUid?: string;
  /** When it was last written, by the wall clock. */
  writtenMs: number;
  /** Its devices that no taint keeps pods off. */
  devices: readonly OfferedDevices[];
  /** Capacities of shared counters, by `SET/COUNTER`. */
  counters?: Readonly<Record<string, number>>;
};

/** What of a Node decides which slices are its own. */
export type SliceNode = Pick<ObservedNode, 'name' | 'uid' | 'createdAtMs' | 'labels'>;

function isOffered({ taints = [] }: SliceDevice): boolean {
  return !taints.some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
}

export function observeResourceSlice({ metadata, spec }: ResourceSlice): ObservedResourceSlice {
  const { driver, pool, nodeName = '', perDeviceNodeSelection, devices, sharedCounters = [] } = spec;
  const offered = (devices ?? []).filter(isOffered);
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Node');
  const counters = sharedCounters.flatMap(({ name, counters = {} }) => amountsIn(name, counters));
  const isElsewhere = nodeName === '' && (perDeviceNodeSelection || spec.allNodes || spec.nodeSelector);
  const reached = perDeviceNodeSelection
    ? [...Map.groupBy(offered, (device) => JSON.stringify(reachOf(device) ?? null)).values()]
    : [offered];
  return {
    uid: metadata.uid,
    namespace: '',
    name: metadata.name,
    node: isElsewhere ? EVERY_NODE : nodeName,
    driver,
    pool: pool.name,
    generation: pool.generation,
    slices: pool.resourceSliceCount,
    ...(owner?.uid === undefined ? {} : { nodeUid: owner.uid }),
    writtenMs: lastWriteMs(metadata),
    devices: reached.map((own) => offeredDevices(own, perDeviceNodeSelection ? (own[0] ?? {}) : spec)),
    ...(counters.length > 0 ? { counters: Object.fromEntries(counters) } : {}),
  };
}

/** `undefined` for every node, or for the node that has the slice. */
function reachOf({ nodeName, nodeSelector }: SliceReach): OfferedDevices['reach'] {
  if (nodeSelector) return { nodeSelector };
  return nodeName === undefined ? undefined : { nodeName };
}

function offeredDevices(devices: readonly SliceDevice[], where: SliceReach): OfferedDevices {
  const reach = reachOf(where);
  const sharing = devices.flatMap(({ consumesCounters = [] }) => {
    const taken = consumesCounters.flatMap(({ counterSet, counters = {} }) => amountsIn(counterSet, counters));
    return taken.length > 0 ? [Object.fromEntries(taken)] : [];
  });
  return { ...(reach ? { reach } : {}), count: devices.length - sharing.length, sharing };
}

function amountsIn(set: string, counters: Counters): [string, number][] {
  return Object.entries(counters).map(([name, { value }]) => [`${set}/${name}`, quantityOf(value) ?? 0]);
}

/** What the slices that may reach a node offer there, by driver. */
export function draDevices(slices: readonly ObservedResourceSlice[], node: SliceNode): ReadonlyMap<string, DraDevices> {
  const own = slices.filter(({ nodeUid }) => nodeUid === undefined || nodeUid === node.uid);
  return new Map([...Map.groupBy(own, ({ driver }) => driver)].map(([driver, all]) => [driver, offered(all, node)]));
}

/** Of each pool the slices of the newest generation count; a driver may be just about to write the others. */
function offered(slices: readonly ObservedResourceSlice[], node: SliceNode): DraDevices {
  let count = 0;
  let isComplete = true;
  for (const pool of Map.groupBy(slices, (slice) => slice.pool).values()) {
    const newest = Math.max(...pool.map(({ generation }) => generation));
    const own = pool.filter(({ generation }) => generation === newest);
    const current = own.filter((slice) => isCurrent(slice, node));
    const devices = current.flatMap((slice) => slice.devices.filter(({ reach }) => reaches(reach, node)));
    const atOnce = atOnceOf(current, devices);
    count += devices.reduce((sum, each) => sum + each.count, 0) + atOnce.count;
    isComplete &&= atOnce.isExact && current.length === own.length && own.length >= (own[0]?.slices ?? 0);
  }
  return { count, isComplete };
}

type AtOnce = ReturnType<typeof mostAtOnce>;

/** The last answer for each first slice: a node is evaluated far more often than its slices change. */
const lastAtOnce = new WeakMap<ObservedResourceSlice, { parts: readonly object[]; atOnce: AtOnce }>();

function atOnceOf(slices: readonly ObservedResourceSlice[], devices: readonly OfferedDevices[]): AtOnce {
  const [first] = slices;
  const sharing = devices.flatMap((each) => each.sharing);
  if (!first || sharing.length === 0) return { count: 0, isExact: true };
  const parts = [...slices, ...devices];
  const last = lastAtOnce.get(first);
  if (last?.parts.length === parts.length && last.parts.every((part, at) => part === parts[at])) return last.atOnce;
  const capacities = new Map(slices.flatMap(({ counters = {} }) => Object.entries(counters)));
  const atOnce = mostAtOnce(sharing.map(amountsOf), capacities);
  lastAtOnce.set(first, { parts, atOnce });
  return atOnce;
}

/** A slice for one node that no Node owns may be of an earlier Node of this name, unless it was written since. */
function isCurrent({ node: on, nodeUid, writtenMs }: ObservedResourceSlice, node: SliceNode): boolean {
  return on === EVERY_NODE || nodeUid !== undefined || writtenMs >= node.createdAtMs;
}

function reaches(reach: OfferedDevices['reach'], node: SliceNode): boolean {
  if (!reach) return true;
  return 'nodeName' in reach ? reach.nodeName === node.name : meetsNodeSelector(reach.nodeSelector, node);
}

function amountsOf(taken: Readonly<Record<string, number>>): Amounts {
  return new Map(Object.entries(taken));
}
