import { DO_NOT_DISRUPT, KARPENTER_POOL_LABEL } from '@rollcall/common/well-known.ts';
import type { Deed, Target } from './deeds.ts';
import { COMPONENTS, HOLD_NAMES } from './node-holds.ts';
import { claim, edit } from './people.ts';

const PODS = ['p0', 'p1', 'p2'] as const;

/** What happens to NodeHolds, and to the pods that they name. */
export const HOLD_DEEDS: Readonly<Record<string, Deed>> = {
  'a NodeHold is written': deed(({ world, random, pick }) =>
    world.setHold(pick(HOLD_NAMES), { component: pick([...COMPONENTS, undefined]), unknownField: random() < 0.2 }),
  ),
  'a NodeHold is no longer understood, or again': deed(({ world, pick }) => {
    const hold = world.holds.get(pick(HOLD_NAMES));
    if (hold) world.setHold(hold.name, { ...hold, unknownField: !hold.unknownField });
  }),
  'a NodeHold turns to another pod of the node': deed(({ world, truth, random }) => {
    for (const [index, component] of COMPONENTS.entries()) {
      world.setHeldPod(`p${index}`, { node: truth.name, component });
      world.later(index * 2000, () => world.setHold('h0', { component, unknownField: false }));
    }
    // Something else has the node evaluated at that moment.
    world.later(2000 + random() * 500, () => {
      if (world.truths.has(truth.name)) edit(world, truth, { labels: { [KARPENTER_POOL_LABEL]: 'other' } });
    });
  }),
  'a NodeHold is deleted': deed(({ world, pick }) => world.setHold(pick(HOLD_NAMES), undefined)),
  'a pod comes that NodeHolds may name': deed(({ world, truth, pick }) =>
    world.setHeldPod(pick(PODS), { node: truth.name, component: pick(COMPONENTS) }),
  ),
  'a pod ends that NodeHolds may name': deed(({ world, pick }) => world.setHeldPod(pick(PODS), undefined)),
  'a node comes to Karpenter, or leaves it': deed(({ world, truth, pick }) =>
    edit(world, truth, { labels: { [KARPENTER_POOL_LABEL]: pick(['default', null]) } }),
  ),
  'a person sets the annotation of Karpenter': deed(({ world, truth, pick }) =>
    claim(world, truth, { kind: 'annotation', key: DO_NOT_DISRUPT, value: pick(['true', 'false', null]) }),
  ),
};

function deed(act: (target: Target) => void): Deed {
  return { theme: 'holds', act };
}
