import type { Clock } from '@rollcall/common/clock.ts';
import { REGISTRY_FACADE, readyLabel, WORKSPACE_NODE_LABELS, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ScoreWeights } from '@rollcall/coordinator/model/score-weights.ts';
import type { Resources } from '@rollcall/coordinator/state/resources.ts';
import { Assumptions, type Load } from './assumptions.ts';
import { type Refusal, refusalOf } from './rules.ts';
import { type Limits, type NodeLoad, placeOn, type SchedulableNode } from './schedulable-node.ts';
import { type ScheduleDocument, scheduleDocument } from './schedule-document.ts';
import type { SchedulingPod, WorkspaceKind } from './scheduling-pod.ts';
import { bestOf, type Contender, scoresOf, worthOf } from './score.ts';

/** A node as the predecessor's endpoint sees it: by its labels alone. */
type LabelledNode = { name: string; labels: Readonly<Record<string, string>> };

const [REGULAR_LABEL = '', HEADLESS_LABEL = ''] = WORKSPACE_NODE_LABELS;

/** So many nodes, at most, are kept in mind for pods of one kind. */
const REFUSED_MAX = 20_000;

/** So many nodes are changed at once so that kube-scheduler tries again; one is enough for it to ask about all. */
const HINTS_MAX = 10;

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
  if (misplaced) return { rule: 'predicate-kind', message: `cannot schedule pod ${pod.name} in node ${node.name}` };
  for (const label of [readyLabel(REGISTRY_FACADE, namespace), readyLabel(WS_DAEMON, namespace)]) {
    if (!has(label)) {
      return { rule: 'predicate-ready', message: `node ${node.name} does not have the required label ${label}` };
    }
    const value = node.labels[label];
    if (value !== 'true') return { rule: 'predicate-ready', message: `unexpected node label ${label} value: ${value}` };
  }
  return undefined;
}

export type ExtenderServiceOptions = {
  clock: Clock;
  limits: Limits;
  weights: ScoreWeights;
  /** Of the services whose labels the predecessor's predicate looks at. */
  namespace: string;
  /**
   * A node as known now, as if the pods of the uids `without` were gone; `undefined` for one that is not known. Without
   * `without`, it is asked for once, and again when `changed` was called.
   */
  node: (name: string, without?: ReadonlySet<string>) => SchedulableNode | undefined;
  /** Whether what is answered about this pod is kept in mind; defaults to true for every pod. */
  mayKeep?: (podId: string) => boolean;
};

/** Answers the scheduler's questions out of what is known, and keeps in mind what the answers will lead to. */
export class ExtenderService {
  readonly #options: ExtenderServiceOptions;
  readonly #nodes = new Map<string, SchedulableNode>();
  readonly #assumptions: Assumptions;
  /** Nodes that refused a pod that found no other, by its kind, and were not seen to pass since. */
  readonly #refused = new Map<WorkspaceKind, Set<string>>();

  constructor(options: ExtenderServiceOptions) {
    this.#options = options;
    this.#assumptions = new Assumptions(options.clock);
  }

  /**
   * For each node, in their order, why the pod cannot go there; `undefined` where it can. The pod counts on the best node
   * from now on, so that no other pod is given that place before it has a node.
   */
  filter(pod: SchedulingPod, names: readonly string[]): (Refusal | undefined)[] {
    if (pod.workspace === undefined) return names.map(() => undefined);
    const contenders = this.#contenders(pod, names);
    const best = this.#assumeBest(pod, contenders);
    if (!best && this.#mayKeep(pod)) this.refused(pod.workspace, names);
    return contenders.map(({ refusal }) => refusal);
  }

  /**
   * For each node, in their order, a whole number from 0 to 10; 0 where the pod cannot go by now. Pods that are no
   * workspaces have no favorites.
   */
  prioritize(pod: SchedulingPod, names: readonly string[]): number[] {
    if (pod.workspace === undefined) return names.map(() => 0);
    const contenders = this.#contenders(pod, names);
    this.#assumeBest(pod, contenders);
    return scoresOf(contenders);
  }

  /** Those nodes on which the pod can go once the pods of these uids are gone, as if it were asked about them then. */
  preempt(pod: SchedulingPod, victims: Iterable<readonly [node: string, uids: ReadonlySet<string>]>): string[] {
    const assumed = this.#assumptions.loadsWithout(pod.id);
    const { limits, node } = this.#options;
    const passing = [...victims].filter(([name, uids]) => {
      if (pod.workspace === undefined) return true;
      return !refusalOf(pod, this.#placeOf(node(name, uids), assumed), limits);
    });
    return passing.map(([name]) => name);
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
    const places = names.values().map((name) => ({ name, place: this.#placeOf(this.#node(name), assumed) }));
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

  /** The pod was seen on its way to a node, which is not yet its node. */
  assume(pod: { id: string; asks: Resources }, node: string): void {
    this.#assumptions.assume(pod, node);
  }

  /** The pod has a node, or is gone. To be called when `node` shows it. */
  settled(podId: string): void {
    this.#assumptions.drop(podId);
  }

  /** These nodes refused a pod of this kind, or may have done so. */
  refused(kind: WorkspaceKind, names: Iterable<string>): void {
    const known = this.#refused.get(kind) ?? new Set();
    this.#refused.set(kind, known);
    for (const name of names) if (known.size < REFUSED_MAX) known.add(name);
  }

  /** No pod waits any more for what was refused. */
  forgetRefusals(): void {
    this.#refused.clear();
  }

  /**
   * Nodes that refused a pod and would take it now. kube-scheduler has to be told by a change of the Node: it does not
   * see by itself that the extender would answer otherwise. To be asked about once a second, while a pod waits.
   */
  hintsDue(): string[] {
    const assumed = this.#assumptions.loads();
    const turned = new Set<string>();
    for (const [workspace, names] of this.#refused) {
      for (const name of names) {
        if (refusalOf({ workspace }, this.#placeOf(this.#node(name), assumed), this.#options.limits)) continue;
        names.delete(name);
        turned.add(name);
      }
    }
    return [...turned].slice(0, HINTS_MAX);
  }

  #contenders(pod: SchedulingPod, names: readonly string[]): (Contender & { refusal: Refusal | undefined })[] {
    const { limits, weights } = this.#options;
    const assumed = this.#assumptions.loadsWithout(pod.id);
    return names.map((name) => {
      const place = this.#placeOf(this.#node(name), assumed);
      const refusal = refusalOf(pod, place, limits);
      return { name, refusal, worth: place && !refusal ? worthOf(pod, place, limits, weights) : undefined };
    });
  }

  /** What the pod was given before did not come to pass. */
  #assumeBest(pod: SchedulingPod, contenders: readonly Contender[]): Contender | undefined {
    const best = bestOf(contenders);
    if (!this.#mayKeep(pod)) return best;
    if (best) this.#assumptions.assume(pod, best.name);
    else this.#assumptions.drop(pod.id);
    return best;
  }

  #mayKeep({ id }: SchedulingPod): boolean {
    return this.#options.mayKeep?.(id) !== false;
  }

  #placeOf(node: SchedulableNode | undefined, assumed: ReadonlyMap<string, Load>): NodeLoad | undefined {
    return node && placeOn(node, this.#options.clock.now(), assumed.get(node.name));
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
