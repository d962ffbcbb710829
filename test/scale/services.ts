import path from 'node:path';
import { SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import type { KubeObject } from '../control-plane/api-client.ts';
import type { NodeObject } from '../control-plane/cluster.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { cpuMeasures } from './cold.ts';
import { eachOf } from './each-of.ts';
import { GROUP_LABEL, GROUPS, groupOf } from './fleet-objects.ts';
import { type Lab, spentSince } from './lab.ts';
import { processUsage } from './process-usage.ts';
import type { Bench } from './result.ts';

const CRD = path.resolve(import.meta.dirname, '../../deploy/crds/nodeservices.yaml');
const NODE_SERVICES = '/apis/rollcall.dev/v1alpha1/nodeservices';
const SERVICES = 200;
const CHANGING = 10;
const WAIT = { timeoutMs: 600_000, everyMs: 500 };

type Status = KubeObject & { status?: { nodes?: { ready: number } } };

/** A fleet with 200 NodeServices, each for one group of nodes; then ten of a node change at once. */
export const benchServices: Bench = async (lab, { nodes }) => {
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  await lab.settledPatches();
  const before = await processUsage(lab.coordinator.pid);
  const patchesBefore = await lab.nodePatches();
  const cpuBefore = await lab.cpuMs();
  const createdMs = performance.now();
  await lab.during(`creating ${SERVICES} NodeServices`, () => createServices(lab));
  const readyMs = await lab.during('labelling for them', () => allReady(lab));
  const cpu = await spentSince(lab, cpuBefore);
  const patches = (await lab.settledPatches()) - patchesBefore;
  const after = await processUsage(lab.coordinator.pid);

  const name = lab.fleet.names.find((each) => groupOf(each) === '0') ?? '';
  // A taint that was never seen to go waits for the status of its NodeService: the second time tells what it costs.
  for (const ready of [false, true]) await requestsFor(lab, name, ready);
  const gone = await requestsFor(lab, name, false);
  const back = await requestsFor(lab, name, true);
  const all = lab.fleet.names.length;
  return [
    { what: 'NodeServices', value: SERVICES, unit: '' },
    { what: 'of them on each node', value: SERVICES / GROUPS, unit: '' },
    { what: 'first created → ready on all nodes', value: (readyMs - createdMs) / 1000, unit: 's' },
    ...cpuMeasures('until then', all, [cpu]),
    { what: 'PATCHes a node for them', value: patches / all, unit: '' },
    { what: 'private memory for them', value: after.privateMiB - before.privateMiB, unit: 'MiB' },
    { what: 'the same, a node', value: ((after.privateMiB - before.privateMiB) * 1024) / all, unit: 'KiB' },
    { what: 'longest reply to a report', value: lab.fleet.replyBytesMax, unit: 'B' },
    { what: `${CHANGING} services of a node gone: merge and JSON patches`, value: gone.PATCH, unit: '', exactly: 2 },
    { what: `${CHANGING} services of a node gone: applies`, value: gone.APPLY, unit: '', exactly: 0 },
    { what: `${CHANGING} services of a node back: JSON patches`, value: back.PATCH, unit: '', exactly: 1 },
    { what: `${CHANGING} services of a node back: applies`, value: back.APPLY, unit: '', exactly: 1 },
  ];
};

function serviceName(index: number): string {
  return `service-${index}`;
}

/** Services of the first group that have a taint as well. */
const TAINTED = Array.from({ length: CHANGING }, (_, index) => serviceName(index * GROUPS));

async function createServices({ cluster }: Lab): Promise<void> {
  await cluster.controlPlane.kubectl(['apply', '-f', CRD]);
  await waitFor('NodeServices to be served', () => cluster.api.list(NODE_SERVICES), WAIT);
  const names = Array.from({ length: SERVICES }, (_, index) => serviceName(index));
  await eachOf(names, 16, async (name) => {
    const taint = { key: `readiness.k8s.io/${name}`, effect: 'NoSchedule' };
    const publish = { label: `${SERVICE_LABEL_PREFIX}${name}`, ...(TAINTED.includes(name) ? { taint } : {}) };
    await cluster.api.post(NODE_SERVICES, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'NodeService',
      metadata: { name },
      spec: {
        nodeSelector: { matchLabels: { [GROUP_LABEL]: groupOf(name) } },
        checks: [{ name: 'port', http: { port: 9000, path: '/healthz' } }],
        publish,
      },
    });
  });
}

/** Waits until each is ready on all of its nodes; returns when that was seen. */
async function allReady({ cluster, fleet }: Lab): Promise<number> {
  const wanted = fleet.names.length * (SERVICES / GROUPS);
  await waitFor(
    'all to be ready',
    async () => {
      const found = await cluster.api.list<Status>(NODE_SERVICES);
      return found.reduce((sum, { status }) => sum + (status?.nodes?.ready ?? 0), 0) === wanted;
    },
    WAIT,
  );
  return performance.now();
}

/** What it takes of requests when ten services of a node change at once. */
async function requestsFor(lab: Lab, name: string, ready: boolean): Promise<Record<'PATCH' | 'APPLY', number>> {
  const counts = async () => ({ PATCH: await lab.nodeRequests('PATCH'), APPLY: await lab.nodeRequests('APPLY') });
  const before = await counts();
  await lab.fleet.report([name], { ready, services: TAINTED });
  await waitFor(
    'the node to say so',
    async () => {
      const { metadata, spec } = await lab.cluster.api.get<NodeObject>(`/api/v1/nodes/${name}`);
      const labels = TAINTED.filter((service) => metadata.labels?.[`${SERVICE_LABEL_PREFIX}${service}`] === 'true');
      const taints = spec.taints?.filter(({ key }) => key.startsWith('readiness.k8s.io/')) ?? [];
      return labels.length === (ready ? CHANGING : 0) && taints.length === (ready ? 0 : CHANGING);
    },
    WAIT,
  );
  await lab.settledPatches();
  const after = await counts();
  return { PATCH: after.PATCH - before.PATCH, APPLY: after.APPLY - before.APPLY };
}
