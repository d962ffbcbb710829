import type { Deed, Target } from './deeds.ts';
import { POOL_LABEL } from './node-services.ts';
import { POOL_KEYS } from './rules.ts';
import type { NodeTruth } from './truth.ts';
import type { World } from './world.ts';

/** Its writes hang. It has more nodes than are written at once. */
const HANGING = 'a';

/** What happens to a fleet while a webhook holds up the writes to its large pool. */
export const HANGING_DEEDS: Readonly<Record<string, Deed>> = {
  'a service turns over in a pool whose writes hang': deed(({ world, service, random }) => {
    world.faults.hang(HANGING, 2000 + random() * 60_000);
    for (const truth of nodesOf(world, true)) truth.up[service] = !truth.up[service];
  }),
  'writes to the large pool hang': deed(({ world, random }) => world.faults.hang(HANGING, 2000 + random() * 60_000)),
  'a service turns over in the large pool': deed(({ world, service, random }) => {
    for (const truth of nodesOf(world, true)) if (random() < 0.8) truth.up[service] = !truth.up[service];
  }),
  'a service turns over beside the large pool': deed(({ world, service, pick }) => {
    const truth = pick(nodesOf(world, false));
    if (truth) truth.up[service] = !truth.up[service];
  }),
  'a service turns over everywhere': deed(({ world, service }) => {
    for (const truth of world.truths.values()) truth.up[service] = !truth.up[service];
  }),
  'a pool gets a set, or loses it': deed(({ world, pick }) => {
    const pool = pick([HANGING, 'b']);
    world.setPoolLabels(pool, world.sets.has(pool) ? undefined : { [pick(POOL_KEYS)]: pick(['gold', 'silver']) });
  }),
};

function nodesOf({ truths, nodes }: World, isHanging: boolean): NodeTruth[] {
  const isOf = ({ name }: NodeTruth) => nodes.get(name)?.metadata.labels?.[POOL_LABEL] === HANGING;
  return [...truths.values()].filter((truth) => isOf(truth) === isHanging);
}

function deed(act: (target: Target) => void): Deed {
  return { theme: 'hanging', act };
}
