import { POOL_LABEL } from './node-services.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/** A Node of the same name comes at once, and is another. */
export function renew(world: World, truth: NodeTruth): void {
  const pool = world.nodes.get(truth.name)?.metadata.labels?.[POOL_LABEL] ?? '';
  world.deleteNode(truth);
  const next = world.createNode(truth.name, pool, truth.forWorkspaces);
  world.later(1500, () => world.populate(next));
}

/** The same, and the pods of the machine before stay, as the kubelet has not yet said that they are gone. */
export function renewMachine(world: World, truth: NodeTruth): void {
  const pool = world.nodes.get(truth.name)?.metadata.labels?.[POOL_LABEL] ?? '';
  world.deleteMachine(truth);
  const next = world.createNode(truth.name, pool, truth.forWorkspaces);
  next.pods = truth.pods;
  world.later(1500, () => {
    if (world.truths.get(next.name) === next) world.startAgent(next);
  });
}

/** The leader ends its term, and another term begins a moment later. */
export function handOver(world: World, next: number, afterMs = 200): void {
  if (world.leader === undefined) return;
  world.lead(undefined);
  world.later(afterMs, () => world.lead(next));
}
