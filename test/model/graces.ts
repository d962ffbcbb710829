import { OFFERED } from './actors.ts';
import { canHaveGrace, GRACE_MS, type NodeServiceObject } from './node-services.ts';
import type { NodeTruth } from './truth.ts';
import { hasGoodPod, type Seen } from './verdicts.ts';
import type { World } from './world.ts';

/** The coordinator hears of it, and looks once a second. */
const SLACK_MS = 3000;
const OPEN_MS = GRACE_MS + SLACK_MS;
/** Services in force are looked at once a second: one that was not for longer was not checked on the node meanwhile. */
const LOOKED_MS = 1100;

type Memory = {
  /** The check as it is written, and the term. */
  of: string;
  isSo: boolean;
  sinceMs: number;
  lookedMs: number;
  /** Until then it is open whether it counts as passed. */
  openUntilMs: number;
  /** It passed before it began to fail. */
  hasPassed?: boolean;
};

/**
 * §10: a check with a grace that passed counts as passed for so long after it began to fail. Where it is open whether it was
 * seen to pass, it is open for as long whether it counts.
 */
export class Graces {
  readonly #world: World;
  readonly #memories = new Map<string, Memory>();

  constructor(world: World) {
    this.#world = world;
  }

  /** What counts of what the coordinator sees itself. */
  look(truth: NodeTruth, service: NodeServiceObject): Seen {
    const { pods, offered, hasGrace = false } = service.spec.checks;
    const counts = (part: string, isSo: boolean, isGraced: boolean) =>
      isGraced ? this.#counts(`${truth.uid} ${service.uid} ${part}`, isSo, service.generation) : isSo;
    return {
      pods: pods === undefined ? undefined : counts('pods', hasGoodPod(truth, pods), hasGrace),
      offered:
        offered && counts('offered', OFFERED[offered].isSo(this.#world, truth), hasGrace && canHaveGrace(offered)),
    };
  }

  #counts(key: string, isSo: boolean, generation: number): boolean | 'open' {
    const { nowMs, decided, termBeganMs } = this.#world;
    const of = `${generation} ${termBeganMs}`;
    const known = this.#memories.get(key);
    const isKnown = known?.of === of && nowMs - known.lookedMs <= LOOKED_MS;
    const memory = isKnown ? known : { of, isSo, sinceMs: nowMs, lookedMs: nowMs, openUntilMs: nowMs + OPEN_MS };
    this.#memories.set(key, memory);
    memory.lookedMs = nowMs;
    if (memory.isSo && !isSo && nowMs - memory.sinceMs < SLACK_MS) memory.openUntilMs = nowMs + OPEN_MS;
    if (!decided) memory.openUntilMs = nowMs + OPEN_MS;
    if (memory.isSo !== isSo) Object.assign(memory, { isSo, sinceMs: nowMs, hasPassed: memory.isSo });
    if (isSo) return true;
    if (nowMs < memory.openUntilMs) return 'open';
    const forMs = nowMs - memory.sinceMs;
    if (!memory.hasPassed || forMs >= OPEN_MS) return false;
    return forMs < GRACE_MS ? true : 'open';
  }
}
