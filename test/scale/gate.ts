import { setTimeout as sleep } from 'node:timers/promises';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { ApiClient, KubeObject } from '../control-plane/api-client.ts';
import type { NodeObject } from '../control-plane/cluster.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { watch } from '../control-plane/watch.ts';
import { eachOf } from './each-of.ts';
import { nodeManifest } from './fleet-objects.ts';
import type { Lab } from './lab.ts';
import { processUsage } from './process-usage.ts';
import { type Bench, quantile } from './result.ts';

const DAEMON_SETS = 20;
const NODES_A_SECOND = 10;
const NAMESPACE = 'default';
const CREATE_CONCURRENCY = 16;
const WAIT = { timeoutMs: 60_000, everyMs: 100 };
const FLAGS = ['--agents=false', '--gitpod=false', '--startup-gate-daemon-sets'];

/**
 * Nodes come at a fixed rate behind the startup gate, each with the pods of 20 DaemonSets, which were bound to its name
 * before and become Ready one after the other. What counts is how long after the last of them the taint is gone.
 */
export const benchGate: Bench = async (lab, { nodes }) => {
  const { api } = lab.cluster;
  const names = Array.from({ length: nodes }, (_, index) => `gated-${index}`);
  await lab.lead(FLAGS);
  const uids = await createDaemonSets(api);
  const before = await processUsage(lab.coordinator.pid);
  await lab.during(`creating ${nodes * DAEMON_SETS} pods`, (update) =>
    eachOf(names, CREATE_CONCURRENCY, async (name, index) => {
      for (const [daemonSet, uid] of uids) await createPod(api, { daemonSet, uid, node: name });
      update(`${(index + 1) * DAEMON_SETS}`);
    }),
  );
  const after = await processUsage(lab.coordinator.pid);
  const patchesBefore = await lab.settledPatches();
  const opened = new Map<string, number>();
  const closed = new Set<string>();
  const stop = watch(api, '/api/v1/nodes', ({ type, object }) => {
    const { name } = object.metadata;
    if (type !== 'ADDED' && type !== 'MODIFIED') return;
    const isClosed = (object as NodeObject).spec.taints?.some(({ key }) => key === STARTUP_TAINT) === true;
    if (isClosed) closed.add(name);
    else if (closed.delete(name)) opened.set(name, performance.now());
  });
  const readyMs = new Map<string, number>();
  try {
    await lab.during(`${nodes} nodes come`, (update) => arrive(lab, { names, readyMs, update }));
    await waitFor('every gate to be opened', () => opened.size === nodes || undefined, WAIT);
  } finally {
    stop();
  }
  const lagsMs = names.map((name) => (opened.get(name) ?? Number.NaN) - (readyMs.get(name) ?? Number.NaN));
  const patches = (await lab.settledPatches()) - patchesBefore;
  const grownKiB = (after.privateMiB - before.privateMiB) * 1024;
  return [
    { what: 'DaemonSets', value: DAEMON_SETS, unit: '' },
    { what: 'last pod Ready → taint gone, p50', value: quantile(lagsMs, 0.5), unit: 'ms' },
    { what: 'last pod Ready → taint gone, p99', value: quantile(lagsMs, 0.99), unit: 'ms', atMost: 200 },
    { what: 'last pod Ready → taint gone, longest', value: Math.max(...lagsMs), unit: 'ms' },
    {
      what: 'gates that opened early',
      value: lagsMs.filter((lagMs) => lagMs < -EARLY_MS).length,
      unit: '',
      exactly: 0,
    },
    { what: 'PATCHes a node', value: patches / nodes, unit: '', exactly: 1 },
    { what: 'private memory for a pod', value: grownKiB / (nodes * DAEMON_SETS), unit: 'KiB' },
    {
      what: 'resident memory of the coordinator',
      value: (await processUsage(lab.coordinator.pid)).rssMiB,
      unit: 'MiB',
    },
  ];
};

/** The watch of the bench may be ahead of the answer that the last pod is Ready. */
const EARLY_MS = 50;

type Arrival = { names: readonly string[]; readyMs: Map<string, number>; update: (text: string) => void };

async function arrive({ cluster: { api } }: Lab, { names, readyMs, update }: Arrival): Promise<void> {
  const beganMs = performance.now();
  const arrivals: Promise<void>[] = [];
  for (const [index, name] of names.entries()) {
    const dueMs = beganMs + (index * 1000) / NODES_A_SECOND;
    await sleep(Math.max(0, dueMs - performance.now()));
    arrivals.push(
      startNode(api, name).then((lastMs) => {
        readyMs.set(name, lastMs);
      }),
    );
    update(`${index + 1}`);
  }
  await Promise.all(arrivals);
}

/** Returns when its last pod was Ready. */
async function startNode(api: ApiClient, node: string): Promise<number> {
  const { spec, ...manifest } = nodeManifest(node, '10.0.0.1') as KubeObject & { spec?: object };
  const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' }];
  const created = await api.post('/api/v1/nodes', { ...manifest, spec: { ...spec, taints } });
  // A pod that is older than its Node counts once it became Ready since; times have seconds.
  const sinceMs = Date.parse(String(created.metadata['creationTimestamp'])) + 1000;
  const lastTransitionTime = new Date(sinceMs).toISOString();
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime }];
  for (let index = 0; index < DAEMON_SETS; index += 1)
    await api.patch(`${podsPath}/${nameOf(`daemon-${index}`, node)}/status`, {
      status: { phase: 'Running', conditions },
    });
  return performance.now();
}

const podsPath = `/api/v1/namespaces/${NAMESPACE}/pods`;
const nameOf = (daemonSet: string, node: string) => `${daemonSet}-${node}`;

async function createDaemonSets(api: ApiClient): Promise<Map<string, string>> {
  const uids = new Map<string, string>();
  for (let index = 0; index < DAEMON_SETS; index += 1) {
    const name = `daemon-${index}`;
    const labels = { daemon: name };
    const spec = { containers: [{ name: 'main', image: 'none' }], tolerations: [{ operator: 'Exists' }] };
    const { metadata } = await api.post(`/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    uids.set(name, metadata.uid ?? '');
  }
  return uids;
}

/** As its controller makes it, and bound already. */
async function createPod(
  api: ApiClient,
  { daemonSet, uid, node }: { daemonSet: string; uid: string; node: string },
): Promise<void> {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    name: daemonSet,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  await api.post(podsPath, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: nameOf(daemonSet, node), labels: { daemon: daemonSet }, ownerReferences: [owner] },
    spec: {
      containers: [{ name: 'main', image: 'none' }],
      automountServiceAccountToken: false,
      nodeName: node,
      tolerations: [{ operator: 'Exists' }],
    },
  });
}
