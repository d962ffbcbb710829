import { checkId, type NodeServiceObject } from './node-services.ts';
import type { Hearing } from './silence.ts';
import { isStarted } from './startup.ts';
import type { NodeTruth } from './truth.ts';
import { hasOtherLists, isOfMachine } from './verdicts.ts';
import type { World } from './world.ts';

/** A report interval of 2 s, a watch that is late, and what an agent of the model needs to look. */
export const NOTICED_MS = 5000;

/** §10: a NodeService is noticed by every agent that it concerns within one report interval. */
export class Assignments {
  readonly #world: World;
  /** Since when an agent that is heard says nothing of a check, by Node and check. */
  readonly #unsaidMs = new Map<string, number>();

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
    if (
      !isAssigned ||
      !isHeard ||
      !decided ||
      serviceWrites.areLost ||
      truth.said?.checks.has(checkId(name, spec.checks))
    ) {
      this.#unsaidMs.delete(id);
      return undefined;
    }
    const sinceMs = this.#unsaidMs.get(id) ?? this.#world.nowMs;
    this.#unsaidMs.set(id, sinceMs);
    if (this.#world.nowMs - sinceMs <= NOTICED_MS) return undefined;
    return `the agent of ${truth.name} has said nothing of ${name} for ${this.#world.nowMs - sinceMs} ms`;
  }
}
