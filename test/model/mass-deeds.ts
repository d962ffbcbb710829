import type { Deed, Target } from './deeds.ts';
import { labelOf, NODE_SERVICE_NAMES, POOLS, PORTS, taintOf } from './node-services.ts';
import { POOL_KEYS } from './rules.ts';

/** What happens to many nodes at once. */
export const MASS_DEEDS: Readonly<Record<string, Deed>> = {
  'every pool gets a set': deed(({ world, pick }) => {
    const labels = { [pick(POOL_KEYS)]: pick(['gold', 'silver']) };
    for (const pool of POOLS) world.setPoolLabels(pool, labels);
  }),
  'all sets vanish, and may return': deed(({ world, random }) => {
    const sets = [...world.sets.values()];
    for (const { pool } of sets) world.setPoolLabels(pool, undefined);
    if (random() < 0.5) return;
    world.later(random() * 120_000, () => {
      for (const { pool, labels } of sets) world.setPoolLabels(pool, { ...labels });
    });
  }),
  'all rules come or go': deed(({ world }) => world.setRules(!world.rulesOn)),
  'every node gets or loses a device': deed(({ world, random }) => {
    const device = random() < 0.7;
    for (const truth of world.truths.values()) truth.device = device;
  }),
  'NodeServices of all nodes are written': deed(({ world, pick, random }) => {
    for (const [index, name] of NODE_SERVICE_NAMES.entries()) {
      const taint = { key: taintOf(name), value: pick(['', 'v']), effect: 'NoSchedule' as const };
      const publish = { label: labelOf(name), ...(random() < 0.7 ? { taint } : {}) };
      world.serviceWrites.set(name, { checks: { port: PORTS[index] ?? PORTS[0] }, publish });
      // Of what one of them no longer names, the keys may go.
      world.happened();
    }
  }),
  'all NodeServices vanish, and may return': deed(({ world, random }) => {
    const objects = [...world.services.values()];
    for (const { name } of objects) {
      world.serviceWrites.delete(name);
      // A NodeService that was refused may be accepted before it is deleted, too.
      world.happened();
    }
    if (random() < 0.5) return;
    world.later(random() * 120_000, () => {
      for (const { name, spec } of objects) {
        if (!world.services.has(name)) world.serviceWrites.set(name, spec);
        world.happened();
      }
    });
  }),
  'a port turns over on every node': deed(({ world, pick, random }) => {
    const [port, isUp] = [pick(PORTS), random() < 0.5];
    for (const truth of world.truths.values()) truth.ports[port] = isUp;
  }),
  'a port answers on one node': deed(({ truth, pick }) => {
    truth.ports[pick(PORTS)] = true;
  }),
};

function deed(act: (target: Target) => void): Deed {
  return { theme: 'mass', act };
}
