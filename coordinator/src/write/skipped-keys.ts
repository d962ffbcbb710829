import type { Clock } from '@rollcall/common/clock.ts';
import { entryKey } from '../decide/intent/intent.ts';
import type { KeyChange, SeenNode } from '../decide/intent/kinds/kind.ts';
import { KINDS, valueOn } from '../decide/intent/kinds/kinds.ts';
import {
  type AskSkipped,
  type ContestedKey,
  NOTHING_SKIPPED,
  type NodeKeyRef,
  type SkippedCause,
  type SkippedKey,
} from '../decide/intent/plan.ts';

/** One key of a write that the API server took. */
export type WrittenKey = KeyChange & {
  /** Whether the answer shows it so. If not, admission changed it in the same request. */
  held: boolean;
};

/** A key that the API server refused to change, or that another writer has. */
export type RefusedKey = SkippedKey & { cause: Refusal; keepsAway?: boolean };

/** A key that is left out, for people. */
export type LeftOutKey = SkippedKey & {
  /** Milliseconds until it is tried again, at the latest. */
  nextTryMs: number;
};

type Refusal = Exclude<SkippedCause, 'contested'>;

/** What is changed back more often than this in a minute is contested. */
const CHANGES_BACK_MAX = 3;
const WINDOW_MS = 60_000;
const CONTESTED_FIRST_MS = 1000;
/**
 * Policies change, and learn of their parameters a moment late; a Node that is full has room later; a webhook calls a key
 * invalid for reasons of its own. What was refused is tried again soon, and later and later while it is refused.
 */
export const REFUSED_FIRST_MS = 2000;
/** Nothing stays out for longer without being tried again. */
export const SKIPPED_MAX_MS = 300_000;
/** The limit for a key that keeps pods away: with the turn that follows, it is tried at least every 10 s. */
const KEEPS_AWAY_MAX_MS = 8000;
/** How long a foreign key stays out whose value does not come into view. */
export const UNSEEN_FOR_MS = 30_000;

/** How often the memory is searched for what has ended. */
const SWEEP_MS = 10_000;
/** A key that becomes due while the Node is planned is looked at again after so long. */
const SOON_MS = 50;

/** More than a Node carries. Keys beyond are not remembered, and are found out anew. */
export const SKIPPED_PER_NODE_MAX = 4096;
const NO_KEYS: ReadonlySet<string> = new Set();

/** Keys of all Nodes. Beyond, only refused keys are remembered. */
const KEYS_MAX = 65_536;

/** The rival of a key that is not even in the answer as it was written. */
export const ADMISSION = 'a webhook or policy that admits the write';
const UNKNOWN_RIVAL = 'a writer that managedFields does not name';

/** What is known of a key that was written in the last minute, or that is left out. Times are monotonic. */
type Entry = {
  ref: NodeKeyRef;
  /** `undefined` where the key is to go. */
  wanted: string | undefined;
  /** `undefined` while it stays as it was written. */
  cause: SkippedCause | undefined;
  /** Of a refused key. */
  message: string;
  /** Of a contested key. */
  rival: string | undefined;
  isTold: boolean;
  /** Times of the tries of the last minute; the last one always. */
  triesMs: readonly number[];
  /** The number of times that it had to wait. */
  waits: number;
  /** It is left out until then. */
  untilMs: number;
  /** It is tried again then. Only a foreign key waits longer than `untilMs`, while it is the same on the Node. */
  dueMs: number;
  /** What a foreign key was on the Node when it was refused. */
  grounds: string | undefined;
  /** Of a contested key, whether it is now other than it was written. */
  isLost: boolean;
  /** Since when it is as it was written. */
  staysSinceMs: number;
};

type Memory = { uid: string; entries: Map<string, Entry> };
type NodeId = { name: string; uid: string };

/**
 * Remembers, for each Node, which keys are left out for now and why: another writer has them (`foreign`), the API server
 * refused them (`invalid`, `denied`; a removal if no value is wanted), or they do not stay as they are written
 * (`contested`). It changes by answers (`wrote`, `refused`, `released`) and by what Nodes show (`observe`, `settle`), and
 * every entry ends by itself.
 */
export class SkippedKeys {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Memory>();
  #size = 0;
  #sweptMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptMs = clock.monotonic();
  }

  // Questions.

  /**
   * Says why keys of the Node are left out, and lists in `leftOut`, by `kind:key`, those of which it said so. Wanted is
   * `undefined` for a key that is to go.
   */
  asking(node: SeenNode): { ask: AskSkipped; leftOut: ReadonlySet<string> } {
    const entries = this.#entriesOf(node);
    if (!entries) return { ask: NOTHING_SKIPPED, leftOut: NO_KEYS };
    const leftOut = new Set<string>();
    const ask: AskSkipped = (ref, wanted) => {
      const entry = entries.get(entryKey(ref));
      const cause = entry && this.#causeOf(entry, node, wanted);
      if (cause) leftOut.add(entryKey(ref));
      return cause;
    };
    return { ask, leftOut };
  }

  /** The keys of a Node that are left out, for people. */
  keysFor(nodeName: string): LeftOutKey[] {
    const nowMs = this.#clock.monotonic();
    return this.#leftOut(nodeName).map(({ ref, cause, wanted, message, rival = UNKNOWN_RIVAL, dueMs }) => ({
      ...ref,
      cause,
      wanted,
      ...(cause === 'contested' ? { message: `${rival} changes it back`, rival } : { message }),
      nextTryMs: Math.max(0, dueMs - nowMs),
    }));
  }

  /** How many keys are left out, over all Nodes. */
  get counts(): Readonly<Record<SkippedCause, number>> {
    const counts = { foreign: 0, invalid: 0, denied: 0, contested: 0 };
    for (const name of this.#nodes.keys()) for (const { cause } of this.#leftOut(name)) counts[cause] += 1;
    return counts;
  }

  /** How many keys are remembered, over all Nodes. */
  get remembered(): number {
    return this.#size;
  }

  /** In how many ms time alone makes a key of the Node worth another look; `undefined` where none is. */
  dueInMs(nodeName: string): number | undefined {
    const nowMs = this.#clock.monotonic();
    const looksMs = this.#leftOut(nodeName).map((entry) => {
      if (isStaying(entry)) return entry.staysSinceMs + WINDOW_MS;
      return nowMs < entry.untilMs ? entry.untilMs : entry.dueMs;
    });
    // What was due a while ago cannot be planned now.
    const soonestMs = Math.min(...looksMs.filter((ms) => ms > nowMs - 20 * SOON_MS));
    if (!Number.isFinite(soonestMs)) return undefined;
    return soonestMs > nowMs ? soonestMs - nowMs : SOON_MS;
  }

  // Answers.

  /** The API server took a write of keys that were other than wanted. */
  wrote(node: NodeId, keys: readonly WrittenKey[]): void {
    this.tick();
    const memory = this.#memoryOf(node);
    for (const { kind, key, wanted, held, keepsAway } of keys) {
      const known = this.#known(memory, { kind, key }, wanted);
      // A refusal ends with the first write that is taken.
      const isRefused = known?.cause === 'invalid' || known?.cause === 'denied';
      const entry = this.#tried({ kind, key }, wanted, isRefused ? undefined : known, { isRefused: !held, keepsAway });
      const isContested = known?.cause === 'contested' || !held;
      const rival = held ? known?.rival : ADMISSION;
      this.#put(memory, { ...entry, cause: isContested ? 'contested' : undefined, rival, isLost: !held });
    }
  }

  /**
   * Keys were refused, or are seen to be another writer's (`wasSent` is false). Returns those of which the same is not known
   * already.
   */
  refused(
    node: NodeId,
    keys: readonly RefusedKey[],
    { seen, wasSent = true }: { seen?: SeenNode | undefined; wasSent?: boolean } = {},
  ): SkippedKey[] {
    const nowMs = this.#clock.monotonic();
    const memory = this.#memoryOf(node);
    return keys.filter(({ kind, key, cause, wanted, message, keepsAway = false }) => {
      const ref = { kind, key };
      const known = this.#known(memory, ref, wanted);
      const isForeign = cause === 'foreign';
      // A key that another writer goes on changing is contested as well, unless the Node shows whose it is.
      const isTry = !isForeign || (wasSent && !KINDS[kind].rivalOn);
      const tried = this.#tried(ref, wanted, known, {
        isTry,
        isRefused: !isForeign,
        keepsAway,
        firstMs: isForeign ? CONTESTED_FIRST_MS : REFUSED_FIRST_MS,
      });
      const grounds = isForeign ? groundsOf(seen, ref) : undefined;
      const isTheirs = grounds !== undefined && grounds !== wanted;
      const dueMs = isForeign ? nowMs + (isTheirs ? SKIPPED_MAX_MS : UNSEEN_FOR_MS) : tried.untilMs;
      const isKept = this.#put(memory, { ...tried, cause, message, grounds, dueMs });
      return isKept && known?.message !== message;
    });
  }

  /** The key is not wanted on the Node any more, and was let go of. */
  released(nodeName: string, ref: NodeKeyRef): void {
    const memory = this.#nodes.get(nodeName);
    const entry = memory?.entries.get(entryKey(ref));
    if (memory && entry && (entry.cause === undefined || isStaying(entry))) this.#drop(memory, entry);
  }

  // What Nodes show.

  /** Finds keys that were written of late, and too often, and that the Node shows otherwise: they are contested. */
  observe(node: SeenNode): void {
    const nowMs = this.#clock.monotonic();
    for (const entry of this.#entriesOf(node)?.values() ?? []) {
      const isOver = entry.cause === 'foreign' && entry.grounds !== groundsOf(node, entry.ref);
      const isContest = entry.cause === undefined || entry.cause === 'contested' || isOver;
      if (!isContest || !KINDS[entry.ref.kind].isShown(node)) continue;
      const isLost = valueOn(node, entry.ref) !== entry.wanted;
      if (isLost && nowMs < entry.untilMs) entry.cause = 'contested';
      if (entry.isLost && !isLost) entry.staysSinceMs = nowMs;
      entry.isLost = isLost;
    }
  }

  /** The Node has nothing to write: keys that are not left out of its plan are not wanted any more, or stay. */
  settle(node: NodeId, leftOut: ReadonlySet<string>): void {
    const memory = this.#nodes.get(node.name);
    if (memory?.uid !== node.uid) return;
    const nowMs = this.#clock.monotonic();
    for (const [id, entry] of memory.entries) {
      const isNew = isStaying(entry) && nowMs < entry.staysSinceMs + WINDOW_MS;
      if (entry.cause && !leftOut.has(id) && !isNew) this.#drop(memory, entry);
    }
  }

  /** Keys that are contested since the last call, and whose rival is to be found out, if it can be. */
  news(
    nodeName: string,
  ): { key: Omit<ContestedKey, 'rival'>; isAdmission: boolean; name: (rival?: string) => string }[] {
    const entries = this.#leftOut(nodeName).filter(({ cause, isTold }) => cause === 'contested' && !isTold);
    return entries.map((entry) => {
      entry.isTold = true;
      const name = (rival = entry.rival ?? UNKNOWN_RIVAL) => {
        entry.rival = rival;
        return rival;
      };
      return { key: { ...entry.ref, wanted: entry.wanted }, isAdmission: entry.rival === ADMISSION, name };
    });
  }

  /**
   * Forgets what was written longer ago, and what is not tried any more. To be called about once a second: where all is
   * well, no write follows for days.
   */
  tick(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    for (const memory of this.#nodes.values()) {
      for (const entry of memory.entries.values()) {
        const isOver = entry.cause === undefined || isStaying(entry) ? entry.staysSinceMs : entry.dueMs;
        if (isOver + WINDOW_MS <= nowMs) this.#drop(memory, entry);
      }
    }
  }

  /** The Node is gone. */
  forget(nodeName: string): void {
    this.#size -= this.#nodes.get(nodeName)?.entries.size ?? 0;
    this.#nodes.delete(nodeName);
  }

  #entriesOf({ name, uid }: NodeId): Memory['entries'] | undefined {
    const memory = this.#nodes.get(name);
    return memory?.uid === uid ? memory.entries : undefined;
  }

  #leftOut(nodeName: string): (Entry & { cause: SkippedCause })[] {
    const entries = this.#nodes.get(nodeName)?.entries.values() ?? [];
    return [...entries].filter((entry): entry is Entry & { cause: SkippedCause } => entry.cause !== undefined);
  }

  #causeOf(entry: Entry, node: SeenNode, wanted: string | undefined): SkippedCause | undefined {
    const { ref, cause, untilMs, dueMs, grounds } = entry;
    const nowMs = this.#clock.monotonic();
    if (entry.wanted !== wanted) return undefined;
    if (cause === 'foreign' && nowMs < dueMs && grounds === groundsOf(node, ref)) return cause;
    if (nowMs >= untilMs) return undefined;
    const isAsWanted = valueOn(node, ref) === wanted;
    if (cause !== 'denied' && cause !== 'invalid') return isAsWanted ? undefined : 'contested';
    // A value that is there may be refused to us as well; a key that is gone needs no removal.
    return isAsWanted && wanted === undefined ? undefined : cause;
  }

  #memoryOf(node: NodeId): Memory {
    const known = this.#nodes.get(node.name);
    if (known?.uid === node.uid) return known;
    this.forget(node.name);
    const memory: Memory = { uid: node.uid, entries: new Map() };
    this.#nodes.set(node.name, memory);
    return memory;
  }

  /** What is known of the key with this value: of another one it says nothing. */
  #known({ entries }: Memory, ref: NodeKeyRef, wanted: string | undefined): Entry | undefined {
    const entry = entries.get(entryKey(ref));
    return entry?.wanted === wanted ? entry : undefined;
  }

  /** The entry after another try: one that was refused, or follows too many, makes the key wait, longer each time. */
  #tried(
    ref: NodeKeyRef,
    wanted: string | undefined,
    known: Entry | undefined,
    how: { isTry?: boolean; isRefused: boolean; keepsAway: boolean; firstMs?: number },
  ): Entry {
    const { isTry = true, isRefused, keepsAway, firstMs = CONTESTED_FIRST_MS } = how;
    const nowMs = this.#clock.monotonic();
    const { waits = 0, untilMs = Number.NEGATIVE_INFINITY, rival, isTold = false } = known ?? {};
    const recent = known?.triesMs.filter((ms) => nowMs - ms < WINDOW_MS) ?? [];
    const triesMs = isTry ? [...recent.slice(-CHANGES_BACK_MAX), nowMs] : recent;
    const mustWait = isTry && (isRefused || waits > 0 || triesMs.length > CHANGES_BACK_MAX);
    const forMs = Math.min(keepsAway ? KEEPS_AWAY_MAX_MS : SKIPPED_MAX_MS, firstMs * 2 ** Math.min(waits, 30));
    const nextMs = mustWait ? nowMs + forMs : untilMs;
    return {
      ...{ ref, wanted, cause: undefined, message: '', rival, isTold, triesMs },
      ...{ waits: mustWait ? waits + 1 : waits, untilMs: nextMs, dueMs: nextMs },
      ...{ grounds: undefined, isLost: false, staysSinceMs: nowMs },
    };
  }

  /** Returns whether there was room for it. */
  #put(memory: Memory, entry: Entry): boolean {
    const id = entryKey(entry.ref);
    const isKnown = memory.entries.has(id);
    const isRefused = entry.cause !== undefined && entry.cause !== 'contested';
    const isFull = memory.entries.size >= SKIPPED_PER_NODE_MAX || (this.#size >= KEYS_MAX && !isRefused);
    if (!isKnown && isFull) return false;
    if (!isKnown) this.#size += 1;
    memory.entries.set(id, entry);
    return true;
  }

  #drop(memory: Memory, { ref }: Entry): void {
    if (memory.entries.delete(entryKey(ref))) this.#size -= 1;
  }
}

/** Whether a contested key is as it was written, for now. */
function isStaying({ cause, isLost }: Entry): boolean {
  return cause === 'contested' && !isLost;
}

/** What a foreign key is foreign by: its value, and who owns it, where the Node shows that. */
function groundsOf(node: SeenNode | undefined, ref: NodeKeyRef): string | undefined {
  const value = node && valueOn(node, ref);
  const rival = node && KINDS[ref.kind].rivalOn?.(node, ref.key);
  return rival === undefined ? value : `${value} of ${rival}`;
}
