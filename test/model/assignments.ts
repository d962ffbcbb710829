import type { NodeServiceObject } from './node-services.ts';
import type { Hearing } from './silence.ts';
import { isStarted } from './startup.ts';
import type { NodeTruth } from './truth.ts';
import { hasOtherLists, isOfMachine, saidOf } from './verdicts.ts';
import type { World } from './world.ts';

/** A report interval of 2 s, a watch that is late, and what an agent of the model needs to look. */
export const NOTICED_MS = 5000;
/** Services in force are looked at once a second: one that was not for longer did not select the node meanwhile. */
export const LOOKED_MS = 1100;

/** §10: a NodeService is noticed by every agent that it concerns within one report interval. */
export class Assignments {
  readonly #world: World;
  /** Since when an agent that is heard says nothing of a check, by Node and check, and when that was last looked at. */
  readonly #unsaid = new Map<string, { sinceMs: number; lookedMs: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  look(truth: NodeTruth, service: NodeServiceObject, hearing: Hearing): string | undefined {
    const { uid, generation, name, spec } = service;
    const { pods, port } = spec.checks;
    const id = `${truth.uid} ${uid} ${generation}`;
    const pod = truth.pods[pods ?? ''];
    const hasPlace = pods === undefined || (pod !== undefined && isOfMachine(pod, truth));
    const isAssigned = port !== undefined && hasPlace && !isStarted(truth, service);
    const { decided, serviceWrites } = this.#world;
    const isHeard = hearing === 'speaks' && truth.reachable && truth.alive.size === 1 && !hasOtherLists(truth);
    // While the watch is lost, agents keep the list that they have.
    if (!isAssigned || !isHeard || !decided || serviceWrites.areLost || saidOf(truth, service) !== undefined) {
      this.#unsaid.delete(id);
      return undefined;
    }
    const { nowMs } = this.#world;
    const known = this.#unsaid.get(id);
    // A service that was not looked at for longer was not in force meanwhile.
    const sinceMs = known && nowMs - known.lookedMs <= LOOKED_MS ? known.sinceMs : nowMs;
    this.#unsaid.set(id, { sinceMs, lookedMs: nowMs });
    if (nowMs - sinceMs <= NOTICED_MS) return undefined;
    return `the agent of ${truth.name} has said nothing of ${name} for ${nowMs - sinceMs} ms`;
  }
}
