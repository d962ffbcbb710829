import { PROBE_KINDS, type SEEN_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import {
  ON_DEMAND_ACTORS,
  ON_DEMAND_KINDS,
  type OnDemandKind,
  onDemandObject,
} from '@rollcall/coordinator/decide/readiness/on-demand-actors.test-fixtures.ts';
import { probeOf } from '@rollcall/coordinator/decide/readiness/probes.test-fixtures.ts';
import type { OnNode } from '@rollcall/coordinator/state/collection.ts';
import { observeCsiNode } from '@rollcall/coordinator/state/csi-nodes.ts';
import type { OnDemandName } from '@rollcall/coordinator/state/on-demand-objects.ts';
import { SHAPES } from './kinds.ts';
import { removeCondition, rival } from './people.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/** Whether a probe goes to an address of a pod, if there is one. */
export function isAtAddress(kind: string): boolean {
  return 'port' in probeOf(kind, 1);
}

export function isOfCluster(kind: string): boolean {
  return PROBE_KINDS[kind]?.isOfCluster === true;
}

/** What is there of an object that is watched on demand: of which Node, and whether the check passes by it. */
export type OnDemandThere = { uid: string; isSo: boolean; collection: OnDemandName; object: OnNode };

/** What the coordinator sees itself: whether it is really so, and how it changes. */
type SeenActor = {
  isSo: (world: World, truth: NodeTruth) => boolean;
  /** `isGone`: where it is not so, what says it is not there at all. */
  set: (world: World, truth: NodeTruth, isSo: boolean, isGone?: boolean) => void;
};

/** Pods and devices are played by deeds of their own. */
const ELSEWHERE = ['pods', 'device'] as const;
export type OfferedKind = Exclude<keyof typeof SEEN_KINDS, (typeof ELSEWHERE)[number]>;

/** By an object of the node, which outlives its Node. */
function onDemand(kind: OnDemandKind): SeenActor {
  return {
    isSo: ({ onDemand }, { name, uid }) => {
      const there = onDemand.get(`${kind} ${name}`);
      return there?.uid === uid ? there.isSo : ON_DEMAND_ACTORS[kind].passesByNone;
    },
    set: (world, { name, uid }, isSo) => {
      const { collection, object } = onDemandObject(kind, { name, uid, createdAtMs: world.clock.now() }, isSo);
      world.onDemand.set(`${kind} ${name}`, { uid, isSo, collection, object });
      world.heard(kind, name);
      world.tell('onDemand', (to) => to.onDemand(collection, object));
    },
  };
}

/** §10: an object of the node counts where it is of this Node, by its uid. */
export const OFFERED: Readonly<Record<OfferedKind, SeenActor>> = {
  ...(Object.fromEntries(ON_DEMAND_KINDS.map((kind) => [kind, onDemand(kind)])) as Record<OnDemandKind, SeenActor>),
  csiNode: {
    isSo: ({ csiNodes }, { name, uid }) => {
      const csiNode = csiNodes.get(name);
      return csiNode?.nodeUid === uid && csiNode.drivers.includes(SHAPES.csiNode.check.driver);
    },
    set: (world, { name, uid }, isSo, isGone = false) => {
      const csiNode = observeCsiNode(SHAPES.csiNode.object({ name, uid, createdAtMs: 0 }, isSo));
      if (!isSo && isGone) world.csiNodes.delete(name);
      else world.csiNodes.set(name, csiNode);
      world.heard('csiNodes', name);
      world.tell('csiNodes', (to) => to.csiNode(csiNode, !isSo && isGone));
    },
  },
  resource: {
    isSo: ({ nodes }, { name }) => {
      const { check, allocatable } = SHAPES.resource;
      return nodes.get(name)?.status?.allocatable?.[check.name] === allocatable(true)[check.name];
    },
    set: (world, truth, isSo) => {
      world.heard('nodes', truth.name);
      world.nodes.setAllocatable(truth.name, SHAPES.resource.allocatable(isSo));
    },
  },
  condition: {
    isSo: ({ nodes }, { name }) => {
      const good = SHAPES.condition.condition(true);
      const conditions = nodes.get(name)?.status?.conditions ?? [];
      return conditions.some(({ type, status }) => type === good.type && status === good.status);
    },
    set: (world, truth, isSo, isGone = false) => {
      const { type, status } = SHAPES.condition.condition(isSo);
      if (!isSo && isGone) removeCondition(world, truth, type);
      else rival(world, truth, type, status);
    },
  },
};

export const OFFERED_KINDS = Object.keys(OFFERED) as OfferedKind[];
