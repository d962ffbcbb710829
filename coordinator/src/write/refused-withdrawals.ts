import type { Clock } from '@rollcall/common/clock.ts';
import type { KeyRef } from '../decide/intent/plan.ts';

/** A key that the API server refuses to remove, and what it said. */
export type RefusedWithdrawal = KeyRef & { message: string };

/** A label that should not be there is worth another try soon. */
export const REFUSED_FOR_MS = 30_000;

type Memory = { uid: string; expiresMs: number; keys: Map<string, RefusedWithdrawal> };

/** Remembers, for each Node and for a while, which keys may not be removed, so that the others still are. */
export class RefusedWithdrawals {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Memory>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many keys may not be removed, over all Nodes. */
  get size(): number {
    let size = 0;
    for (const { keys } of this.#nodes.values()) size += keys.size;
    return size;
  }

  add({ name, uid }: { name: string; uid: string }, keys: readonly RefusedWithdrawal[]): void {
    if (keys.length === 0) return;
    const memory = this.#current(name, uid) ?? { uid, expiresMs: 0, keys: new Map() };
    // From the last: where many are refused, none of them is tried again before all of them are found.
    memory.expiresMs = this.#clock.monotonic() + REFUSED_FOR_MS;
    for (const key of keys) memory.keys.set(`${key.kind}:${key.key}`, key);
    this.#nodes.set(name, memory);
  }

  /** Whether a key of the Node may not be removed. */
  has({ name, uid }: { name: string; uid: string }, { kind, key }: KeyRef): boolean {
    return this.#current(name, uid)?.keys.has(`${kind}:${key}`) === true;
  }

  /** The keys of a Node that may not be removed. */
  keysOf({ name, uid }: { name: string; uid: string }): readonly KeyRef[] {
    return [...(this.#current(name, uid)?.keys.values() ?? [])];
  }

  /** For explain. */
  keysFor(nodeName: string): RefusedWithdrawal[] {
    return [...(this.#nodes.get(nodeName)?.keys.values() ?? [])];
  }

  /**
   * In how many ms the Node's keys are worth another try; `undefined` when there are none. What is due is forgotten, and
   * said to be due once.
   */
  dueInMs(nodeName: string): number | undefined {
    const memory = this.#nodes.get(nodeName);
    if (!memory) return undefined;
    const leftMs = memory.expiresMs - this.#clock.monotonic();
    if (leftMs <= 0) this.#nodes.delete(nodeName);
    return Math.max(0, leftMs);
  }

  /** The Node is gone. */
  forget(nodeName: string): void {
    this.#nodes.delete(nodeName);
  }

  #current(name: string, uid: string): Memory | undefined {
    const memory = this.#nodes.get(name);
    if (!memory) return undefined;
    if (memory.uid === uid && this.#clock.monotonic() < memory.expiresMs) return memory;
    this.#nodes.delete(name);
    return undefined;
  }
}
