import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { OFFERED, OFFERED_KINDS } from './actors.ts';
import type { Deed, Target } from './deeds.ts';
import {
  conditionOf,
  drawSpec,
  labelOf,
  NODE_SERVICE_NAMES,
  type NodeServiceObject,
  PORTS,
  PUBLISHED_IDS,
  publishing,
  taintOf,
  turned,
} from './node-services.ts';
import {
  claim,
  removeCondition,
  removeList,
  resetManagedFields,
  rival,
  setStatus,
  taint,
  taintAsWell,
  untaint,
} from './people.ts';

const STATUSES = ['True', 'False', 'Unknown'] as const;
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** What happens to NodeServices, to what they check, and to what they publish. */
export const SERVICE_DEEDS: Readonly<Record<string, Deed>> = {
  'a NodeService is written': deed((target) => {
    const name = target.pick(NODE_SERVICE_NAMES);
    target.world.serviceWrites.set(name, drawSpec(name, target));
  }),
  'a NodeService is edited': deed((target) => {
    const object = written(target);
    if (!object) return;
    const drawn = drawSpec(object.name, target);
    const { pool: _pool, ...everywhere } = object.spec;
    const { startup: _startup, ...continuous } = object.spec;
    const { unknownField: _field, ...understood } = object.spec;
    const edits = [
      { ...object.spec, checks: drawn.checks },
      publishing(object.spec, drawn.publish),
      object.spec.pool === undefined ? { ...object.spec, pool: 'a' } : everywhere,
      object.spec.startup ? continuous : { ...object.spec, startup: true as const },
      object.spec.unknownField ? understood : { ...object.spec, unknownField: true as const },
    ];
    target.world.serviceWrites.set(object.name, target.pick(edits));
  }),
  'a dry run of a NodeService begins or ends': deed((target) => {
    const object = written(target);
    if (object) target.world.serviceWrites.set(object.name, turned(object.spec));
  }),
  'a NodeService is deleted': deed((target) => {
    const object = written(target);
    if (object) target.world.serviceWrites.delete(object.name);
  }),
  'a NodeService is made anew': deed((target) => {
    const object = written(target);
    if (!object) return;
    target.world.serviceWrites.delete(object.name);
    // Of what is gone the keys may go.
    target.world.happened();
    const spec = drawSpec(object.name, target);
    target.world.serviceWrites.set(object.name, object.spec.startup ? { ...spec, startup: true } : spec);
  }),
  'the watch of NodeServices is lost for a while': deed(({ world, random }) =>
    world.serviceWrites.lose(random() * 90_000),
  ),
  'the CRD of NodeServices is deleted, and may return': deed(({ world, random }) => {
    const objects = [...world.services.values()];
    world.serviceWrites.lose(random() * 5000);
    for (const { name } of objects) world.serviceWrites.delete(name);
    if (random() < 0.5) return;
    world.later(random() * 120_000, () => {
      for (const { name, spec } of objects) if (!world.services.has(name)) world.serviceWrites.set(name, spec);
    });
  }),
  'a port turns over': deed(({ truth, pick }) => {
    const port = pick(PORTS);
    truth.ports[port] = !truth.ports[port];
  }),
  'a port comes and goes': deed(({ world, truth, random, pick }) => {
    const port = pick(PORTS);
    const everyMs = 100 + Math.round(random() * 3000);
    for (let times = 1; times <= 10; times += 1) {
      world.later(times * everyMs, () => {
        truth.ports[port] = times % 2 === 0;
      });
    }
  }),
  'a pod of a NodeService changes': deed(({ world, truth, pick }) => {
    const states = [{ ready: true, terminating: false }, { ready: false, terminating: false }, undefined];
    world.setPod(truth, pick(NODE_SERVICE_NAMES), pick(states));
  }),
  'an agent is not heard for a minute': deed(({ world, truth }) => {
    truth.reachable = false;
    world.later(60_000, () => {
      truth.reachable = true;
    });
  }),
  'what a service asks for comes or goes': deed(({ world, truth, pick, random }) => {
    const kinds = [...world.services.values()].flatMap(({ spec }) => spec.checks.offered ?? []);
    OFFERED[pick(kinds.length > 0 ? kinds : OFFERED_KINDS)].set(world, truth, random() < 0.6, random() < 0.5);
  }),
  'a file is written': deed(({ world, truth, pick }) => {
    truth.writtenMs[pick(PORTS)] = world.clock.now();
  }),
  'a machine starts again': deed(({ world, truth }) => {
    truth.bootedMs = world.clock.now();
  }),
  'what a service asks for is away for a moment': deed(({ world, truth, pick, random }) => {
    const kinds = [...world.services.values()].flatMap(({ spec }) => spec.checks.offered ?? []);
    const actor = OFFERED[pick(kinds.length > 0 ? kinds : OFFERED_KINDS)];
    actor.set(world, truth, false, random() < 0.5);
    world.later(1000 + random() * 20_000, () => {
      if (world.truths.get(truth.name) === truth) actor.set(world, truth, true);
    });
  }),
  'an accelerator comes or goes': deed(({ truth }) => {
    truth.device = !truth.device;
  }),
  'a person sets a published label': deed(({ world, truth, pick }) =>
    claim(world, truth, {
      ...{ kind: 'label', key: labelOf(pick(NODE_SERVICE_NAMES)), value: pick(['true', 'false', null]) },
      list: KEYS_ANNOTATION,
    }),
  ),
  'a person sets a published taint': deed(({ world, truth, pick }) => {
    const set = pick([taint, taintAsWell]);
    set(world, truth, { key: taintOf(pick(NODE_SERVICE_NAMES)), value: pick(['', 'v', 'w']), effect: pick(EFFECTS) });
  }),
  'a person removes a published taint': deed(({ world, truth, pick }) =>
    untaint(world, truth, taintOf(pick(NODE_SERVICE_NAMES))),
  ),
  'a person changes a published condition': deed(({ world, truth, pick }) =>
    setStatus(world, truth, conditionOf(pick(NODE_SERVICE_NAMES)), pick(STATUSES)),
  ),
  'a rival writes a published condition': deed(({ world, truth, pick }) =>
    rival(world, truth, conditionOf(pick(NODE_SERVICE_NAMES)), pick(STATUSES)),
  ),
  'the list of keys is removed': deed(({ world, truth }) => removeList(world, truth)),
  'managedFields of a Node are reset': deed(({ world, truth }) => resetManagedFields(world, truth)),
  'admission refuses a published key for a while': deed(({ world, pick, random }) =>
    world.faults.refuse(pick(PUBLISHED_IDS), random() * 20_000, pick(['policy', 'webhook'])),
  ),
  'a published condition is removed': deed(({ world, truth, pick }) =>
    removeCondition(world, truth, conditionOf(pick(NODE_SERVICE_NAMES))),
  ),
};

function deed(act: (target: Target) => void): Deed {
  return { theme: 'node-services', act };
}

function written({ world, pick }: Target): NodeServiceObject | undefined {
  return world.services.size > 0 ? pick([...world.services.values()]) : undefined;
}
