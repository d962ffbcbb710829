import type { Clock } from '@rollcall/common/clock.ts';
import type { Resources } from '@rollcall/coordinator/state/resources.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

/** kube-scheduler's default `bindTimeout`: how long it waits for what a binding needs, such as a volume. */
const ASSUMED_MS = 600_000;
const PODS_MAX = 10_000;

/** So many pods, and what they ask for together, in cores and bytes. */
export type Load = Resources & { pods: number };

type Assumption = { node: string; asks: Resources; untilMs: number };

/**
 * Where pods will be that were given a node a moment ago and are not yet seen there. Without it, all pods of a burst are
 * sent to the node that was best before the first of them.
 *
 * That a pod is not scheduled, as its condition `PodScheduled` says, does not end it: this may be said of an earlier
 * attempt, and stands there until the pod has a node.
 */
export class Assumptions {
  readonly #clock: Clock;
  /** By pod, the oldest first. */
  readonly #pods = new Map<string, Assumption>();
  readonly #loads = new Map<string, Load>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  assume({ id: pod, asks }: Pick<SchedulingPod, 'id' | 'asks'>, node: string): void {
    this.drop(pod);
    const [oldest] = this.#pods.keys();
    if (oldest !== undefined && this.#pods.size >= PODS_MAX) this.drop(oldest);
    this.#pods.set(pod, { node, asks, untilMs: this.#clock.monotonic() + ASSUMED_MS });
    this.#loads.set(node, plus(this.#loads.get(node), asks, 1));
  }

  /** The pod has a node, is gone, or asks again. */
  drop(pod: string): void {
    const assumption = this.#pods.get(pod);
    if (!assumption) return;
    this.#pods.delete(pod);
    const left = plus(this.#loads.get(assumption.node), assumption.asks, -1);
    if (left.pods > 0) this.#loads.set(assumption.node, left);
    else this.#loads.delete(assumption.node);
  }

  /** What is on its way to which nodes; where nothing is, there is no entry. Good until the next call. */
  loads(): ReadonlyMap<string, Load> {
    this.#expire();
    return this.#loads;
  }

  /** What is on its way, as if this pod were not. */
  loadsWithout(pod: string): ReadonlyMap<string, Load> {
    const loads = new Map(this.loads());
    const own = this.#pods.get(pod);
    if (own) loads.set(own.node, plus(loads.get(own.node), own.asks, -1));
    return loads;
  }

  #expire(): void {
    const now = this.#clock.monotonic();
    for (const [pod, { untilMs }] of this.#pods) {
      if (untilMs > now) return;
      this.drop(pod);
    }
  }
}

function plus({ pods, cpu, memory }: Load = { pods: 0, cpu: 0, memory: 0 }, asks: Resources, times: 1 | -1): Load {
  return { pods: pods + times, cpu: cpu + times * asks.cpu, memory: memory + times * asks.memory };
}
