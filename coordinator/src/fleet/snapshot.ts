import type { ServiceReport } from '@rollcall/common/report.ts';
import type { Freshness } from './freshness.ts';
import type { ObservedPod } from './pod-index.ts';

/** All that is known about a node at one moment: the only thing that labelers look at. */
export type NodeSnapshot = {
  name: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  pool: string | undefined;
  freshness: Freshness;
  /** What the agent said last, by service name; old when the node is not fresh. */
  services: ReadonlyMap<string, ServiceReport>;
  /** The pods of the watched components on this node. */
  pods: readonly ObservedPod[];
};
