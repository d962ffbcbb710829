import { OFFERED, OFFERED_KINDS } from './actors.ts';
import type { Deed, Target } from './deeds.ts';
import { drawSpec, labelOf, POOL_LABEL, POOLS, PORTS } from './node-services.ts';
import { edit } from './people.ts';
import { CORAL_LABEL, SHARED } from './rules.ts';

/** Labels that a NodeService wants, and a pool or a rule as well. */
export const CLAIM_DEEDS: Readonly<Record<string, Deed>> = {
  'a set comes to want the label of a NodeService, or no longer does': deed(({ world, pick }) => {
    const pool = pick(POOLS);
    const { [SHARED.byPool]: shared, ...others } = world.sets.get(pool)?.labels ?? {};
    const labels = shared === undefined ? { ...others, [SHARED.byPool]: pick(['gold', 'silver']) } : others;
    world.setPoolLabels(pool, Object.keys(labels).length > 0 ? labels : undefined);
  }),
  'the reason of a rule comes or goes on a node': deed(({ world, truth, pick }) =>
    edit(world, truth, { labels: { [CORAL_LABEL]: pick(['yes', null]) } }),
  ),
  'the rules for labels of NodeServices come or go': deed(({ world }) => world.setRules(!world.rulesOn)),
  'a NodeService comes to want a shared label, or another': deed((target) => {
    const { world, pick, random } = target;
    const name = pick(['x', 'y'] as const);
    const { checks, publish, dryRun } = world.services.get(name)?.spec ?? drawSpec(name, target);
    const { label: _label, ...others } = dryRun ?? publish;
    const isOther = random() < 0.3 && Object.keys(others).length > 0;
    world.serviceWrites.set(name, { checks, publish: isOther ? others : { ...others, label: labelOf(name) } });
  }),
  'a NodeService with a shared label is deleted': deed(({ world, pick }) => {
    const object = pick([...world.services.values()]);
    if (object) world.serviceWrites.delete(object.name);
  }),
  'what a NodeService with a shared label checks turns over': deed(({ world, truth, pick }) => {
    const [port, isOffered] = [pick(PORTS), pick([true, false])];
    truth.ports[port] = !truth.ports[port];
    for (const kind of OFFERED_KINDS) OFFERED[kind].set(world, truth, isOffered);
  }),
  'a node with shared labels changes pool': deed(({ world, truth, pick }) =>
    edit(world, truth, { labels: { [POOL_LABEL]: pick([...POOLS, null]) } }),
  ),
};

function deed(act: (target: Target) => void): Deed {
  return { theme: 'claims', act };
}
