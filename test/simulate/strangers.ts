import type { SimNode } from './node.ts';
import { conditionOf } from './services.ts';
import type { World } from './world.ts';

const PERSON = 'kubectl-edit';

/** Patches a Node as a person with `kubectl edit`, or as another manager. */
export function person(world: World, { name, isGone }: SimNode, body: object, manager = PERSON): void {
  if (!isGone) world.server.nodes.patch({ kind: 'merge', name, manager, body });
}

/** A condition that is the rival's own. */
export function rivalCondition(world: World, { name, isGone }: SimNode, value: string): void {
  if (isGone) return;
  const condition = {
    type: conditionOf({ name: 'rival' }),
    status: value === '0' ? 'False' : 'True',
    reason: `R${value}`,
  };
  const body = { metadata: { name }, status: { conditions: [condition] } };
  world.server.nodes.patch({ kind: 'apply', name, manager: 'rival', subresource: 'status', body });
}
