import type { Clock } from '@rollcall/common/clock.ts';

/** Longest delay of a watch. */
export const LAG_MS = 400;
/** NodeServices that come together are evaluated together, so long after the first. */
const GATHERED_MS = 50;
/** What was told so long ago may not have been heard of. */
const UNHEARD_MS = LAG_MS + GATHERED_MS;
/** What was decided meanwhile takes so long to be written. */
const MUDDLED_MS = 500;

/**
 * When the coordinator was told about nodes, and by which ways: where things changed lately that it hears of by different
 * ways, it may for a moment see them together as they never were.
 */
export class News {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, { ways: Map<string, number>; muddledUntilMs: number }>();
  /** When something that concerns every node was last told, by its way. */
  readonly #ofAll = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  heard(way: string, node: string): void {
    const nowMs = this.#clock.monotonic();
    const news = this.#nodes.get(node) ?? { ways: new Map<string, number>(), muddledUntilMs: 0 };
    news.ways.set(way, nowMs);
    this.#nodes.set(node, news);
    const recent = [...news.ways.values()].filter((atMs) => nowMs - atMs <= UNHEARD_MS);
    if (recent.length > 1) news.muddledUntilMs = nowMs + UNHEARD_MS + MUDDLED_MS;
  }

  /** Every node is concerned, also one that comes a moment later. */
  heardByAll(way: string, nodes: Iterable<string>): void {
    this.#ofAll.set(way, this.#clock.monotonic());
    for (const node of nodes) this.heard(way, node);
  }

  /** A node comes. */
  begin(node: string): void {
    for (const [way, atMs] of this.#ofAll) if (this.#clock.monotonic() - atMs <= UNHEARD_MS) this.heard(way, node);
  }

  isMuddled(node: string): boolean {
    return this.#clock.monotonic() < (this.#nodes.get(node)?.muddledUntilMs ?? 0);
  }
}
