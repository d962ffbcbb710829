import type { DaemonSet, NodeRequirement, Pod, Taint, Toleration } from '@rollcall/coordinator/kube/objects.ts';
import { isAskedFor, untoleratedTaint } from '@rollcall/coordinator/state/daemon-placement.ts';
import { observeDaemonPod, observeDaemonSet } from '@rollcall/coordinator/state/daemon-sets.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startControllers } from '../../chart/controllers.ts';
import { createNamespace, createNode, createServiceAccount, type NodeObject } from '../../control-plane/cluster.ts';
import type { Component } from '../../control-plane/component.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { generator } from '../../model/random.ts';

// Where pods of DaemonSets belong, compared with what the real kube-controller-manager places.

const NODES = 16;
const DAEMON_SETS = 160;
const NAMESPACE = 'daemons';
const PATH = `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`;
const KEYS = ['zone', 'gpu', 'n'];
const VALUES = ['a', 'b', '3', '12', ''];
const EFFECTS = ['NoSchedule', 'NoExecute', 'PreferNoSchedule'] as const;
const CONDITIONS = ['not-ready', 'unreachable', 'disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'];
const TAINTS = ['t', 'u', ...[...CONDITIONS, 'network-unavailable'].map((each) => `node.kubernetes.io/${each}`)];

const random = generator(56);
const chance = (share: number) => random() < share;
const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
const times = <T>(most: number, make: () => T) => Array.from({ length: Math.floor(random() * (most + 1)) }, make);

let controlPlane: ControlPlane;
let controllers: Component;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  await createNamespace(controlPlane.api, NAMESPACE);
  await createServiceAccount(controlPlane.api, NAMESPACE, 'default');
}, 120_000);

afterAll(async () => {
  await controllers?.kill('SIGKILL');
  await controlPlane?.stop();
});

function requirement(): NodeRequirement {
  const operator = pick(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']);
  const key = pick(KEYS);
  if (operator === 'Exists' || operator === 'DoesNotExist') return { key, operator };
  if (operator === 'Gt' || operator === 'Lt') return { key, operator, values: [pick(['0', '3', '7'])] };
  return { key, operator, values: [pick(VALUES), ...times(1, () => pick(VALUES))] };
}

function field(): NodeRequirement {
  return { key: 'metadata.name', operator: pick(['In', 'NotIn']), values: [`node-${Math.floor(random() * NODES)}`] };
}

function term() {
  const matchExpressions = times(2, requirement);
  return { matchExpressions, ...(chance(0.3) ? { matchFields: [field()] } : {}) };
}

function toleration(): Toleration {
  const effect = chance(0.4) ? {} : { effect: pick(EFFECTS) };
  if (chance(0.15)) return { operator: 'Exists', ...effect };
  const key = pick(TAINTS);
  return chance(0.5) ? { key, operator: 'Exists', ...effect } : { key, value: pick(VALUES), ...effect };
}

function taint(): Taint {
  return { key: pick(TAINTS), value: pick(VALUES), effect: pick(EFFECTS) };
}

function daemonSet(name: string) {
  const labels = { daemon: name };
  const affinity = chance(0.6)
    ? {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term(), ...times(2, term)] },
        },
      }
    : undefined;
  const spec = {
    containers: [{ name: 'main', image: 'none' }],
    automountServiceAccountToken: false,
    ...(affinity ? { affinity } : {}),
    ...(chance(0.3) ? { nodeSelector: { [pick(KEYS)]: pick(VALUES) } } : {}),
    ...(chance(0.1) ? { nodeName: `node-${Math.floor(random() * NODES)}` } : {}),
    ...(chance(0.3) ? { hostNetwork: true } : {}),
    tolerations: times(5, toleration),
  };
  const metadata = { name, namespace: NAMESPACE };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata,
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

type Placed = DaemonSet & { status?: { observedGeneration?: number; desiredNumberScheduled?: number } };

test('a pod belongs exactly where the controller of DaemonSets makes one', async () => {
  const { api } = controlPlane;
  for (let index = 0; index < NODES; index += 1) {
    const labels = Object.fromEntries(KEYS.filter(() => chance(0.6)).map((key) => [key, pick(VALUES)]));
    const taints = new Map(times(3, taint).map((each) => [`${each.key} ${each.effect}`, each]));
    await createNode(api, `node-${index}`, { labels, taints: [...taints.values()] as never });
    // The controller looks at the taint that comes of it, not at the field.
    if (chance(0.2)) await api.patch(`/api/v1/nodes/node-${index}`, { spec: { unschedulable: true } });
  }
  for (let index = 0; index < DAEMON_SETS; index += 1) await api.post(PATH, daemonSet(`ds-${index}`));
  controllers = await startControllers(
    controlPlane,
    ['daemonset-controller'],
    ['--kube-api-qps=1000', '--kube-api-burst=2000', '--concurrent-daemonset-syncs=8'],
  );
  const placed = await waitFor(
    'every DaemonSet to be placed',
    async () => {
      const all = await api.list<Placed & { metadata: { name: string } }>(PATH);
      const pods = await api.list<Pod & { metadata: { name: string } }>(`/api/v1/namespaces/${NAMESPACE}/pods`);
      const desired = all.reduce((sum, { status }) => sum + (status?.desiredNumberScheduled ?? 0), 0);
      const areSeen = all.every(({ status }) => status?.observedGeneration === 1);
      return areSeen && desired === pods.length ? { all, pods } : undefined;
    },
    { timeoutMs: 120_000 },
  );
  const nodes = await api.list<NodeObject>('/api/v1/nodes');
  const made = new Set(placed.pods.map((pod) => observeDaemonPod(pod)).map(({ uid, node }) => `${uid} ${node}`));
  const belonging = placed.all.flatMap((each) => {
    const { uid, template } = observeDaemonSet(each);
    return nodes.flatMap(({ metadata: { name, labels = {} }, spec: { taints = [] } }) =>
      isAskedFor(template, { name, labels }) && !untoleratedTaint(template, taints) ? [`${uid} ${name}`] : [],
    );
  });
  expect(belonging.toSorted()).toEqual([...made].toSorted());
  // Neither nearly all nor nearly none, or the comparison would say little.
  const share = made.size / (NODES * DAEMON_SETS);
  expect(share).toBeGreaterThan(0.05);
  expect(share).toBeLessThan(0.6);
}, 240_000);
