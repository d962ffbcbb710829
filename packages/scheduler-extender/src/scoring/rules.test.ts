import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalOf, refusalsOf } from './rules.ts';
import { placeOn, type SchedulableNode } from './schedulable-node.ts';
import { busy, HEADLESS, LIMITS, load, node, REGULAR, service, workspacePod } from './scheduler.test-fixtures.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

function refusal(change: Partial<SchedulableNode> = {}, pod: Partial<SchedulingPod> = {}, assumed = 0) {
  return refusalOf(workspacePod(pod), placeOn(node(change), 0, load(assumed)), LIMITS);
}

const taint = (key: string) => ({ taints: [{ key, effect: 'NoSchedule' }] });

describe('a workspace', () => {
  test('may go to a node of its kind with ready services and room', () => {
    expect(refusal()).toBeUndefined();
    expect(refusal(busy(6, 2))).toBeUndefined();
    expect(refusal({ labels: { [REGULAR]: '' } })).toBeUndefined();
    expect(refusal({ workspaces: undefined, taints: undefined })).toBeUndefined();
  });

  test.each<[string, Partial<SchedulableNode>, Partial<SchedulingPod>]>([
    ['deleting', { deleting: true }, {}],
    ['scale-down', taint('ToBeDeletedByClusterAutoscaler'), {}],
    ['scale-down', taint('karpenter.sh/disrupted'), {}],
    ['kind', { labels: {} }, {}],
    ['kind', { labels: {} }, { workspace: 'any' }],
    ['kind', { labels: { [HEADLESS]: 'true' } }, {}],
    ['kind', { labels: { [REGULAR]: 'true' } }, { workspace: 'headless' }],
    ['services', { services: [service({ state: 'not-ready' })] }, {}],
    ['services', { services: [service(), service({ name: 'registry-facade', state: 'not-ready' })] }, {}],
    ['services', { services: [service({ state: 'unknown', shown: false })] }, {}],
    ['starting', busy(0, 3), {}],
    ['room', busy(10), {}],
    ['room', busy(8, 2), {}],
  ])('is kept off by the rule %s: %j, %j', (rule, change, pod) => {
    expect(refusal(change, pod)).toMatchObject({ rule });
  });

  test('that may go to either kind of node does', () => {
    expect(refusal({ labels: { [HEADLESS]: 'true' } }, { workspace: 'any' })).toBeUndefined();
    expect(refusal({ labels: { [REGULAR]: 'true' } }, { workspace: 'any' })).toBeUndefined();
  });

  test('is kept off by what the agent says while the label still says ready', () => {
    expect(refusal({ services: [service({ state: 'not-ready', shown: true })] })).toMatchObject({ rule: 'services' });
  });

  test('uses the label while the readiness is unknown, as after a failover', () => {
    expect(refusal({ services: [service({ state: 'unknown', shown: true })] })).toBeUndefined();
  });

  test('may go to a node that the autoscaler only thinks of removing', () => {
    expect(refusal(taint('DeletionCandidateOfClusterAutoscaler'))).toBeUndefined();
  });

  test('counts those that are on their way as starting', () => {
    expect(refusal(busy(0, 2))).toBeUndefined();
    expect(refusal(busy(0, 2), {}, 1)).toMatchObject({ rule: 'starting' });
    expect(refusal(busy(9), {}, 1)).toMatchObject({ rule: 'room' });
  });

  test('is kept off an unknown node', () => {
    expect(refusalOf(workspacePod(), undefined, LIMITS)).toMatchObject({ rule: 'unknown-node' });
  });
});

test('a node has on it what is there and what is on its way, and nothing while that is unknown', () => {
  const counted = placeOn(node(busy(2, 1)), 0, load(1));
  expect(counted).toMatchObject({ starting: 2, total: 4, asked: { cpu: 4, memory: 4 * 1024 ** 3 } });
  const unknown = placeOn(node({ workspaces: undefined }), 0);
  expect(unknown).toMatchObject({ starting: 0, total: 0, asked: { cpu: 0, memory: 0 } });
});

test('where nodes are selected in another way, they are for such pods whatever kind they are of', () => {
  const limits = { ...LIMITS, nodeSelector: { matchLabels: { pool: 'builds' } } };
  const on = (labels: Record<string, string>) => refusalOf(workspacePod(), placeOn(node({ labels }), 0), limits);
  expect(on({ pool: 'builds' })).toBeUndefined();
  expect(on({ [REGULAR]: 'true' })).toMatchObject({
    rule: 'kind',
    message: 'the node does not match the selector for such pods (pool=builds)',
  });
});

test('the message of a reason is the same on all nodes, so that kube-scheduler can count them; the evidence is not', () => {
  const down = (reason: string) => refusal({ services: [service({ state: 'not-ready', reason })] });
  expect(down('tcp refused')?.message).toBe('ws-daemon is not ready on the node');
  expect(down('tcp refused')?.evidence).toContain('tcp refused');
  expect(down('no pod')?.message).toBe(down('tcp refused')?.message);
});

test('both services are named when both are missing', () => {
  const services = [service({ name: 'registry-facade', state: 'not-ready' }), service({ state: 'not-ready' })];
  expect(refusal({ services })?.message).toBe('registry-facade and ws-daemon are not ready on the node');
});

test('every reason is told to those who ask about one node', () => {
  const place = placeOn(node({ deleting: true, labels: {}, ...busy(10, 3) }), 0);
  expect(refusalsOf(workspacePod(), place, LIMITS).map(({ rule }) => rule)).toEqual([
    'deleting',
    'kind',
    'starting',
    'room',
  ]);
  expect(refusalsOf(workspacePod(), undefined, LIMITS)).toHaveLength(1);
});

test('pods that are no workspaces may go anywhere, whatever the node is', () => {
  const any = fc.record({
    deleting: fc.boolean(),
    services: fc.constantFrom([service({ state: 'not-ready' })], []),
    labels: fc.constantFrom({}, { [REGULAR]: 'true' }),
    workspaces: fc.constantFrom(undefined, busy(50, 50).workspaces),
  });
  const stranger = workspacePod({ workspace: undefined });
  fc.assert(
    fc.property(any, (change) => {
      expect(refusalOf(stranger, placeOn(node(change), 0), LIMITS)).toBeUndefined();
      expect(refusalsOf(stranger, placeOn(node(change), 0), LIMITS)).toEqual([]);
    }),
  );
  expect(refusalOf(stranger, undefined, LIMITS)).toBeUndefined();
});

describe('the reason', () => {
  const [regular, headless] = [`(it has no label ${REGULAR})`, `(it has no label ${HEADLESS})`];
  const down = service({ name: 'a', state: 'not-ready', reason: 'it is gone' });

  test.each<[Partial<SchedulableNode>, Partial<SchedulingPod>, object]>([
    [{ deleting: true }, {}, { message: 'the node is being deleted' }],
    [
      taint('karpenter.sh/disruption'),
      {},
      { message: 'the node is being removed by an autoscaler (taint karpenter.sh/disruption)' },
    ],
    [{ labels: {} }, {}, { message: `the node is not for regular workspaces ${regular}` }],
    [{ labels: {} }, { workspace: 'headless' }, { message: `the node is not for headless workspaces ${headless}` }],
    [
      { labels: {} },
      { workspace: 'any' },
      { message: `the node is not for workspaces (it has no label ${REGULAR} or ${HEADLESS})` },
    ],
    [{ services: [down] }, {}, { message: 'a is not ready on the node', evidence: 'a: it is gone' }],
    [
      { services: [service(), down, { ...down, name: 'b' }] },
      {},
      { message: 'a and b are not ready on the node', evidence: 'a: it is gone; b: it is gone' },
    ],
    [
      busy(0, 3),
      {},
      {
        message: 'the maximum number of workspaces is already starting on the node (3)',
        evidence: '3 are starting',
      },
    ],
    [
      busy(10, 1),
      {},
      {
        message: 'the node has no room for another workspace (at most 10)',
        evidence: '11 are on the node or on their way to it',
      },
    ],
  ])('of a node with %j for a pod with %j is %j', (change, pod, expected) => {
    expect(refusal(change, pod)).toMatchObject(expected);
  });

  test('is no other than that the node is not known, where it is not', () => {
    const unknown = { rule: 'unknown-node', message: 'the coordinator does not know this node (yet)' };
    expect(refusalOf(workspacePod(), undefined, LIMITS)).toEqual(unknown);
    expect(refusalsOf(workspacePod(), undefined, LIMITS)).toEqual([unknown]);
    expect(refusalsOf({ workspace: undefined }, undefined, LIMITS)).toEqual([]);
  });

  test('is every one of them for people, in the order of the rules', () => {
    const place = placeOn(node({ deleting: true, ...busy(10, 3) }), 0);
    expect(refusalsOf(workspacePod(), place, LIMITS).map(({ rule }) => rule)).toEqual(['deleting', 'starting', 'room']);
  });
});
