import type { Clock } from '@rollcall/common/clock.ts';
import type { ModelAgent } from './agent.ts';
import { PORTS } from './node-services.ts';

export type ServiceName = 'ws-daemon' | 'registry-facade';
export const SERVICE_NAMES: readonly ServiceName[] = ['ws-daemon', 'registry-facade'];

/** `readySinceMs`: when it last became Ready. Both times are of the wall clock. */
export type ServicePod = {
  uid: string;
  createdAtMs: number;
  readySinceMs: number;
  ready: boolean;
  terminating: boolean;
};

/** What an agent said last to whoever leads. */
type Voice = { atMs: number; leaving: boolean };

/**
 * `checks`: of NodeServices, by what was checked. `boot`: of the agent that said it; `version`: empty for none;
 * `before`: of the agent before it in this term.
 */
export type Said = {
  boot: string;
  version: string;
  before: string | undefined;
  up: Record<ServiceName, boolean>;
  device: boolean;
  checks: ReadonlyMap<string, boolean>;
};

/** What is really so on a node, and what the leader was told. Of the Node itself the API server keeps what is so. */
export type NodeTruth = {
  name: string;
  uid: string;
  forWorkspaces: boolean;
  createdAtMs: number;
  /** The same by the wall clock, as the Node says it. */
  creationTimestampMs: number;
  up: Record<ServiceName, boolean>;
  /** By the label `component`: pods of Gitpod and, in a world with NodeServices, those that these select. */
  pods: Record<string, ServicePod | undefined>;
  /** What answers at ports that NodeServices ask. */
  ports: Record<number, boolean>;
  device: boolean;
  /** When the file that a port stands for was written, by the wall clock. */
  writtenMs: Record<number, number>;
  /** When the machine started, by the wall clock. */
  bootedMs: number;
  /** Whether its agents reach the coordinator. */
  reachable: boolean;
  /** Those whose pod is there; one that hangs is not in `alive`. */
  agents: ModelAgent[];
  alive: Set<ModelAgent>;
  /** When the pod of an agent came last, and when one went. */
  agentPodCameMs: number;
  agentPodWentMs: number;
  /** By boot, in this term. */
  voices: Map<string, Voice>;
  said: Said | undefined;
  /** Keys of NodeServices that rollcall set and that were there ever since, with the value that it set last. */
  ours: Map<string, string>;
  /** Keys (`kind:KEY`) that the list on the Node named when a person removed it, until it names them again. */
  unlisted: Set<string>;
  /** Its managedFields were reset. */
  wasReset: boolean;
  /** Uids of NodeServices that the Node records as ready once. */
  started: Set<string>;
  /** NFD applies the label of the device as well. */
  nfd: boolean;
  /** Keys that a person set before they were ours (`foreign`), or while it was open whose they are. */
  claims: Map<string, 'foreign' | 'open'>;
  /** When a person last set such a key. */
  editedMs: Map<string, number>;
  /** What is seen of the node, and when that changed last. */
  evidence: string;
  turnedMs: number;
  /** Since when a label is to leave for what was configured. */
  leavingMs: Map<string, number>;
  /** Since when a label had been to leave, and when it was to stay after all, or was gone. */
  stayedMs: Map<string, { sinceMs: number; atMs: number }>;
  /** When a label left for what was configured, until it is to be there again. */
  lostMs: Map<string, number>;
};

/** A node that has just been created, with nothing on it yet. */
export function newTruth(node: Pick<NodeTruth, 'name' | 'uid' | 'forWorkspaces'>, clock: Clock): NodeTruth {
  return {
    ...node,
    createdAtMs: clock.monotonic(),
    creationTimestampMs: clock.now(),
    up: { 'ws-daemon': true, 'registry-facade': true },
    pods: {},
    ports: Object.fromEntries(PORTS.map((port) => [port, true])),
    device: false,
    writtenMs: Object.fromEntries(PORTS.map((port) => [port, clock.now()])),
    bootedMs: clock.now(),
    reachable: true,
    agents: [],
    alive: new Set(),
    agentPodCameMs: 0,
    agentPodWentMs: Number.NEGATIVE_INFINITY,
    voices: new Map(),
    said: undefined,
    ours: new Map(),
    unlisted: new Set(),
    wasReset: false,
    started: new Set(),
    nfd: false,
    claims: new Map(),
    editedMs: new Map(),
    evidence: '',
    turnedMs: 0,
    leavingMs: new Map(),
    stayedMs: new Map(),
    lostMs: new Map(),
  };
}
