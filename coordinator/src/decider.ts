import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import {
  IMPLIED_LABELS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
  STARTUP_TAINT,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import type { Announcer } from './announcer.ts';
import { NodeWriter } from './apply/node-writer.ts';
import { Reconciler } from './apply/reconciler.ts';
import { SetAside } from './apply/set-aside.ts';
import type { NodeFacts } from './console/node-document.ts';
import { Fleet } from './fleet/fleet.ts';
import type { ObservedNode } from './fleet/observed-node.ts';
import type { FollowUps } from './follow-ups.ts';
import { ChangeLog, changesBetween } from './intent/changes.ts';
import { intentOf, type NodeIntent } from './intent/intent.ts';
import type { NodePlan } from './intent/plan.ts';
import { planNode } from './intent/plan-node.ts';
import type { KubeClient, WriteFence } from './kube/client.ts';
import type { Node } from './kube/objects.ts';
import type { DeviceGrammar } from './labelers/device-grammar.ts';
import type { Rules } from './labelers/implied-labels.ts';
import { createLabelers } from './labelers/index.ts';
import type { JudgedNode, Labelers } from './labelers/labeler.ts';
import type { ReadinessGate } from './labelers/readiness.ts';
import { missingLabels, type StartupGateOptions } from './labelers/startup-gate.ts';
import { ReadinessTracker } from './readiness/tracker.ts';
import type { Service } from './services.ts';
import { TakenLabels } from './taken-labels.ts';

export type DeciderOptions = {
  client: KubeClient;
  fence: WriteFence;
  services: readonly Service[];
  gate: ReadinessGate;
  requirePod: boolean;
  poolLabels: readonly string[];
  forbiddenLabelDomains: readonly string[];
  startupGate: StartupGateOptions;
  deviceGrammar: DeviceGrammar;
  factLabels: readonly string[];
  rules: (() => Rules) | undefined;
  eviction: { ignoredLabels: ReadonlySet<string> } | undefined;
  /** Whether all annotations of Nodes are kept, for those who are told of them. */
  allAnnotations: boolean;
  followUps: FollowUps;
  windowMs: number;
  guardPercent: number;
  dryRun: boolean;
  /** Whether what is known is fit to decide by; until then nothing is planned. */
  mayDecide: () => boolean;
  clock: Clock;
  random: () => number;
  logger: Logger;
  registry: Registry;
  onAgentPodGone: (podUid: string) => void;
  announcer: Announcer;
};

const ANNOTATIONS: ReadonlySet<string> = new Set([
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
  MANAGED_LABELS_ANNOTATION,
  IMPLIED_LABELS_ANNOTATION,
  WITHDRAWN_LABELS_ANNOTATION,
]);

/** A node as it was, and what was thought of it, when it was planned. */
type Grounds = { node: ObservedNode; judged: JudgedNode };

/** The way from what is known to what is written: fleet, readiness, labelers, intent, and the reconciler at its end. */
export class Decider {
  readonly fleet: Fleet;
  readonly reconciler: Reconciler;
  readonly readiness: ReadinessTracker;
  readonly setAside: SetAside;
  readonly changes = new ChangeLog();
  /** When kube-scheduler was last told, on a node, to try again there; RFC 3339. */
  readonly #hints = new Map<string, string>();
  /** Nodes behind the startup gate, and when they have waited long enough, by the wall clock. */
  readonly #gated = new Map<string, number>();
  /** Where pods are evicted for it. */
  readonly #taken: TakenLabels | undefined;
  readonly #options: DeciderOptions;
  readonly #labelers: Labelers;
  readonly #grounds = new WeakMap<NodePlan, Grounds>();

  constructor(options: DeciderOptions) {
    const { clock, client, eviction } = options;
    this.#options = options;
    this.#taken = eviction && new TakenLabels(eviction.ignoredLabels);
    this.#labelers = createLabelers(options);
    this.setAside = new SetAside(clock);
    const { announcer } = options;
    this.readiness = new ReadinessTracker({ ...options, onHeldBack: (...news) => announcer.heldBack(...news) });
    this.fleet = new Fleet({
      ...options,
      annotationsOfInterest: ANNOTATIONS,
      onDirty: (node, urgent) => this.#look(node, urgent),
      onNodeGone: (node) => this.#forget(node),
    });
    this.reconciler = new Reconciler({
      ...options,
      plan: (node) => this.plan(node),
      observed: (node) => this.fleet.node(node),
      onWritten: (node, plan) => this.#written(node, plan),
      writer: new NodeWriter(client),
      setAside: this.setAside,
    });
  }

  /** What has to be written to a node now; `undefined` when it is as it should be, or is not known. */
  plan(name: string): NodePlan | undefined {
    if (!this.#options.mayDecide()) return undefined;
    const node = this.fleet.node(name);
    const judged = this.judged(name);
    if (!node || !judged) return undefined;
    const plan = this.setAside.consult(node, (askSetAside) => planNode(node, this.intent(judged), askSetAside));
    if (plan) this.#grounds.set(plan, { node, judged });
    return plan;
  }

  /** A node as it is known now, with what that says of its services. */
  judged(name: string): JudgedNode | undefined {
    const snapshot = this.fleet.snapshot(name);
    const { clock } = this.#options;
    const now = { monotonicMs: clock.monotonic(), wallMs: clock.now() };
    if (!snapshot) return undefined;
    const readiness = this.readiness.judge(snapshot, now);
    const schedulingHint = this.#hints.get(name);
    const takenLabels = this.#taken?.of(name);
    return { ...snapshot, readiness, ageMs: now.wallMs - snapshot.createdAtMs, schedulingHint, takenLabels };
  }

  /** Has a node changed in a way that lets kube-scheduler try again there. */
  hint(name: string): void {
    // With its milliseconds: two in one second differ.
    this.#hints.set(name, new Date(this.#options.clock.now()).toISOString());
    this.reconciler.add(name);
  }

  intent(node: JudgedNode): NodeIntent {
    return intentOf(this.#labelers, node);
  }

  /** Everything about a node, for people. */
  explain(name: string): NodeFacts | undefined {
    const node = this.fleet.node(name);
    const judged = this.judged(name);
    if (!node || !judged) return undefined;
    return {
      node,
      judged,
      intent: this.intent(judged),
      plan: this.plan(name),
      setAside: this.setAside.keysFor(name),
      refusedWithdrawals: this.reconciler.refusedWithdrawals(name),
      changes: this.changes.of(name),
      quietMs: this.fleet.freshness.quietMs(name, this.#options.clock.monotonic()),
    };
  }

  /** This replica begins to lead: what was heard and judged before is of another time. */
  restart(): void {
    this.readiness.clear();
    this.#hints.clear();
    this.#taken?.clear();
    this.#options.announcer.restart();
    this.#options.followUps.restart();
    this.fleet.restart({ forgetReports: true });
  }

  /** What time alone changes. Once a second. */
  tick(): void {
    this.fleet.tick();
    const { clock } = this.#options;
    for (const node of this.readiness.released(clock.monotonic())) this.#look(node, false);
    for (const [node, dueMs] of this.#gated) {
      if (dueMs > clock.now()) continue;
      this.#gated.delete(node);
      this.reconciler.add(node);
    }
  }

  #look(name: string, urgent: boolean): void {
    // Judged at each news, and not only when the node's turn comes: of what comes and goes, nothing may be missed.
    if (this.#options.mayDecide()) this.#judge(name);
    this.reconciler.add(name, {
      priority: urgent ? 'urgent' : 'normal',
      dirtySinceMs: this.#options.clock.monotonic(),
    });
  }

  #judge(name: string): void {
    const { announcer } = this.#options;
    const node = this.fleet.node(name);
    const judged = this.judged(name);
    if (!node || !judged) return;
    this.#taken?.seen(node);
    if (!announcer.hasSeen(name)) announcer.shows(node, judged);
    const isGated = node.taints?.some(({ key }) => key === STARTUP_TAINT) === true;
    if (isGated) this.#gated.set(name, node.createdAtMs + this.#options.startupGate.maxWaitMs);
    else this.#gated.delete(name);
    this.#options.followUps.look(name);
  }

  #forget(name: string): void {
    this.#options.announcer.forget(name);
    this.#options.followUps.forget(name);
    this.reconciler.forget(name);
    this.readiness.forget(name);
    this.changes.forget(name);
    this.#gated.delete(name);
    this.#hints.delete(name);
    this.#taken?.forget(name);
  }

  /** Takes the answer to a write, and tells what it changed, and why. */
  #written(written: Node, plan: NodePlan): void {
    const { name } = written.metadata;
    const answer = this.fleet.observe(written);
    // Not what is known by now: the watch may have told of the write, or of something newer, before its answer came.
    const grounds = this.#grounds.get(plan);
    if (grounds) this.#keepTaken(grounds, answer, plan);
    this.fleet.written(answer);
    if (!grounds) return;
    const { node: before, judged } = grounds;
    const after = { ...answer, taints: answer.taints ?? before.taints };
    const { clock, logger, announcer } = this.#options;
    const changes = changesBetween(before, after, this.intent(judged));
    this.changes.add(name, changes, clock.now());
    if (changes.length > 0) logger.info({ node: name, changes }, 'Changed a node');
    announcer.shows(after, judged);
    const opened = changes.find(({ kind, key, to }) => kind === 'taint' && key === STARTUP_TAINT && to === undefined);
    if (opened) announcer.gateOpened(judged, missingLabels(judged, this.#options.startupGate));
  }

  #keepTaken({ node, judged }: Grounds, answer: ObservedNode, { withdrawal, set }: NodePlan): void {
    this.#taken?.took(withdrawal?.labels ?? [], node, answer);
    const note = set?.annotations[WITHDRAWN_LABELS_ANNOTATION];
    // The note that was made of them is there.
    const isNoted = note !== undefined && answer.annotations[WITHDRAWN_LABELS_ANNOTATION] === note;
    if (isNoted) this.#taken?.noted(answer.name, judged.takenLabels ?? {});
  }
}
