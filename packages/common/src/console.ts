/** The documents of the coordinator's console: what `/v1/…` answers, for the page and for `kubectl rollcall`. */

import type { ActiveGuard } from './guards.ts';
import type { DeviceReport } from './report.ts';

/** Whether a service is ready on a node; `unknown` while that is not known, so that keys stay as they are. */
export type ServiceState = 'ready' | 'not-ready' | 'unknown';

/**
 * How well the agent of a node is heard. `unheard`: not yet since this coordinator began to lead. `none`: agents are
 * switched off.
 */
export type AgentState = 'fresh' | 'leaving' | 'unheard' | 'silent' | 'absent' | 'none';

export type KeyKind = 'label' | 'annotation' | 'taint' | 'condition';

/** The replica that answers. Every document has one, except the documents of the stream. Times are RFC 3339. */
export type ReplicaDocument = {
  /** Name of its pod, or of the host where it is in none. */
  name: string;
  version: string;
  /** Only the leader hears agents: where this is false, what the document says of services is nothing to go by. */
  leading: boolean;
  /** Who leads, where it is another and is known; named as `name`. */
  leader?: string;
  /** The URL at which the leader takes reports. */
  leaderUrl?: string;
  /** For people, where it does not lead. */
  note?: string;
  /** Guards that act now. */
  guards: readonly ActiveGuard[];
  dryRun: boolean;
  readinessGate: 'label' | 'taint' | 'both';
  /** After how long without a report a node is silent. */
  staleAfterSeconds: number;
  now: string;
};

/** One node in `GET /v1/nodes`, and in an event of the stream. */
export type NodeSummary = {
  name: string;
  /** Absent where the node is in none. */
  pool?: string;
  agent: AgentState;
  /** The guard that keeps the silence of its agent from being held against it. */
  guard?: string;
  /** Of its agent; absent while none has spoken, or where it does not tell. */
  agentVersion?: string;
  /** The services that the node is for, by name. */
  services: Readonly<Record<string, ServiceState>>;
  /** Those whose NodeService is a dry run, which nothing else in this document is about; absent where there are none. */
  dryRun?: Readonly<Record<string, ServiceState>>;
  /** Services that came and went too often, and count as not ready for a while. */
  heldBack: readonly string[];
  /** Conditions about drains, maintenance and shutdown that are True; absent where none is, or conditions are not watched. */
  lifecycle?: readonly string[];
  /** Services that the node waits for since its creation; absent where there are none. */
  starting?: readonly (StartingDocument & { service: string; checks: readonly string[] })[];
  /** Keys that another client keeps changing. */
  contested: readonly string[];
  /** Keys that are left out, because another manager owns them or the API server refuses them. */
  skipped: readonly string[];
  /** Labels that another program set for a pool, and that rollcall leaves; absent where there are none. */
  left?: readonly string[];
  /** Whether something is about to be written; in a dry run, whether something would be. */
  pending: boolean;
};

/**
 * A service of mode Startup, or with a startup deadline, was never ready on the node. `since`: the creation of the node;
 * `deadline`: the end of the startup deadline, where there is one.
 */
export type StartingDocument = { since: string; deadline?: string };

/** `GET /v1/nodes` */
export type NodesDocument = {
  replica: ReplicaDocument;
  /** What changes from here on is told by `/v1/stream?after=EVENTID`; absent on a replica that does not lead. */
  eventId?: string;
  /** Objects that are not in force as they are written; absent where there are none. */
  refused?: readonly RefusedObject[];
  /** NodeServices in force whose `nodeSelector` selects no node; absent where there are none. */
  nowhere?: readonly string[];
  nodes: readonly NodeSummary[];
};

/** `GET /v1/plan` */
export type PlanDocument = {
  replica: ReplicaDocument;
  nodes: readonly PlannedNode[];
  /** Nodes that get labels of a pool, although Banzai's operator listed no label for them: often it saw no pool. */
  newInPools: readonly string[];
  /** Labels that another program set for a pool, and that rollcall leaves on these nodes until a person decides. */
  left: readonly { key: string; reason: string; nodes: readonly string[] }[];
};

export type PlannedNode = PendingDocument & {
  name: string;
  /** What the Node says and is to say otherwise; what is written besides is there already. */
  changes: readonly Omit<ChangeDocument, 'at'>[];
  /** The reason for each key that a labeler decides about, by `kind:key`. */
  reasons: Readonly<Record<string, string>>;
};

/** `GET /v1/schedule?pod=NAMESPACE/NAME` */
export type ScheduleDocument = {
  replica: ReplicaDocument;
  /** `workspace`: its kind, or a sentence that says that it is none. */
  pod: { namespace: string; name: string; workspace: string };
  nodes: readonly ScheduledNode[];
};

export type ScheduledNode = {
  name: string;
  passes: boolean;
  /** Every rule that objects; kube-scheduler is told the first. */
  refusals: readonly { rule: string; message: string; evidence?: string }[];
  /** From 0 to 10, among the nodes that pass. */
  score: number;
  terms: readonly object[];
};

/** `GET /v1/services` */
export type ServicesDocument = { replica: ReplicaDocument; services: readonly ServiceDocument[] };

export type ServiceDocument = {
  name: string;
  /** `built-in`, or a `NodeService`. */
  origin: 'built-in' | 'NodeService';
  /** A NodeService that is not accepted is not in force. */
  accepted: boolean;
  /** Why it is not, or why a built-in service does not publish all of its keys. */
  problem?: { reason: string; message: string };
  mode: 'Continuous' | 'Startup';
  /** Nothing is written to nodes. */
  dryRun?: true;
  /** What nodes show of it; in a dry run, what they would show. */
  publish: { label?: string; taint?: string; condition?: string };
  /** What has to be so for it to be ready, each as a clause. */
  checks: readonly { name: string; what: string }[];
  /** On so many nodes. */
  nodes: { ready: number; notReady: number; unknown: number };
  /** Why its `nodeSelector` selects no node, as a clause; absent where it selects one. */
  noNode?: string;
  /**
   * Why it is not ready on most of the nodes where it is not, or why it is unknown, where it is ready or unknown everywhere;
   * absent where it is ready everywhere. `nodes`: those that have this reason, of which `example` is one.
   */
  commonest?: { state: ServiceState; reason: string; nodes: number; example: string };
};

/** An object that is not in force as it is written, with the reason and the message of its condition `Ready`. */
export type RefusedObject = {
  kind: 'NodeService' | 'NodePoolLabels' | 'NodePoolLabelSet' | 'NodeHold';
  name: string;
  namespace?: string;
  reason: string;
  message: string;
  /** It is a dry run, which nothing waits for. */
  dryRun?: true;
};

/** Which way a Node was wrong: it said that something is ready that is not, or the other way round. */
export type DriftDirection = 'said-ready' | 'said-not-ready';

/**
 * Why the Node said so:
 * - `unwritten`: what is to be written is under way, or the API server cannot be written to
 * - `held-back`: the service came and went too often, and counts as not ready for a while
 * - `guarded`: a guard holds what should go
 * - `contested`: another client keeps changing the key
 * - `foreign`: another manager owns the key, or the API server refuses it
 * - `dry-run`: another program writes the key, not rollcall
 */
export type DriftCause = 'unwritten' | 'held-back' | 'guarded' | 'contested' | 'foreign' | 'dry-run';

/** `GET /v1/audit`: how long Nodes said what the evidence contradicts. Begins anew with every leader. */
export type AuditDocument = {
  replica: ReplicaDocument;
  /** Since when this leader keeps the book. */
  since: string;
  /** How many nodes it is kept of. */
  nodes: number;
  /** Over all keys and both directions; what a team can set an objective on. */
  driftSecondsPerNodeDay: number;
  /** The worst first. They count nodes that are gone as well. */
  keys: readonly AuditKey[];
  /** Of nodes that are there: one for each node, key, direction and cause. */
  entries: readonly AuditEntry[];
};

export type AuditKey = {
  kind: KeyKind;
  key: string;
  /** The service that the key is about. */
  service?: string;
  saidReadySeconds: number;
  saidNotReadySeconds: number;
  /** On so many nodes it is so at this moment. */
  nodesNow: number;
};

export type AuditEntry = {
  node: string;
  kind: KeyKind;
  key: string;
  service?: string;
  direction: DriftDirection;
  cause: DriftCause;
  seconds: number;
  /** How often. */
  times: number;
  /** Since when, if it is so at this moment. */
  since?: string;
  /** The evidence, when it began last. */
  evidence: string;
};

/** Why something is as it is, in sentences for people. */
export type CauseDocument = {
  /** Whether it is as one would wish. */
  isWell: boolean;
  /** The cause, without a full stop. */
  headline: string;
  /** What would change it. */
  next: string;
};

/** `GET /v1/nodes/NAME`: one node, with the reason for every key. */
export type NodeDocument = {
  replica: ReplicaDocument;
  /** The first thing that is not well on the node. */
  cause: CauseDocument;
  name: string;
  uid: string;
  pool?: string | undefined;
  agent: {
    state: AgentState;
    guard?: string;
    version?: string | undefined;
    lastReportSecondsAgo?: number;
  };
  /** Conditions about drains, maintenance and shutdown that are True; none while conditions are not watched. */
  lifecycle?: readonly string[];
  services: readonly NodeServiceDocument[];
  /** The known accelerators; absent while no agent has told. */
  accelerators?: readonly AcceleratorDocument[] | undefined;
  keys: readonly KeyDocument[];
  /** The workspaces on it; absent while they are unknown. */
  workspaces?: readonly string[] | undefined;
  /** What is about to be written; in a dry run, what would be. */
  pending?: PendingDocument | undefined;
  /** The newest first. */
  changes: readonly ChangeDocument[];
  /** When the record of changes begins: with the leader. What was before is in Events alone. */
  changesSince?: string;
};

export type AcceleratorDocument = {
  name: string;
  count: number;
  /** As the agent sees them: alone, or some that are alike. */
  devices: readonly DeviceReport[];
  /** Devices that were there in this term and are no longer there. */
  gone?: readonly string[] | undefined;
  /** Its driver comes and goes, and counts as none for now. */
  driverHeldBack?: true | undefined;
};

export type NodeServiceDocument = {
  name: string;
  /** Nothing is written for it. */
  dryRun?: true | undefined;
  /** Absent where the node is not for the service. */
  state?: ServiceState | undefined;
  since?: string | undefined;
  reason?: string | undefined;
  /** What the evidence says, where a guard or its coming and going keeps the state from being that. */
  evidence?: { state: ServiceState; reason: string } | undefined;
  heldBack?: { until: string; falls: number } | undefined;
  starting?: StartingDocument | undefined;
  /** The verdict of each check by the evidence; none where the service was not checked. */
  checks: readonly CheckDocument[];
  /** The pods of it on the node. */
  pods: readonly { pod: string; ready: boolean; terminating: boolean }[];
  /** How it came to its state, for people. */
  steps: readonly StepDocument[];
};

/** A step from what runs on a node to the verdict on a service there, and whether it speaks for ready. */
export type StepDocument = { title: string; speaks: 'for' | 'against' | 'neither'; text: string };

/** `cause`: on whose word, such as `agent` or `silence`. */
export type CheckDocument = { name: string; state: ServiceState; reason: string; cause: string };

/** `want`: it is to be there. `withhold`: it is to be absent. `hold`: it stays as it is. */
export type KeyDocument = {
  kind: KeyKind;
  key: string;
  service?: string | undefined;
  /** Why the Node has it or not. */
  cause: CauseDocument;
  /** Whether the Node shows what is wanted; `open` where that is not known, or where no write is planned. */
  agrees: 'yes' | 'no' | 'open';
  stance: 'present' | 'absent' | 'keep';
  /** Of a taint `VALUE:EFFECT`, of a condition its status. */
  value: string;
  /** `null` where it is absent; left out where it is not watched: taints and conditions are not always watched. */
  onNode?: string | null | undefined;
  /** The next write changes it; in a dry run, it would. */
  pending?: true | undefined;
  reason: string;
  labeler: string;
  ownership: 'exclusive' | 'forced' | 'shared';
  since?: string | undefined;
  overruled?: readonly { labeler: string; stance: string; value: string; reason: string }[] | undefined;
  /** Why it is left out for good. */
  skipped?: { cause: 'foreign' | 'invalid' | 'denied'; message: string } | undefined;
  contested?: { rival: string; nextTrySeconds: number } | undefined;
  removalRefused?: string | undefined;
};

export type PendingDocument = {
  withdraw?: { labels: readonly string[]; annotations: readonly string[] } | undefined;
  apply?:
    | { labels: Readonly<Record<string, string>>; annotations: Readonly<Record<string, string>>; force: boolean }
    | undefined;
  taints?: { add: readonly object[]; remove: readonly string[] } | undefined;
  /** `apply`: all that are ours; `remove`: those that go; `disown`: ours are left to others, as they are. */
  conditions?: { apply: readonly object[] } | { remove: readonly object[] } | { disown: true } | undefined;
};

export type ChangeDocument = {
  at: string;
  kind: KeyKind;
  key: string;
  from?: string | undefined;
  to?: string | undefined;
  reason: string;
};

/** What is sent to `POST /v1/diff`: what would be configured. */
export type DiffRequest = {
  /** NodeServices, NodePoolLabels and NodePoolLabelSets, as they would be applied. */
  objects: readonly object[];
  /** Content of rule files by their path in the label directory, such as `accelerators/edgetpu`. */
  rules: Readonly<Record<string, string>>;
};

/** What it would do to the fleet. Nothing comes of asking. */
export type DiffDocument = {
  replica: ReplicaDocument;
  /** Nodes that were looked at. */
  looked: number;
  /** What would not be in force, and why. */
  problems: readonly string[];
  /** What cannot be told. */
  notes: readonly string[];
  /** Whether pods are evicted for a label that they need. */
  evicts: boolean;
  /** Nodes that would be changed. */
  nodes: readonly DiffedNode[];
};

export type DiffedNode = {
  name: string;
  pool?: string;
  changes: readonly {
    kind: 'label' | 'taint' | 'condition';
    key: string;
    from?: string | undefined;
    to?: string | undefined;
    reason: string;
  }[];
  /** Pods that would be evicted, as `namespace/name`, with the labels that they would miss. */
  evicted: readonly { pod: string; misses: readonly string[] }[];
};

/**
 * `GET /v1/stream`, as server-sent events. A client that lost the connection sends the id of the last event as
 * `Last-Event-ID`, or as `?after=`, and misses nothing. Data by the name of the event:
 */
export type StreamEvents = {
  /** First of all, and whenever leadership or a guard changes. */
  replica: Omit<ReplicaDocument, 'now'>;
  /** A node is new, or other than it was. */
  node: NodeSummary;
  'node-gone': { name: string };
  /** What happened since the id that was given is not known any more: read `/v1/nodes` again. */
  reset: { eventId: string };
};

/** Of `/v1/rules`. */
export type RulesDocument = {
  /** Every label that some rule gives. */
  labels: readonly string[];
  /** Without a line, it is about the whole file. Columns count from 1, as lines do. */
  problems: readonly { file: string; line?: number; column?: number; problem: string }[];
  rules: readonly RuleDocument[];
};

export type RuleDocument = {
  label: string;
  file: string;
  lines: readonly { line: number; text: string; value: string }[] | 'unread';
  /**
   * On which nodes the rule sets the label, keeps it while the rule's value is unknown, or cannot set it. Counts
   * without `?label=`.
   */
  nodes:
    | { given: number; held: number; withheld: number }
    | { given: RuleEffect[]; held: RuleEffect[]; withheld: RuleEffect[] };
};

/** Of `/v1/rules?label=LABEL&node=NAME`: why a rule sets its label on a node, or does not. */
export type RuleOnNodeDocument = {
  replica: ReplicaDocument;
  label: string;
  node: string;
  file: string;
  lines: readonly RuleLineDocument[];
};

/** `found`: of the term that decides. `left`: why a label that the term asks for is not there, where it is configured so. */
type RuleLineDocument = {
  line: number;
  text: string;
  truth: 'yes' | 'no' | 'unknown';
  found: string;
  left?: string;
};

type RuleEffect = { node: string; value: string; reason: string };
