import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import type { PodSpec, Taint } from '../../kube/objects.ts';
import { observeDaemonPod, observeDaemonSet } from '../../state/daemon-sets.ts';
import { mapOnDemand } from '../../state/on-demand-objects.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { type DaemonSetGateOptions, daemonSetsOf } from './daemon-set-gate.ts';
import { type StartupGateOptions, startupGateLabeler } from './startup-gate.ts';

const GATE: Taint = { key: STARTUP_TAINT, effect: 'NoSchedule' };
const BORN = '2026-01-01T00:01:00Z';
const OPTIONS: DaemonSetGateOptions = {
  ...{ namespaces: [], exclude: [], startupTaints: ['example.com/starts', 'starts.example.com/'] },
  ...{ timeoutMs: 600_000, onTimeout: 'Open' },
};
const ANY: PodSpec = { tolerations: [{ operator: 'Exists' }] };
const TOLERANT: PodSpec = { tolerations: [{ key: STARTUP_TAINT, operator: 'Exists' }] };

const metaOf = (name: string) => ({ name, namespace: 'system', uid: `uid-${name}`, resourceVersion: '1' });
const daemonSet = (name: string, spec: PodSpec = TOLERANT, labels = {}) =>
  observeDaemonSet({ metadata: { ...metaOf(name), labels }, spec: { template: { spec } } });

type Given = {
  ready?: boolean;
  createdAt?: string;
  readyAt?: string;
  owner?: string;
  status?: object;
  deleted?: boolean;
};

const podOf = (
  name: string,
  { ready = true, createdAt = BORN, readyAt = BORN, owner, status = {}, deleted }: Given = {},
) =>
  observeDaemonPod({
    metadata: {
      ...metaOf(`${name}-x`),
      creationTimestamp: createdAt,
      ...(deleted ? { deletionTimestamp: BORN } : {}),
      ownerReferences: [{ kind: 'DaemonSet', name, uid: owner ?? `uid-${name}`, controller: true }],
    },
    spec: { nodeName: 'n' },
    status: {
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: readyAt }],
      ...status,
    },
  });

type Situation = {
  daemonSets?: readonly ReturnType<typeof daemonSet>[] | undefined;
  daemonPods?: readonly ReturnType<typeof podOf>[] | undefined;
  taints?: readonly Taint[];
  labels?: Record<string, string>;
  undecided?: readonly string[];
  options?: Partial<DaemonSetGateOptions>;
};

function nodeOf({ daemonSets, daemonPods = [], taints = [GATE], labels = {} }: Situation) {
  const onDemand = { ...mapOnDemand(() => undefined), daemonSets, daemonPods };
  return { ...snapshot({ labels, taints }), name: 'n', createdAtMs: Date.parse(BORN), onDemand };
}

function waited(situation: Situation) {
  const { labels = {}, undecided = [], options } = situation;
  const coming = {
    labels,
    undecided: (key: string) => (undecided.includes(key) ? 'the agent has not told' : undefined),
    serviceTaints: new Set(['example.com/of-a-service']),
  };
  return daemonSetsOf(nodeOf(situation), { ...OPTIONS, ...options }, coming);
}
const missing = (situation: Situation) => waited(situation).missing;

test('a node waits for each DaemonSet that belongs on it, until it has a Ready pod there', () => {
  const daemonSets = [daemonSet('b'), daemonSet('a')];
  expect(missing({ daemonSets })).toEqual(['system/a (no pod yet)', 'system/b (no pod yet)']);
  expect(missing({ daemonSets, daemonPods: [podOf('a'), podOf('b', { ready: false })] })).toEqual([
    'system/b (is not Ready)',
  ]);
  expect(missing({ daemonSets, daemonPods: [podOf('a'), podOf('b')] })).toEqual([]);
});

test('it waits while DaemonSets or their pods are not known', () => {
  const unknown = ['the DaemonSets, which have not been listed yet'];
  expect(missing({})).toEqual(unknown);
  const node = {
    ...nodeOf({ daemonSets: [] }),
    onDemand: { ...nodeOf({ daemonSets: [] }).onDemand, daemonPods: undefined },
  };
  const coming = { labels: {}, undecided: () => undefined, serviceTaints: new Set<string>() };
  expect(daemonSetsOf(node, OPTIONS, coming).missing).toEqual(unknown);
});

test('it waits while NodeServices are not known, since a taint may be one of theirs', () => {
  const node = { ...nodeOf({ daemonSets: [] }), servicesKnown: false };
  const coming = { labels: {}, undecided: () => undefined, serviceTaints: new Set<string>() };
  expect(daemonSetsOf(node, OPTIONS, coming).missing).toEqual(['the NodeServices, which have not been listed yet']);
});

test('a pod of another DaemonSet, of an earlier Node, or on its way out does not count', () => {
  const daemonSets = [daemonSet('a')];
  const before = '2026-01-01T00:00:59Z';
  const after = '2026-01-01T00:01:01Z';
  const says = (given: Given) => missing({ daemonSets, daemonPods: [podOf('a', given)] });
  expect(says({ owner: 'uid-of-an-earlier-a' })).toEqual(['system/a (no pod yet)']);
  expect(says({ createdAt: before })).toEqual(['system/a (Ready since before the Node was created)']);
  expect(says({ createdAt: before, readyAt: after })).toEqual([]);
  expect(says({ deleted: true })).toEqual(['system/a (is terminating)']);
});

test('the reason is the one of the pod', () => {
  const daemonSets = [daemonSet('a')];
  const says = (status: object) => missing({ daemonSets, daemonPods: [podOf('a', { ready: false, status })] });
  const waiting = (reason: string) => [{ state: { waiting: { reason } } }];
  expect(says({ containerStatuses: waiting('ImagePullBackOff') })).toEqual(['system/a (ImagePullBackOff)']);
  expect(
    says({ initContainerStatuses: waiting('CrashLoopBackOff'), containerStatuses: waiting('PodInitializing') }),
  ).toEqual(['system/a (CrashLoopBackOff)']);
  expect(says({ containerStatuses: waiting('ContainerCreating') })).toEqual(['system/a (is not Ready)']);
  const message = '0/3 nodes are available: 1 Insufficient cpu.';
  expect(says({ conditions: [{ type: 'PodScheduled', status: 'False', message }] })).toEqual([`system/a (${message})`]);
});

test.each([
  ...['example.com/starts', 'starts.example.com/x', 'example.com/of-a-service', 'node.kubernetes.io/not-ready'],
  ...['node.cilium.io/agent-not-ready', 'ebs.csi.aws.com/agent-not-ready', 'efs.csi.aws.com/agent-not-ready'],
  ...['karpenter.sh/unregistered', 'startup-taint.cluster-autoscaler.kubernetes.io/x', 'readiness.k8s.io/x'],
  'node.cloudprovider.kubernetes.io/uninitialized',
])('%s is a taint of the start: the DaemonSet that it keeps away is waited for', (key) => {
  const taints = [GATE, { key, effect: 'NoSchedule' }];
  expect(missing({ daemonSets: [daemonSet('a')], taints })).toEqual([`system/a (waits for the taint ${key} to go)`]);
});

test('a DaemonSet that a lasting taint keeps away does not belong, and PreferNoSchedule keeps none away', () => {
  const lasting = (effect: string) => ({
    daemonSets: [daemonSet('a')],
    taints: [GATE, { key: 'example.com/own', effect }],
  });
  expect(missing(lasting('NoSchedule'))).toEqual([]);
  expect(missing(lasting('NoExecute'))).toEqual([]);
  expect(missing(lasting('PreferNoSchedule'))).toHaveLength(1);
  expect(missing({ ...lasting('NoSchedule'), daemonSets: [daemonSet('a', ANY)] })).toHaveLength(1);
});

test('one that does not tolerate the startup taint is named, and not waited for', () => {
  const all = { daemonSets: [daemonSet('a', {}), daemonSet('b', { nodeSelector: { no: 'where' } })] };
  expect(waited(all)).toEqual({ missing: [], intolerant: ['system/a'] });
});

test('the labels decide, and one that is not decided yet is waited for', () => {
  const daemonSets = [daemonSet('a', { ...TOLERANT, nodeSelector: { gpu: 'true' } })];
  expect(missing({ daemonSets })).toEqual([]);
  expect(missing({ daemonSets, labels: { gpu: 'true' } })).toEqual(['system/a (no pod yet)']);
  expect(missing({ daemonSets, undecided: ['gpu'] })).toEqual(['system/a (whether it belongs here is not known yet)']);
  expect(missing({ daemonSets, undecided: ['gpu'], labels: { gpu: 'false' } })).toEqual([]);
});

test('those of other namespaces, and those that are excluded by name or label, are not waited for', () => {
  const daemonSets = [daemonSet('a', TOLERANT, { team: 'x' })];
  for (const exclude of ['a', 'system/a', 'team=x'])
    expect(missing({ daemonSets, options: { exclude: [exclude] } })).toEqual([]);
  for (const exclude of ['b', 'other/a', 'team=', 'team=y'])
    expect(missing({ daemonSets, options: { exclude: [exclude] } })).toHaveLength(1);
  expect(missing({ daemonSets, options: { namespaces: ['other'] } })).toEqual([]);
  expect(missing({ daemonSets, options: { namespaces: ['other', 'system'] } })).toHaveLength(1);
});

function stance(situation: Situation, waitedMs: number, options: Partial<StartupGateOptions> = {}) {
  const daemonSets = { ...OPTIONS, ...situation.options };
  const gate = startupGateLabeler({ requires: [], maxWaitMs: 300_000, daemonSets, ...options }, () => []);
  const node = { ...nodeOf(situation), readiness: new Map(), ageMs: 0, waitedMs };
  return gate.claims(node, new Map(), new Map())[0];
}

test('the gate opens when no DaemonSet is missing, or by its own time-out, with what is missing', () => {
  const daemonSets = [daemonSet('a')];
  const said = 'waits for system/a (no pod yet), at most 600 s from its creation';
  expect(stance({ daemonSets }, 599_999)).toMatchObject({
    stance: 'keep',
    reason: said,
    missing: ['system/a (no pod yet)'],
  });
  expect(stance({ daemonSets, daemonPods: [podOf('a')] }, 0)).toMatchObject({ stance: 'absent' });
  const over = 'the maximum wait time of 600 s is over, without system/a (no pod yet)';
  expect(stance({ daemonSets }, 600_000)).toMatchObject({ stance: 'absent', reason: over });
});

test('with Stay it never opens without them', () => {
  const situation: Situation = { daemonSets: [daemonSet('a')], options: { onTimeout: 'Stay' } };
  const reason = 'waits for system/a (no pod yet), however long it takes';
  expect(stance(situation, 1e9)).toMatchObject({ stance: 'keep', reason });
  expect(stance({ ...situation, daemonPods: [podOf('a')] }, 1e9)).toMatchObject({ stance: 'absent' });
});

test('it is one gate with what else is required, each with its own time', () => {
  const daemonSets = [daemonSet('a')];
  const both = { requires: ['tier'] };
  expect(stance({ daemonSets }, 0, both)?.missing).toEqual(['tier', 'system/a (no pod yet)']);
  expect(stance({ daemonSets, daemonPods: [podOf('a')] }, 0, both)).toMatchObject({
    stance: 'keep',
    missing: ['tier'],
  });
  expect(stance({ daemonSets, labels: { tier: '' } }, 0, both)?.missing).toEqual(['system/a (no pod yet)']);
  // After 300 s the label is no longer waited for.
  expect(stance({ daemonSets }, 300_000, both)).toMatchObject({ stance: 'keep', missing: ['system/a (no pod yet)'] });
  expect(stance({ daemonSets, daemonPods: [podOf('a')] }, 300_000, both)).toMatchObject({
    stance: 'absent',
    missing: ['tier'],
  });
});

test('of a node without the taint, DaemonSets are not asked for', () => {
  expect(stance({ daemonSets: undefined, taints: [] }, 0)).toMatchObject({ stance: 'absent' });
});

test('what is not waited for is said beside what is', () => {
  const reason = stance({ daemonSets: [daemonSet('a'), daemonSet('b', {})] }, 0)?.reason;
  expect(reason).toMatch(/^waits for system\/a .*; not for system\/b \(TaintNotTolerated: /);
});
