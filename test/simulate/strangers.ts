import type { SimNode } from './node.ts';
import { conditionOf } from './services.ts';
import type { World } from './world.ts';

const PERSON = 'kubectl-edit';

/** Patches a Node as a person with `kubectl edit`, or as another manager. */
export function person(world: World, { name, isGone }: SimNode, body: object, manager = PERSON): void {
  if (!isGone) world.server.nodes.patch({ kind: 'merge', name, manager, body });
}

/** A condition that is the rival's own. */
export function rivalCondition(world: World, node: SimNode, value: string): void {
  const type = conditionOf({ name: 'rival' });
  foreignCondition(world, node, { type, status: value === '0' ? 'False' : 'True', reason: `R${value}` });
}

/** A condition that others set. */
export function foreignCondition(
  world: World,
  { name, isGone }: SimNode,
  condition: { type: string; status: string; reason?: string },
): void {
  if (isGone) return;
  const body = { metadata: { name }, status: { conditions: [condition] } };
  const manager = `of-${condition.type}`;
  world.server.nodes.patch({ kind: 'apply', name, manager, subresource: 'status', body, force: true });
}
