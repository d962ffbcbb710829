import type { ServiceReport } from '@rollcall/common/report.ts';
import type { Freshness } from './freshness.ts';
import type { Machine } from './machines.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import type { ObservedWorkspace } from './observed-workspace.ts';
import type { ObservedPoolLabelSet } from './pool-label-sets.ts';

/** All that is known about a node at one moment: the only thing that labelers look at. */
export type NodeSnapshot = {
  name: string;
  uid: string;
  createdAtMs: number;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /** `undefined` where they are not watched. */
  taints: ObservedNode['taints'];
  pool: string | undefined;
  /** What its pool asks for; meaningless while nobody knows. */
  poolLabelSet: ObservedPoolLabelSet | undefined;
  poolLabelSetsKnown: boolean;
  freshness: Freshness;
  /** What the agent said last, by service name; old when the node is not fresh. */
  services: ReadonlyMap<string, ServiceReport>;
  ownedAnnotations: ReadonlySet<string>;
  /** Labels that rollcall applied, and those of them that somebody else owns as well. */
  ownedLabels: ReadonlySet<string>;
  sharedLabels: ReadonlySet<string>;
  /** `undefined` where only metadata is watched. */
  allocatable: ObservedNode['allocatable'];
  /** What the agent said last of the machine itself; `undefined` while none has spoken to this replica. */
  machine: Machine | undefined;
  /** The pods of the watched components on this node. */
  pods: readonly ObservedPod[];
  /** The workspaces on this node; `undefined` while nobody knows. */
  workspaces: readonly ObservedWorkspace[] | undefined;
};
