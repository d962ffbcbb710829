import { readyLabel } from '@rollcall/common/well-known.ts';
import { OFFERED } from './actors.ts';
import type { Deed, Target } from './deeds.ts';
import {
  conditionOf,
  labelOf,
  NODE_SERVICE_NAMES,
  type NodeServiceObject,
  PORTS,
  renamedLabelOf,
} from './node-services.ts';
import { DEVICE_LABEL, IMPLIED_LABEL } from './rules.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';
import type { World } from './world.ts';

const REQUIRED = [
  ...SERVICE_NAMES.map((name) => readyLabel(name, 'default')),
  ...NODE_SERVICE_NAMES.map(labelOf),
  'pool.example/tier',
  'pool.example/zone',
  DEVICE_LABEL,
  IMPLIED_LABEL,
];
const PODS = ['w0', 'w1', 'w2', 'w3'] as const;

/** What happens to pods that need labels of their nodes, and to these labels. */
export const EVICTION_DEEDS: Readonly<Record<string, Deed>> = {
  'a pod is bound to a node for a label': deed(({ world, truth, pick }) => {
    const labels = world.nodes.get(truth.name)?.metadata.labels ?? {};
    const key = pick(REQUIRED.filter((each) => labels[each] !== undefined));
    if (key !== undefined) world.bindWorkload(pick(PODS), { node: truth.name, key, value: labels[key] ?? '' });
  }),
  'a PodDisruptionBudget admits or refuses evictions': deed(({ world, pick }) => {
    const pod = world.workloads.pods.get(pick(PODS));
    if (pod) pod.isBlocked = !pod.isBlocked;
  }),
  'a service that pods need fails or recovers': deed(({ truth, service }) => {
    truth.up[service] = !truth.up[service];
  }),
  'a device that pods need comes or goes': deed(({ truth }) => {
    truth.device = !truth.device;
  }),
  'a set of which pods need labels comes or goes': deed(({ world, pick }) => {
    const pool = pick(['a', 'b']);
    world.setPoolLabels(pool, world.sets.has(pool) ? undefined : { 'pool.example/tier': 'gold' });
  }),
  'a NodeService fails on a node, and is edited or deleted before pods are evicted': deed(
    ({ world, truth, random, pick }) => {
      const labels = world.nodes.get(truth.name)?.metadata.labels ?? {};
      const service = pick([...world.services.values()]);
      const key = service?.spec.publish.label;
      if (key === undefined || labels[key] !== 'true') return;
      const { name, spec } = service;
      world.bindWorkload(pick(PODS), { node: truth.name, key, value: 'true' });
      failOn(world, truth, service);
      const label = renamedLabelOf(name);
      const other = name === 'x' ? 'y' : 'x';
      world.later(random() * 28_000, () => {
        if (world.services.get(name)?.uid !== service.uid) return;
        const writes = world.serviceWrites;
        const act = pick(['delete', 'rename', 'deselect', 'hide', 'hand over'] as const);
        if (act === 'delete') writes.delete(name);
        if (act === 'rename') writes.set(name, { ...spec, publish: { ...spec.publish, label } });
        if (act === 'deselect') writes.set(name, { ...spec, pool: 'c' });
        if (act === 'hide') writes.set(name, { ...spec, publish: { condition: conditionOf(name) } });
        if (act !== 'hand over') return;
        writes.set(name, { ...spec, publish: { ...spec.publish, label } });
        // The younger one is seen to pass, or nothing is seen of it.
        writes.set(other, {
          checks: { port: pick(PORTS) },
          publish: { label: key },
          ...(random() < 0.5 ? { pool: 'c' } : {}),
        });
      });
    },
  ),
  'a node with pods for a service is silent for a while': deed(({ world, truth, service, random, pick }) => {
    const key = readyLabel(service, 'default');
    // No scheduler binds a pod to a node without the label.
    if (world.nodes.get(truth.name)?.metadata.labels?.[key] === 'true')
      world.bindWorkload(pick(PODS), { node: truth.name, key, value: 'true' });
    truth.reachable = false;
    world.later(60_000 + random() * 60_000, () => {
      truth.reachable = true;
    });
  }),
};

/** All that the service checks fails. */
function failOn(world: World, truth: NodeTruth, { spec: { checks } }: NodeServiceObject): void {
  const { port, pods, offered, device } = checks;
  if (port !== undefined) truth.ports[port] = false;
  if (pods !== undefined) world.setPod(truth, pods, { ready: false, terminating: false });
  if (offered !== undefined) OFFERED[offered].set(world, truth, false);
  if (device !== undefined) truth.device = false;
}

function deed(act: (target: Target) => void): Deed {
  return { theme: 'eviction', act };
}
