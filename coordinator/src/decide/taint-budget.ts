import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { isSeen } from '../model/inventory/cause.ts';
import { selects } from '../model/label-selector.ts';
import { podsChecksOf, type Service, type ServiceTaint } from '../model/services.ts';
import { hasTaint, type ObservedNode } from '../state/observed-node.ts';
import { type ObservedPod, ownTolerance } from '../state/observed-pod.ts';
import { wasOpen } from '../state/started-services.ts';
import type { NodePlan } from './intent/plan.ts';
import type { Claim, EvaluatedNode } from './labelers/labeler.ts';
import { labelsOfServices, parseWithdrawnLabels } from './labelers/withdrawn-labels.ts';

const MAX_UNAVAILABLE = '20%';

/** What Nodes show of the taint of a service: names of nodes that it selects. */
type Shown = {
  service: Service;
  /** Nodes that were open for it: the budget is a share of them. */
  open: Set<string>;
  /** Open nodes that have its taint, or of a service without a taint, note that pods may be evicted because of it. */
  closed: Set<string>;
  /** Open nodes that have a taint of its key with another value or effect. */
  otherwise: Set<string>;
  /** Nodes whose own pod tolerates its taint, or does not. */
  tolerant: Set<string>;
  intolerant: Set<string>;
  /** Nodes to which a request may have added it, or the note. */
  inFlight: Set<string>;
  /** Nodes for which there was no place, those that wait longest first. */
  waiting: Set<string>;
  /** Whether none of its pods tolerated its taint when that was last looked at. */
  wasShunned: boolean;
  /** Whether every node was looked at. No node has a place before. */
  isCounted: boolean;
};

/** What the budget of a service, and its own pods, keep from nodes now. */
export type Withholding = {
  service: Service;
  /** Nodes that wait for its taint, or of a service without a taint, for the eviction of pods. */
  waiting: readonly string[];
  /** How much of the budget is used, as a clause for people. */
  usage: string;
  /** Nodes that do not get its taint, since a pod of the service there does not tolerate it. */
  intolerant: readonly string[];
};

export type TaintBudgetOptions = {
  nodes: () => Iterable<ObservedNode>;
  podsOn: (node: string) => readonly ObservedPod[];
  /** Whether pods are evicted at all. A service without a taint is not counted else. */
  evicts: boolean;
};

/**
 * Bounds how many of the nodes that were open for a service its taint closes at a time; of one without a taint, from how many
 * pods are evicted because of it. Counted on the Nodes, so that every leader counts the same, and a request that was refused
 * takes no place. Keeps a taint off nodes whose own pods it would keep away. Nodes are counted as they are observed, one at a
 * time.
 */
export class TaintBudget {
  readonly #options: TaintBudgetOptions;
  /** By the name of the service. */
  readonly #shown = new Map<string, Shown>();
  #services: readonly Service[] = [];
  /** Nodes that were not looked at since a service was new, or another than before. */
  #unseen = new Set<string>();

  constructor(options: TaintBudgetOptions) {
    this.#options = options;
  }

  /** What is claimed of the taint of a service that is not ready, where it may not be as written. Changes nothing. */
  withheld(service: Service, node: EvaluatedNode): Pick<Claim, 'stance' | 'reason'> | undefined {
    const taint = taintOf(service);
    if (!taint) return undefined;
    const shown = this.#of(service);
    if (!shown?.isCounted) return hasTaint(node.taints, taint) ? undefined : UNCOUNTED;
    if (isIntolerant(shown, node.name))
      return {
        stance: 'absent',
        reason: 'pods of the service do not tolerate the taint, and could not return to the node',
      };
    if (!node.taints) return { stance: 'absent', reason: 'the taints of the node are not known yet' };
    if (!wasOpen(node, service) || hasTaint(node.taints, taint) || this.#hasPlace(shown, node.name)) return undefined;
    // A taint that was there before it was edited stays.
    const stance = shown.otherwise.has(node.name) ? 'keep' : 'absent';
    return { stance, reason: `the taint waits: ${usageOf(shown)}` };
  }

  /** Whether pods may be evicted from a node, too, that loses the label of a service without a taint. Changes nothing. */
  hasEvictionPlace(service: Service, node: EvaluatedNode): boolean {
    const shown = this.#of(service);
    return (
      !taintOf(service) && isFailing(service, node) && shown?.isCounted === true && this.#hasPlace(shown, node.name)
    );
  }

  /** Whether pods may be evicted from a node because of the service. Changes nothing. */
  mayEvict(service: Service, { name, ...node }: ObservedNode): boolean {
    return this.#of(service)?.closed.has(name) || (taintOf(service) !== undefined && !wasOpen(node, service));
  }

  /**
   * A request is in flight that adds taints to a node, or notes that pods may be evicted. It holds a place for each until the
   * returned function is called: by then the node shows it, or the place is free. Where it is not known what became of the
   * request (`isSettled`), or of one before it, until nothing has to be written to the node.
   */
  reserve(services: readonly Service[], node: string, plan: Closing | undefined): (isSettled?: boolean) => void {
    const noted = labelsOfServices(plan?.set?.annotations[WITHDRAWN_LABELS_ANNOTATION]);
    const isReserved = (service: Service) => {
      const key = taintOf(service)?.key;
      if (key === undefined) return noted.get(service.publish.label ?? '') === true;
      return plan?.taints?.add.some((taint) => taint.key === key) === true;
    };
    const reserved = services.flatMap((service) => (isReserved(service) ? (this.#of(service) ?? []) : []));
    for (const { inFlight } of reserved) inFlight.add(node);
    return (isSettled = true) => {
      for (const { inFlight } of isSettled ? reserved : []) inFlight.delete(node);
    };
  }

  /** Nothing has to be written to a node: where no place is left, it waits. */
  rested(services: readonly Service[], node: EvaluatedNode): void {
    for (const service of services) {
      this.#shown.get(service.name)?.inFlight.delete(node.name);
      if (node.readiness.get(service.name)?.state !== 'not-ready') continue;
      const shown = this.#of(service);
      if (!shown) continue;
      const isWithheld = taintOf(service)
        ? this.withheld(service, node) !== undefined && node.taints !== undefined && !shown.intolerant.has(node.name)
        : !shown.closed.has(node.name) && isFailing(service, node) && isWithdrawn(service, node);
      put(shown.waiting, node.name, isWithheld);
    }
  }

  /** Records what a node shows. */
  observe(services: readonly Service[], node: EvaluatedNode): void {
    this.#take(services);
    for (const service of services) {
      const shown = this.#of(service);
      if (!shown) continue;
      const state = node.readiness.get(service.name);
      // A node that it may not select was not open for it.
      this.#look(shown, node, state !== undefined && !state.isUndecided);
      if (state?.state !== 'not-ready') shown.waiting.delete(node.name);
    }
    this.#saw(node.name);
  }

  /**
   * Returns nodes that wait and may find a place now: as many as there are places, each in its turn; and those that have to
   * lose a taint, since no pod of its service is left that tolerates it.
   */
  takeWaiting(): ReadonlySet<string> {
    const woken = new Set<string>();
    for (const shown of this.#shown.values()) {
      if (!shown.isCounted) continue;
      const isShunned = isShunnedBy(shown);
      if (isShunned && !shown.wasShunned) for (const name of this.#tainted(shown)) woken.add(name);
      shown.wasShunned = isShunned;
      const most = limitOf(shown);
      const taken = { new: takenIn(shown, false), rewritten: takenIn(shown, true) };
      for (const name of shown.waiting) {
        if (taken.rewritten >= most || (taken.new >= most && shown.otherwise.size === 0)) break;
        const isThere = shown.otherwise.has(name);
        if (isIntolerant(shown, name) || (isThere ? taken.rewritten : taken.new) >= most) continue;
        taken.rewritten += 1;
        if (!isThere) taken.new += 1;
        shown.waiting.delete(name);
        woken.add(name);
      }
    }
    return woken;
  }

  /** How many nodes wait for a place, by the name of the service. */
  *waiting(): Iterable<readonly [service: string, nodes: number]> {
    for (const [name, shown] of this.#shown) {
      const { waiting, intolerant } = shown;
      const count = isShunnedBy(shown) ? 0 : waiting.size - waiting.intersection(intolerant).size;
      if (count > 0) yield [name, count];
    }
  }

  /** What its budget and its pods keep from nodes of the service of this name now. */
  withholdingOf(service: string): Withholding | undefined {
    const shown = this.#shown.get(service);
    return shown && withholdingOf(shown);
  }

  forget(node: string): void {
    for (const { open, closed, otherwise, tolerant, intolerant, inFlight, waiting } of this.#shown.values())
      for (const names of [open, closed, otherwise, tolerant, intolerant, inFlight, waiting]) names.delete(node);
    this.#saw(node);
  }

  /** A node changed while nothing is decided here: what is counted for answers counts it by what it shows. */
  changed(services: readonly Service[], node: ObservedNode): void {
    this.#take(services);
    const looked = { ...node, pods: this.#options.podsOn(node.name) };
    for (const shown of this.#shown.values())
      this.#look(shown, looked, selects(shown.service.nodeSelector, node.labels));
    this.#saw(node.name);
  }

  #hasPlace(shown: Shown, node: string): boolean {
    const { closed, otherwise } = shown;
    return closed.has(node) || takenIn(shown, otherwise.has(node), node) < limitOf(shown);
  }

  /** A service that is new, or was edited, is counted anew, as its nodes are observed. */
  #take(services: readonly Service[]): void {
    if (services === this.#services) return;
    this.#services = services;
    const { evicts } = this.#options;
    const counted = services.filter((service) => evicts || taintOf(service));
    const names = new Set(counted.map(({ name }) => name));
    for (const name of this.#shown.keys()) if (!names.has(name)) this.#shown.delete(name);
    const others = counted.filter((service) => !this.#of(service));
    for (const service of others)
      this.#shown.set(service.name, newShown(service, this.#shown.get(service.name)?.inFlight));
    if (others.length > 0) this.#unseen = new Set(Iterator.from(this.#options.nodes()).map(({ name }) => name));
  }

  #saw(node: string): void {
    if (!this.#unseen.delete(node) || this.#unseen.size > 0) return;
    for (const shown of this.#shown.values()) shown.isCounted = true;
  }

  #of(service: Service): Shown | undefined {
    const shown = this.#shown.get(service.name);
    return shown?.service === service ? shown : undefined;
  }

  #tainted({ service }: Shown): string[] {
    const key = taintOf(service)?.key;
    const isTainted = ({ taints = [] }: ObservedNode) => taints.some((taint) => taint.key === key);
    return Iterator.from(this.#options.nodes())
      .filter(isTainted)
      .map(({ name }) => name)
      .toArray();
  }

  #look(shown: Shown, node: Looked, isSelected: boolean): void {
    const { service, open, closed, otherwise, tolerant, intolerant } = shown;
    const taint = taintOf(service);
    const { name, taints, annotations } = node;
    const isOpen = isSelected && (!taint || wasOpen(node, service));
    put(open, name, isOpen);
    if (!taint) {
      const noted = labelsOfServices(annotations[WITHDRAWN_LABELS_ANNOTATION]);
      put(closed, name, isOpen && noted.get(service.publish.label ?? '') === true);
      return;
    }
    // Taints that an answer did not show are as they were.
    if (taints || !isOpen) {
      const isAsWritten = isOpen && hasTaint(taints, taint);
      put(closed, name, isAsWritten);
      put(otherwise, name, isOpen && !isAsWritten && taints?.some(({ key }) => key === taint.key) === true);
    }
    const tolerance = isSelected && taint.effect !== 'PreferNoSchedule' ? ownTolerance(service, node.pods) : undefined;
    put(tolerant, name, tolerance === true);
    put(intolerant, name, tolerance === false);
  }
}

const UNCOUNTED = { stance: 'keep', reason: 'the taint waits until every node was looked at' } as const;

/** What a plan adds that closes a node. */
type Closing = Pick<NodePlan, 'set' | 'taints'>;

/** Requests that are under way are of every version of the service. */
function newShown(service: Service, inFlight = new Set<string>()): Shown {
  const sets = { open: new Set<string>(), closed: new Set<string>(), otherwise: new Set<string>() };
  const pods = { tolerant: new Set<string>(), intolerant: new Set<string>(), waiting: new Set<string>() };
  return { service, ...sets, ...pods, inFlight, wasShunned: false, isCounted: false };
}

type Looked = Pick<ObservedNode, 'name' | 'uid' | 'createdAtMs' | 'annotations' | 'taints'> &
  Pick<EvaluatedNode, 'pods'>;

/** Judges a node without a pod of the service by its pods on other nodes: the next one will tolerate as much. */
function isIntolerant(shown: Shown, node: string): boolean {
  return shown.intolerant.has(node) || isShunnedBy(shown);
}

/** Whether a service is seen to fail on a node. */
function isFailing({ name }: Service, { readiness }: EvaluatedNode): boolean {
  const shown = readiness.get(name);
  return shown?.state === 'not-ready' && isSeen(shown.cause);
}

/** Whether the node notes that it lost the label of a service. */
function isWithdrawn({ publish: { label = '' } }: Service, { annotations }: EvaluatedNode): boolean {
  return Object.hasOwn(parseWithdrawnLabels(annotations[WITHDRAWN_LABELS_ANNOTATION]), label);
}

/** Whether no pod of the service that is on a node tolerates its taint. */
function isShunnedBy({ tolerant, intolerant }: Shown): boolean {
  return intolerant.size > 0 && tolerant.size === 0;
}

/** The taint that has a budget. With the gates `taint` and `both`, the taint of a built-in service alone shows whether it is ready. */
function taintOf({ publish, origin }: Service): ServiceTaint | undefined {
  return origin.kind === 'object' ? publish.taint : undefined;
}

/** How many open nodes the service may close at a time: rounded down, and at least one. */
function limitOf({ service, open }: Pick<Shown, 'service' | 'open'>): number {
  const { maxUnavailable = MAX_UNAVAILABLE } = taintOf(service) ?? {};
  if (typeof maxUnavailable === 'number') return maxUnavailable;
  return Math.max(1, Math.floor((open.size * Number.parseInt(maxUnavailable, 10)) / 100));
}

/**
 * How many places are taken, without one that a request to `node` itself may have taken. A taint that takes the place of
 * another one of its key closes no further node.
 */
function takenIn({ open, closed, otherwise, inFlight }: Shown, isThere: boolean, node?: string): number {
  const isCounted = (name: string) => closed.has(name) || (!isThere && otherwise.has(name));
  // A node that is younger than the service takes none.
  const added = [...inFlight].filter((name) => name !== node && open.has(name) && !isCounted(name)).length;
  return closed.size + (isThere ? 0 : otherwise.size) + added;
}

function withholdingOf(shown: Shown): Withholding | undefined {
  const [waiting = [], without = []] = [false, true].map((isWithout) =>
    [...shown.waiting].filter((name) => isIntolerant(shown, name) === isWithout),
  );
  const intolerant = [...shown.intolerant, ...without];
  if (shown.waiting.size + intolerant.length === 0) return undefined;
  return { service: shown.service, waiting, usage: usageOf(shown), intolerant };
}

/** For people. */
function usageOf({ service, closed, otherwise, open }: Shown): string {
  const most = taintOf(service)?.maxUnavailable ?? MAX_UNAVAILABLE;
  return `${closed.size + otherwise.size} of ${open.size} nodes are closed for the service, and publish.taint.maxUnavailable is ${most}`;
}

function put(names: Set<string>, name: string, isIn: boolean): void {
  if (!isIn) names.delete(name);
  else if (!names.has(name)) names.add(name);
}

type AllPods = { isKnown: (namespace: string) => boolean; all: (namespace: string) => Iterable<ObservedPod> };

/** What is withheld, for people, with at most so many names of nodes. */
export function withheldText(
  { service, waiting, usage, intolerant }: Withholding,
  pods: AllPods,
  namesMax: number,
): string {
  const unmatched = podsChecksOf(service).filter(
    ({ settings: { namespace, selector } }) =>
      pods.isKnown(namespace) && !Iterator.from(pods.all(namespace)).some(({ labels }) => selects(selector, labels)),
  );
  const what = service.publish.taint ? 'the taint' : 'the eviction of pods';
  return [
    ...(waiting.length > 0 ? [`${countOf(waiting)} for ${what}, since ${usage}: ${listOf(waiting, namesMax)}`] : []),
    ...(intolerant.length > 0
      ? [`pods of the service do not tolerate the taint, so these nodes do not get it: ${listOf(intolerant, namesMax)}`]
      : []),
    ...unmatched.map(({ name }) => `no pod on any node matches the selector of the check ${name}`),
  ].join('; ');
}

function countOf({ length }: readonly string[]): string {
  return length === 1 ? '1 node waits' : `${length} nodes wait`;
}

function listOf(names: readonly string[], most: number): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}
