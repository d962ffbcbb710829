import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { NodeServiceObject } from './node-services.ts';
import type { NodeTruth } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import type { World } from './world.ts';

/** What was decided so long ago may still be under way. */
const REASON_MS = 3000;

/** §10: `NoExecute` acts on evidence and agent alone: not on silence, not on damping. */
export class NoExecute {
  readonly #world: World;
  /** When a service was last seen to fail, by Node and taint. */
  readonly #failedMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** `verdict`: without damping. */
  look({ uid }: NodeTruth, { spec }: NodeServiceObject, verdict: Verdict): void {
    const { taint } = spec.publish;
    if (taint && (verdict === 'not-ready' || verdict === 'open'))
      this.#failedMs.set(`${uid} ${taint.key}`, this.#world.nowMs);
  }

  /** What a write of rollcall broke of it. */
  written(before: Node, after: Node): string | undefined {
    for (const { key, effect } of after.spec?.taints ?? []) {
      const wasThere = before.spec?.taints?.some((each) => each.key === key && each.effect === 'NoExecute');
      if (effect !== 'NoExecute' || wasThere) continue;
      const failedMs = this.#failedMs.get(`${after.metadata.uid} ${key}`) ?? Number.NEGATIVE_INFINITY;
      if (this.#world.nowMs - failedMs > REASON_MS)
        return `pods are evicted by ${key}, and nobody saw the service fail`;
    }
    return undefined;
  }
}
