import type { SimNode } from './node.ts';
import type { World } from './world.ts';

/** After a fault has ended, so long may pass until everything has come round: backoffs, one window, one heartbeat. */
export const SETTLE_MS = 75_000;

/** Current troubles, as deeds report them, and since when there are none. */
export class Troubles {
  readonly #world: World;
  /** End of the trouble of each node, or of `all`. */
  readonly #untilMs = new Map<string, number>();
  #undecidedMs = 0;
  /** When a process was last stopped or resumed: what was seen before may be told after. */
  lastPauseMs = Number.NEGATIVE_INFINITY;
  /** When everything last stood still, and for how long: what was sent before is carried out after. */
  standstill = { untilMs: Number.NEGATIVE_INFINITY, forMs: 0 };

  constructor(world: World) {
    this.#world = world;
  }

  /** Something is wrong from now on, for so long. */
  add(where: SimNode | 'all', forMs: number): void {
    const key = where === 'all' ? where : where.uid;
    this.#untilMs.set(key, Math.max(this.#untilMs.get(key) ?? 0, this.#world.nowMs + forMs));
  }

  /** Everything stood still until now, for so long. */
  stoodStill(forMs: number): void {
    this.add('all', 0);
    this.lastPauseMs = this.#world.nowMs;
    this.standstill = { untilMs: this.#world.nowMs, forMs };
  }

  /** To be called once a second. */
  look(): void {
    if (this.#world.leader === undefined) this.#undecidedMs = this.#world.nowMs;
  }

  /** For how long nothing has been wrong for a node; 0 while something is. */
  calmMs(node: SimNode): number {
    return Math.max(0, this.#world.nowMs - Math.max(this.#commonMs, this.#untilMs.get(node.uid) ?? 0));
  }

  /** For how long nothing has been wrong for all. */
  get commonCalmMs(): number {
    return Math.max(0, this.#world.nowMs - this.#commonMs);
  }

  get #commonMs(): number {
    return Math.max(this.#undecidedMs, this.#untilMs.get('all') ?? 0);
  }

  forget(node: SimNode): void {
    this.#untilMs.delete(node.uid);
  }
}
