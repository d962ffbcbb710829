import type { Clock } from '@rollcall/common/clock.ts';
import type { AskedKey, AskSkipped, ConditionRef, KeyRef, SkippedCause, SkippedKey } from '../decide/intent/plan.ts';
import type { Taint } from '../kube/objects.ts';

/** A Node as the planner sees it. */
export type SeenNode = {
  name: string;
  uid: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  /** What rollcall applied. */
  owned: { labels: ReadonlySet<string>; annotations: ReadonlySet<string> };
  taints?: readonly Taint[] | undefined;
  conditions?: readonly { type: string; status: string }[] | undefined;
  /** The conditions that rollcall owns, and who else owns conditions. */
  conditionOwners?: { ours: ReadonlySet<string>; rivals: ReadonlyMap<string, string> };
};

/** What a key of the Node is now, as far as it is seen; of a condition its status. */
export function seenValue(node: SeenNode, { kind, key }: KeyRef | ConditionRef): string | undefined {
  if (kind === 'condition') return node.conditions?.find(({ type }) => type === key)?.status;
  const values = kind === 'label' ? node.labels : node.annotations;
  return values[key];
}

/**
 * Policies change, and learn of their parameters a moment late; a Node that is full has room later; a webhook calls a key
 * invalid for reasons of its own. What was refused is tried again soon, and later and later while it is refused.
 */
export const REFUSED_FIRST_MS = 2000;
const REFUSED_GROWTH = 2;
/** Nothing stays out for longer without being tried again. */
export const REFUSED_MAX_MS = 300_000;

/** How long a foreign key stays out whose value does not come into view. */
export const UNSEEN_FOR_MS = 30_000;

/** More than a Node carries. Keys beyond are not remembered, and are found out anew. */
export const SKIPPED_PER_NODE_MAX = 4096;

type Entry = {
  key: SkippedKey;
  /** What the planner saw on the Node when it first heard that the key is out; `undefined` before. */
  seen: { value: string | undefined } | undefined;
  /** By the monotonic clock. */
  expiresMs: number;
};

/** How long a key was out last, also when it is not any more. */
type Refusal = { wanted: string; forMs: number };

type Memory = { uid: string; entries: Map<string, Entry>; refusals: Map<string, Refusal> };

type Counts = Record<SkippedCause, number>;

/**
 * Remembers, for each Node, which wanted keys could not be written, so that they neither hold up the others nor are
 * tried again for nothing. A foreign key stays out until its value on the Node changes or disappears, an invalid or denied
 * one for 2 s at first, and each until something else is wanted, for 5 minutes at most.
 */
export class UnwritableKeys {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Memory>();
  readonly #counts: Counts = { foreign: 0, invalid: 0, denied: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many keys are out, over all Nodes. */
  get counts(): Readonly<Counts> {
    return this.#counts;
  }

  /** Returns those keys that are out only now. */
  add(node: { name: string; uid: string }, keys: readonly SkippedKey[]): SkippedKey[] {
    const memory = this.#memoryOf(node);
    return keys.filter((key) => this.#remember(memory, key));
  }

  /** Why a wanted key of the Node is left out for now; `undefined` if no key of the Node is. The question changes nothing. */
  asking(node: SeenNode): AskSkipped | undefined {
    const memory = this.#nodes.get(node.name);
    if (memory?.uid !== node.uid) return undefined;
    return (ref, wanted) => {
      const entry = memory.entries.get(idOf(ref));
      return entry && this.#isOut(entry, wanted, grounds(node, ref)) ? entry.key.cause : undefined;
    };
  }

  /**
   * Takes note of all keys that a plan for the Node asked about: a key that is no longer wanted is forgotten, and so is one
   * that is worth another try.
   */
  settle(node: SeenNode, asked: Iterable<AskedKey>): void {
    const memory = this.#nodes.get(node.name);
    if (!memory) return;
    if (memory.uid !== node.uid) {
      this.forget(node.name);
      return;
    }
    const ids = new Set<string>();
    for (const { ref, wanted } of asked) {
      const id = idOf(ref);
      ids.add(id);
      const entry = memory.entries.get(id);
      if (!entry) continue;
      const observed = grounds(node, ref);
      if (this.#isOut(entry, wanted, observed)) noteSeen(entry, observed);
      else this.#drop(memory, id);
    }
    for (const id of memory.entries.keys()) if (!ids.has(id)) this.#drop(memory, id);
    for (const id of memory.refusals.keys()) if (!ids.has(id)) memory.refusals.delete(id);
    this.#forgetIfEmpty(node.name, memory);
  }

  /** For explain. */
  keysFor(nodeName: string): SkippedKey[] {
    return [...(this.#nodes.get(nodeName)?.entries.values() ?? [])].map(({ key }) => key);
  }

  /**
   * In how many ms a key of the Node is worth another try by time alone; `undefined` when there is none. What is due is
   * forgotten, and said to be due once.
   */
  dueInMs(nodeName: string): number | undefined {
    const memory = this.#nodes.get(nodeName);
    if (!memory) return undefined;
    const nowMs = this.#clock.monotonic();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const [id, { expiresMs }] of memory.entries) {
      earliestMs = Math.min(earliestMs, expiresMs);
      if (expiresMs <= nowMs) this.#drop(memory, id);
    }
    this.#forgetIfEmpty(nodeName, memory);
    return Number.isFinite(earliestMs) ? Math.max(0, earliestMs - nowMs) : undefined;
  }

  /** The Node is gone. */
  forget(nodeName: string): void {
    const memory = this.#nodes.get(nodeName);
    if (!memory) return;
    for (const id of memory.entries.keys()) this.#drop(memory, id);
    this.#nodes.delete(nodeName);
  }

  #memoryOf({ name, uid }: { name: string; uid: string }): Memory {
    const known = this.#nodes.get(name);
    if (known?.uid === uid) return known;
    this.forget(name);
    const memory: Memory = { uid, entries: new Map(), refusals: new Map() };
    this.#nodes.set(name, memory);
    return memory;
  }

  #remember(memory: Memory, key: SkippedKey): boolean {
    const id = idOf(key);
    const known = memory.entries.get(id);
    if (known) this.#drop(memory, id);
    if (memory.entries.size >= SKIPPED_PER_NODE_MAX) return false;
    const isNews = memory.refusals.get(id)?.wanted !== key.wanted;
    memory.entries.set(id, { key, seen: undefined, expiresMs: this.#clock.monotonic() + lifetimeMs(memory, key) });
    this.#counts[key.cause] += 1;
    return isNews;
  }

  #isOut({ key, expiresMs, seen }: Entry, wanted: string, observed: string | undefined): boolean {
    if (key.wanted !== wanted || this.#clock.monotonic() >= expiresMs) return false;
    return key.cause !== 'foreign' || seen === undefined || seen.value === observed;
  }

  #forgetIfEmpty(nodeName: string, { entries, refusals }: Memory): void {
    if (entries.size + refusals.size === 0) this.#nodes.delete(nodeName);
  }

  #drop(memory: Memory, id: string): void {
    const entry = memory.entries.get(id);
    if (!entry) return;
    memory.entries.delete(id);
    this.#counts[entry.key.cause] -= 1;
  }
}

function lifetimeMs(memory: Memory, key: SkippedKey): number {
  const before = memory.refusals.get(idOf(key));
  const isAgain = before?.wanted === key.wanted;
  const nextMs = isAgain ? Math.min(REFUSED_MAX_MS, before.forMs * REFUSED_GROWTH) : REFUSED_FIRST_MS;
  const forMs = key.cause === 'foreign' ? UNSEEN_FOR_MS : nextMs;
  memory.refusals.set(idOf(key), { wanted: key.wanted, forMs });
  return forMs;
}

/**
 * Notes the value that a foreign key has on the Node: once it is another, the key is worth a try. The API server does not
 * tell the foreign value, and the watch may not have shown it by then: when it does, that is a change as well, and costs one
 * more try, which the planner makes with better knowledge.
 */
function noteSeen(entry: Entry, observed: string | undefined): void {
  if (entry.key.cause !== 'foreign' || entry.seen) return;
  entry.seen = { value: observed };
  const isTheirs = observed !== undefined && observed !== entry.key.wanted;
  if (isTheirs) entry.expiresMs += REFUSED_MAX_MS - UNSEEN_FOR_MS;
}

/** What a foreign key is foreign by: of a condition also who owns it. */
function grounds(node: SeenNode, ref: KeyRef | ConditionRef): string | undefined {
  const value = seenValue(node, ref);
  const rival = ref.kind === 'condition' ? node.conditionOwners?.rivals.get(ref.key) : undefined;
  return rival === undefined ? value : `${value} of ${rival}`;
}

function idOf({ kind, key }: KeyRef | ConditionRef): string {
  return `${kind}:${key}`;
}
