import type { ServiceReport } from '@rollcall/common/report.ts';
import type { Inventory } from '../model/inventory/inventory.ts';
import type { ConditionCheck, ProbeCheck } from '../model/services.ts';
import type { Doubt } from './doubts.ts';
import type { Machine } from './machines.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import type { ObservedWorkspace } from './observed-workspace.ts';
import type { OnDemandOnNode } from './on-demand-objects.ts';
import type { ObservedPoolLabelSet } from './pool-label-sets.ts';
import type { Freshness } from './presence.ts';
import type { Failure } from './shared-faults.ts';

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
  /** What its pool asks for; meaningless while the sets are unknown. */
  poolLabelSet: ObservedPoolLabelSet | undefined;
  /** Other pools that labels of the node name, and their sets. */
  otherPools: readonly string[];
  otherPoolLabelSets: readonly ObservedPoolLabelSet[];
  poolLabelSetsKnown: boolean;
  freshness: Freshness;
  /** What the agent said last of the checks as they are now, by service name; old when the node is not fresh. */
  services: ReadonlyMap<string, ServiceReport>;
  /** Of the agent that reported last, empty where it does not tell; `undefined` while none has spoken to this replica. */
  agentVersion: string | undefined;
  /** When the pod of that agent was made, by the wall clock, as far as that is known. */
  agentBornMs?: number | undefined;
  ownedAnnotations: ReadonlySet<string>;
  /** Labels that rollcall applied, or lists and that have no owner, and which of them another manager owns as well. */
  ownedLabels: ReadonlySet<string>;
  sharedLabels: ReadonlySet<string>;
  /** Types of conditions that rollcall applied. */
  ownedConditions: ReadonlySet<string>;
  /** `undefined` where only metadata is watched. */
  allocatable: ObservedNode['allocatable'];
  /** All but the kubelet's; `undefined` where only metadata is watched. */
  conditions: ObservedNode['conditions'];
  /** Who writes conditions that are not ours alone: names of field managers, by type. */
  conditionWriters: ReadonlyMap<string, string>;
  /** Since when nothing vouches for a condition that a check reads. */
  doubt: (check: ConditionCheck) => Doubt;
  /** What the failure of a check of DNS or of the network is, where it is not held against the node. */
  fault: (check: ProbeCheck, failure: Failure) => 'failing' | 'shared' | undefined;
  /** How long a node, or a reporter on it, may be silent. */
  silenceMs: number;
  /** What the agent said last of the machine itself; `undefined` while none has spoken to this replica. */
  machine: Machine | undefined;
  /** The objects of the node that are watched while a rule or a check asks for them. */
  onDemand: OnDemandOnNode;
  /** What it has, as far as that is known. */
  inventory: Inventory;
  /** The pods on this node that are watched for services. */
  pods: readonly ObservedPod[];
  /** Whether the pods of a namespace were listed. */
  podsKnown: (namespace: string) => boolean;
  /** Whether all services are known: what the node has may be because of one that is not. */
  servicesKnown: boolean;
  /** When its agent was last heard; `undefined` for one that was not since silence was last counted anew. Monotonic. */
  heardMs?: number | undefined;
  /** Since when the current check of a service is sent to the agent, by service name. Monotonic. */
  assignedMs: ReadonlyMap<string, number>;
  /** The workspaces on this node; `undefined` while they are unknown. */
  workspaces: readonly ObservedWorkspace[] | undefined;
};
