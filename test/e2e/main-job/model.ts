import { notReadyTaint, SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import type { StandInKind } from '../../stand-ins/stand-in.ts';

export const SERVICES: readonly StandInKind[] = ['ws-daemon', 'registry-facade'];
export const GATES = ['label', 'taint', 'both'] as const;
export const FOREIGN_LABEL = 'example.com/team';

/** Actions on the cluster that decide what a Node should carry. */
export type Deeds = {
  gate: (typeof GATES)[number];
  /** Nodes that are not for workspaces. */
  plain: ReadonlySet<string>;
  unreadyPods: Set<string>;
  /** The node that each Workspace is on. */
  workspaces: Map<string, string>;
  /** Nodes that a person holds. */
  held: Set<string>;
  /** Keys of others' taints, in order. */
  foreignTaints: Map<string, string[]>;
};

/** The part of a Node that the model describes. */
export type Shown = Record<string, string | undefined> & { foreignTaints: string; foreignLabel: string | undefined };

/** The whole truth in ten lines. */
export function expected(node: SimulatedNode, rig: Rig, deeds: Deeds): Shown {
  const { gate, plain, unreadyPods, workspaces, held, foreignTaints } = deeds;
  const forWorkspaces = !plain.has(node.name);
  const shown: Shown = { foreignTaints: `${foreignTaints.get(node.name) ?? []}`, foreignLabel: 'rnd' };
  for (const service of SERVICES) {
    const ready = node.runs(service) && !unreadyPods.has(`${service}-${node.name}`);
    shown[rig.readyLabel(service)] = (gate === 'taint' ? forWorkspaces : ready) ? 'true' : undefined;
    shown[notReadyTaint(service)] = gate !== 'label' && forWorkspaces && !ready ? 'true:NoSchedule' : undefined;
  }
  const kept = held.has(node.name) || [...workspaces.values()].includes(node.name);
  return { ...shown, [SCALE_DOWN_DISABLED]: kept ? 'true' : undefined };
}

export function observed({ metadata, spec }: NodeObject, rig: Rig): Shown {
  const taints = spec.taints ?? [];
  const ours = SERVICES.map(notReadyTaint);
  const shown: Shown = {
    foreignTaints: `${taints.filter(({ key }) => !ours.includes(key)).map(({ key }) => key)}`,
    foreignLabel: metadata.labels?.[FOREIGN_LABEL],
  };
  for (const service of SERVICES) {
    const taint = taints.find(({ key }) => key === notReadyTaint(service));
    shown[rig.readyLabel(service)] = metadata.labels?.[rig.readyLabel(service)];
    shown[notReadyTaint(service)] = taint && `${taint.value}:${taint.effect}`;
  }
  return { ...shown, [SCALE_DOWN_DISABLED]: metadata.annotations?.[SCALE_DOWN_DISABLED] };
}
