import type { Clock } from '@rollcall/common/clock.ts';
import type { AskedKey, AskSkipped, ConditionRef, KeyRef } from '../decide/intent/plan.ts';
import { type SeenNode, seenValue } from './unwritable-keys.ts';

export type ContestRef = { kind: (KeyRef | ConditionRef)['kind'] | 'taint'; key: string };

/** One key of a write that the API server took. */
export type WrittenKey = ContestRef & {
  /** `undefined` where the key was to go. */
  wanted: string | undefined;
  /** Whether the answer shows it so. If not, admission changed it in the same request. */
  held: boolean;
  /** Whether the write keeps pods away, and so is worth a try every few seconds. */
  keepsAway: boolean;
};

/** What is changed back more often than this in a minute is contested. */
const CHANGES_BACK_MAX = 3;
const WINDOW_MS = 60_000;
/** How often what was written longer ago is forgotten. */
const SWEEP_MS = 10_000;
const FIRST_MS = 1000;
const MAX_MS = 300_000;
/** The limit for a key that keeps pods away: with the turn that follows, it is tried at least every 10 s. */
const KEEPS_AWAY_MAX_MS = 8000;

/** The rival of a key that is not even in the answer as it was written. */
export const ADMISSION = 'a webhook or policy that admits the write';

/** What is known of a key that was written in the last minute, or does not stay as it is written. */
type Contest = {
  ref: ContestRef;
  wanted: string | undefined;
  /** Times of the writes of the last minute, monotonic; the last one always. */
  writesMs: number[];
  /** The number of times it had to wait. */
  waits: number;
  /** When it may be written again, monotonic. */
  dueMs: number;
  maxMs: number;
  /** It was found to be other than it was written, and waits. */
  lost: boolean;
  contested: boolean;
  rival: string | undefined;
  told: boolean;
};

/** What a write that was taken makes of what was known. */
function afterWrite(
  before: Contest | undefined,
  { kind, key, wanted, held, keepsAway }: WrittenKey,
  nowMs: number,
): Contest {
  const known = before?.wanted === wanted ? before : undefined;
  const recent = known?.writesMs.filter((ms) => nowMs - ms < WINDOW_MS) ?? [];
  const { waits, contested, told, rival } = known ?? { waits: 0, contested: false, told: false, rival: undefined };
  const entry: Contest = {
    ref: { kind, key },
    wanted,
    writesMs: [...recent.slice(-CHANGES_BACK_MAX), nowMs],
    waits,
    dueMs: Number.NEGATIVE_INFINITY,
    maxMs: keepsAway ? KEEPS_AWAY_MAX_MS : MAX_MS,
    lost: !held,
    contested: contested || !held,
    rival: held ? rival : ADMISSION,
    told,
  };
  if (held && waits === 0 && entry.writesMs.length <= CHANGES_BACK_MAX) return entry;
  entry.dueMs = nowMs + Math.min(entry.maxMs, FIRST_MS * 2 ** Math.min(waits, 30));
  entry.waits += 1;
  return entry;
}

/** When a key that is not lost any more has stayed for long enough. */
function staysMs({ writesMs }: Contest): number {
  return (writesMs.at(-1) ?? 0) + WINDOW_MS;
}

/** A key that does not stay as it is written. */
export type ContestedKey = ContestRef & {
  wanted: string | undefined;
  /** For people. */
  rival: string;
  /** Milliseconds until it is written again, at the earliest. */
  nextTryMs: number;
};

/** Writes of the last minute, over all Nodes. Keys beyond are not remembered, and are found out later. */
const KEYS_MAX = 65_536;

/** What was due for so long and was not written is wanted no more. */
const UNWANTED_AFTER_MS = 1000;
const SOON_MS = 50;

const UNKNOWN = 'a writer that managedFields does not name';

type Memory = { uid: string; entries: Map<string, Contest> };

/**
 * Remembers, for each Node, which keys were written in the last minute, and which of them do not stay: those are written
 * less and less often, from 1 s to 5 minutes apart, until one stays for a minute.
 */
export class ContestedKeys {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Memory>();
  #entries = 0;
  #sweptMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptMs = clock.monotonic();
  }

  /** How many keys are contested, over all Nodes. */
  get size(): number {
    let size = 0;
    for (const { entries } of this.#nodes.values())
      for (const { contested } of entries.values()) if (contested) size += 1;
    return size;
  }

  /** How many keys are remembered, over all Nodes. */
  get remembered(): number {
    return this.#entries;
  }

  /** Forgets what was written longer ago. To be called about once a second: where all is well, no write follows for days. */
  tick(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#sweptMs >= SWEEP_MS) this.#sweep(nowMs);
  }

  /** The API server took a write of keys that were other than wanted. */
  wrote(node: { name: string; uid: string }, keys: readonly WrittenKey[]): void {
    this.tick();
    const nowMs = this.#clock.monotonic();
    const memory = this.#memoryOf(node);
    for (const key of keys) {
      const id = idOf(key);
      const before = memory.entries.get(id);
      if (!before && this.#entries >= KEYS_MAX) continue;
      if (!before) this.#entries += 1;
      memory.entries.set(id, afterWrite(before, key, nowMs));
    }
  }

  /** The key is not wanted on the Node any more, and was let go of. */
  released(nodeName: string, ref: ContestRef): void {
    const memory = this.#nodes.get(nodeName);
    if (memory && !memory.entries.get(idOf(ref))?.lost) this.#drop(memory, idOf(ref));
  }

  /** Whether a key that is not as it is wanted must wait. Changes nothing. */
  mustWait({ name, uid }: { name: string; uid: string }, ref: ContestRef, wanted: string | undefined): boolean {
    const memory = this.#nodes.get(name);
    const entry = memory?.uid === uid ? memory.entries.get(idOf(ref)) : undefined;
    return entry !== undefined && entry.wanted === wanted && this.#clock.monotonic() < entry.dueMs;
  }

  /** Takes note of a key that is not as it is wanted, and returns whether it must wait. */
  found(node: { name: string; uid: string }, ref: ContestRef, wanted: string | undefined): boolean {
    const memory = this.#nodes.get(node.name);
    const entry = memory?.uid === node.uid ? memory.entries.get(idOf(ref)) : undefined;
    if (!memory || !entry) return false;
    // Something else is wanted, to which no writer has objected yet.
    if (entry.wanted !== wanted) this.#drop(memory, idOf(ref));
    if (!this.mustWait(node, ref, wanted)) return false;
    entry.lost = true;
    entry.contested = true;
    return true;
  }

  /** Whether a key of the Node must wait; `undefined` if none of them does. The question changes nothing. */
  asking(node: SeenNode): AskSkipped | undefined {
    if (this.#nodes.get(node.name)?.uid !== node.uid) return undefined;
    return (ref, wanted) =>
      seenValue(node, ref) !== wanted && this.mustWait(node, ref, wanted) ? 'contested' : undefined;
  }

  /** Takes note of all keys that a plan for the Node asked about. */
  settle(node: SeenNode, asked: Iterable<AskedKey>): void {
    if (this.#nodes.get(node.name)?.uid !== node.uid) return;
    for (const { ref, wanted } of asked) if (seenValue(node, ref) !== wanted) this.found(node, ref, wanted);
  }

  /** For explain. */
  keysFor(nodeName: string): ContestedKey[] {
    const nowMs = this.#clock.monotonic();
    const entries = [...(this.#nodes.get(nodeName)?.entries.values() ?? [])].filter(({ contested }) => contested);
    return entries.map(({ ref, wanted, rival = UNKNOWN, dueMs }) => ({
      ...ref,
      wanted,
      rival,
      nextTryMs: Math.max(0, dueMs - nowMs),
    }));
  }

  /** Keys that are contested since the last call, and whose rival is to be found out, if it can be. */
  news(nodeName: string): { ref: ContestRef; isAdmission: boolean; name: (rival: string | undefined) => void }[] {
    const entries = [...(this.#nodes.get(nodeName)?.entries.values() ?? [])].filter(
      (each) => each.contested && !each.told,
    );
    return entries.map((entry) => {
      entry.told = true;
      const name = (rival = UNKNOWN) => {
        entry.rival = rival;
      };
      return { ref: entry.ref, isAdmission: entry.rival === ADMISSION, name };
    });
  }

  /**
   * In how many ms the Node is to be looked at for a contested key: whether it is to be written again, or has stayed for
   * long enough. To be asked when everything is written that could be: what was due then, for a while, is not wanted any
   * more.
   */
  dueInMs(nodeName: string): number | undefined {
    const memory = this.#nodes.get(nodeName);
    if (!memory) return undefined;
    const nowMs = this.#clock.monotonic();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const [id, entry] of memory.entries) {
      if (!entry.contested) continue;
      const endsMs = entry.lost ? entry.dueMs + UNWANTED_AFTER_MS : staysMs(entry);
      if (endsMs <= nowMs) this.#drop(memory, id);
      else earliestMs = Math.min(earliestMs, entry.lost ? entry.dueMs : endsMs);
    }
    // Not at once: it became due since it was last asked for.
    return Number.isFinite(earliestMs) ? Math.max(SOON_MS, earliestMs - nowMs) : undefined;
  }

  /** The Node is gone. */
  forget(nodeName: string): void {
    this.#entries -= this.#nodes.get(nodeName)?.entries.size ?? 0;
    this.#nodes.delete(nodeName);
  }

  #memoryOf({ name, uid }: { name: string; uid: string }): Memory {
    const known = this.#nodes.get(name);
    if (known?.uid === uid) return known;
    this.forget(name);
    const memory: Memory = { uid, entries: new Map() };
    this.#nodes.set(name, memory);
    return memory;
  }

  /** Most keys that are written stay. */
  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const [name, memory] of this.#nodes) {
      for (const [id, entry] of memory.entries) if (!entry.lost && staysMs(entry) <= nowMs) this.#drop(memory, id);
      if (memory.entries.size === 0) this.#nodes.delete(name);
    }
  }

  #drop(memory: Memory, id: string): void {
    if (memory.entries.delete(id)) this.#entries -= 1;
  }
}

function idOf({ kind, key }: ContestRef): string {
  return `${kind}:${key}`;
}
