import type { ReadinessGate } from '@rollcall/coordinator/model/services.ts';
import type { NodeServiceSpec } from './node-services.ts';

/** How a history begins. */
export type WorldOptions = {
  gate: ReadinessGate;
  nodes: readonly { pool: string; forWorkspaces: boolean }[];
  /** The first NodeServices, by name. With any, Nodes are watched whole, and have pods of them. */
  nodeServices?: Readonly<Record<string, NodeServiceSpec>>;
  /** What the startup gate waits for. With it, Nodes are watched whole, and begin behind the gate. */
  startupGate?: readonly string[];
  /** Whether it waits for DaemonSets as well. */
  daemonGate?: boolean;
  /** Whether pods are evicted, and for labels of services as well. */
  evict?: { readiness: boolean };
  /** Whether rules want the label of a NodeService, too. */
  sharedLabels?: boolean;
  /** Whether a rule asks for ids of devices, and not for a label. */
  rulesAreById?: boolean;
  /** The version that agents report first. Without it, none reports one. */
  agentVersion?: string;
  dryRun?: boolean;
  /** Whether replicas keep the truth ledger. */
  keepsLedger?: boolean;
};
