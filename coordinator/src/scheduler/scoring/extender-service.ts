import type { Clock } from '@rollcall/common/clock.ts';
import { REGISTRY_FACADE, readyLabel, WORKSPACE_NODE_LABELS, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ScoreWeights } from '../../model/score-weights.ts';
import { Assumptions, type Load } from './assumptions.ts';
import { RefusalMemory } from './refusal-memory.ts';
import { type Refusal, refusalOf } from './rules.ts';
import { type Limits, type NodeLoad, placeOn, type SchedulableNode } from './schedulable-node.ts';
import { type ScheduleDocument, scheduleDocument } from './schedule-document.ts';
import type { SchedulingPod } from './scheduling-pod.ts';
import { bestOf, type Contender, scoresOf, worthOf } from './score.ts';

/** A node as the predecessor's endpoint sees it: by its labels alone. */
type LabelledNode = { name: string; labels: Readonly<Record<string, string>> };

const [REGULAR_LABEL = '', HEADLESS_LABEL = ''] = WORKSPACE_NODE_LABELS;

/**
 * Gitpod's predicate as it was: labels as shown, `workspaceType` alone, registry-facade before ws-daemon, everything
 * beyond the reach of preemption. Only the texts differ, where they named the label in place of the node.
 */
export function predicateRefusal(pod: SchedulingPod, node: LabelledNode, namespace: string): Refusal | undefined {
  if (pod.workspace === undefined) return undefined;
  const has = (label: string) => Object.hasOwn(node.labels, label);
  const misplaced =
    !(has(REGULAR_LABEL) || has(HEADLESS_LABEL)) ||
    (pod.workspaceType === 'headless' && !has(HEADLESS_LABEL)) ||
    (pod.workspaceType === 'regular' && !has(REGULAR_LABEL));
  if (misplaced) return refusal('predicate-kind', `cannot schedule pod ${pod.name} in node ${node.name}`);
  for (const label of [readyLabel(REGISTRY_FACADE, namespace), readyLabel(WS_DAEMON, namespace)]) {
    if (!has(label)) {
      return refusal('predicate-ready', `node ${node.name} does not have the required label ${label}`);
    }
    const value = node.labels[label];
    if (value !== 'true') return refusal('predicate-ready', `unexpected node label ${label} value: ${value}`);
  }
  return undefined;
}

function refusal(rule: string, message: string): Refusal {
  return { rule, message, announced: true };
}

export type ExtenderServiceOptions = {
  clock: Clock;
  limits: Limits;
  weights: ScoreWeights;
  /** Of the services whose labels the predecessor's predicate looks at. */
  namespace: string;
  /** A node as known now; `undefined` for one that is not. Asked for once, and again when `changed` was called. */
  node: (name: string) => SchedulableNode | undefined;
  /** Whether what is answered about this pod is kept in mind; defaults to true for every pod. */
  mayKeep?: (podId: string) => boolean;
};

/** Answers the scheduler's questions out of what is known, and keeps in mind what the answers will lead to. */
export class ExtenderService {
  readonly #options: ExtenderServiceOptions;
  readonly #nodes = new Map<string, SchedulableNode>();
  readonly #assumptions: Assumptions;
  readonly #refusals: RefusalMemory;

  constructor(options: ExtenderServiceOptions) {
    this.#options = options;
    this.#assumptions = new Assumptions(options.clock);
    this.#refusals = new RefusalMemory(options.clock);
  }

  /** For each node, in their order, why the pod cannot go there; `undefined` where it can. */
  filter(pod: SchedulingPod, names: readonly string[]): (Refusal | undefined)[] {
    if (pod.workspace === undefined) return names.map(() => undefined);
    // What it was given before did not come to pass.
    this.#assumptions.drop(pod.id);
    const { limits, mayKeep } = this.#options;
    const assumed = this.#assumptions.loads();
    const verdicts = names.map((name) => refusalOf(pod, this.#place(name, assumed), limits));
    const accepted = names.filter((_name, index) => !verdicts[index]);
    const [first] = accepted;
    if (mayKeep?.(pod.id) === false) return verdicts;
    if (first === undefined) this.#refusals.refused(pod, refusedNodes(names, verdicts));
    else this.#refusals.settled(pod.id);
    // kube-scheduler takes a single node without asking for scores.
    if (first !== undefined && accepted.length === 1) this.#assumptions.assume(pod, first);
    return verdicts;
  }

  /** For each node, in their order, a whole number from 0 to 10. Pods that are no workspaces have no favorites. */
  prioritize(pod: SchedulingPod, names: readonly string[]): number[] {
    if (pod.workspace === undefined) return names.map(() => 0);
    this.#assumptions.drop(pod.id);
    const { limits, weights, mayKeep } = this.#options;
    const assumed = this.#assumptions.loads();
    const contenders = names.map((name): Contender => {
      const place = this.#place(name, assumed);
      return { name, worth: place && worthOf(pod, place, limits, weights) };
    });
    const best = bestOf(contenders);
    if (best && mayKeep?.(pod.id) !== false) this.#assumptions.assume(pod, best.name);
    return scoresOf(contenders);
  }

  /** As `filter`, by the predecessor's rules. A node without labels is looked up by its name. */
  predicate(
    pod: SchedulingPod,
    nodes: readonly { name: string; labels: LabelledNode['labels'] | undefined }[],
  ): (Refusal | undefined)[] {
    if (pod.workspace === undefined) return nodes.map(() => undefined);
    return nodes.map(({ name, labels }) => {
      const known = labels ?? this.#node(name)?.labels ?? {};
      return predicateRefusal(pod, { name, labels: known }, this.#options.namespace);
    });
  }

  /** Every node's verdict and score for a pod, for people. Changes nothing. Yields where it can be interrupted. */
  explain(pod: SchedulingPod, names: readonly string[]): Generator<undefined, ScheduleDocument> {
    const { limits, weights } = this.#options;
    const assumed = this.#assumptions.loadsWithout(pod.id);
    const places = names.values().map((name) => ({ name, place: this.#place(name, assumed) }));
    return scheduleDocument(pod, places, { limits, weights });
  }

  /** What `node` says of it may differ from now on, or it is gone. */
  changed(node: string): void {
    this.#nodes.delete(node);
  }

  /** Anything may differ of any node from now on; what was answered holds. */
  allChanged(): void {
    this.#nodes.clear();
  }

  /** The pod has a node, or is gone. To be called when `node` shows it. */
  settled(podId: string): void {
    this.#assumptions.drop(podId);
    this.#refusals.settled(podId);
  }

  /**
   * Whether kube-scheduler has to be told now, by a change of the Node, that it would take a pod that it refused before.
   * True at most once a second for a node, and then taken as done.
   */
  hintDue(node: string): boolean {
    const kinds = this.#refusals.awaited(node);
    if (kinds.length === 0) return false;
    const place = this.#place(node, this.#assumptions.loads());
    if (kinds.some((workspace) => !refusalOf({ workspace }, place, this.#options.limits))) {
      return this.#refusals.passed(node);
    }
    this.#refusals.refusedStill(node);
    return false;
  }

  /** All nodes for which `hintDue` is true now. To be asked about once a second, as time alone may end a reason. */
  hintsDue(): string[] {
    return this.#refusals.nodes().filter((node) => this.hintDue(node));
  }

  #place(name: string, assumed: ReadonlyMap<string, Load>): NodeLoad | undefined {
    const node = this.#node(name);
    return node && placeOn(node, assumed.get(name));
  }

  #node(name: string): SchedulableNode | undefined {
    const kept = this.#nodes.get(name);
    if (kept) return kept;
    // One that is not known is not kept, so that names out of nowhere take no memory.
    const node = this.#options.node(name);
    if (node) this.#nodes.set(name, node);
    return node;
  }
}

function* refusedNodes(names: readonly string[], verdicts: readonly (Refusal | undefined)[]) {
  for (const [index, name] of names.entries()) {
    const refusal = verdicts[index];
    if (refusal) yield [name, refusal] as const;
  }
}
