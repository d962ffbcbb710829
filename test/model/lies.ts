import { notReadyTaint, readyLabel } from '@rollcall/common/well-known.ts';
import { SERVICE_NAMES } from './truth.ts';
import { verdictOf } from './verdicts.ts';
import type { World } from './world.ts';

/** Counts for itself how long Nodes say of services what is not so. To be asked after everything that happens. */
export class LieCount {
  /** In seconds, by `direction key`. */
  readonly seconds = new Map<string, number>();
  readonly #world: World;
  #lies: readonly string[] = [];
  #sinceMs: number;

  constructor(world: World) {
    this.#world = world;
    this.#sinceMs = world.nowMs;
  }

  look(): void {
    const { nowMs } = this.#world;
    for (const lie of this.#lies) this.seconds.set(lie, (this.seconds.get(lie) ?? 0) + (nowMs - this.#sinceMs) / 1000);
    this.#sinceMs = nowMs;
    this.#lies = this.#world.decided ? [...this.#told()] : [];
  }

  /** One for each node that lies. */
  *#told(): Iterable<string> {
    for (const truth of this.#world.truths.values()) {
      const { metadata, spec } = this.#world.nodes.get(truth.name) ?? {};
      for (const service of SERVICE_NAMES) {
        const verdict = verdictOf(this.#world, truth, service, truth.said ? 'speaks' : 'unheard');
        if (verdict === 'unknown') continue;
        const isReady = verdict === 'ready';
        const label = readyLabel(service, 'default');
        if ((metadata?.labels?.[label] === 'true') !== isReady)
          yield `${isReady ? 'said-not-ready' : 'said-ready'} ${label}`;
        if (this.#world.gate !== 'both') continue;
        const taint = notReadyTaint(service);
        const isTainted = spec?.taints?.some(({ key }) => key === taint) === true;
        if (isTainted === isReady) yield `${isReady ? 'said-not-ready' : 'said-ready'} ${taint}`;
      }
    }
  }
}
