import { readyLabel } from '@rollcall/common/well-known.ts';
import type { Deed, Target } from './deeds.ts';
import { labelOf, NODE_SERVICE_NAMES } from './node-services.ts';
import { DEVICE_LABEL, IMPLIED_LABEL } from './rules.ts';
import { SERVICE_NAMES } from './truth.ts';

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

function deed(act: (target: Target) => void): Deed {
  return { theme: 'eviction', act };
}
