import { MANAGED_LABELS_ANNOTATION, SERVICE_KEYS_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import { rulesOf } from '../decide/labelers/rules.test-fixtures.ts';
import type { KubeClient, KubeRequest } from '../kube/client.ts';
import type { ManagedFieldsEntry, Node } from '../kube/objects.ts';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { listPoolLabels } from '../state/fleet.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';
import type { Subscribers } from './subscribers.ts';
import type { Transition } from './transitions.ts';

const LABEL = 'gitpod.io/ws-daemon_ready_ns_default';

type Body = { metadata: { labels?: Record<string, string | null>; annotations?: Record<string, string | null> } };

type Operation = { op: 'test' | 'add' | 'remove'; path: string; value?: unknown };

/** Taints that are removed go, and what the Node lists of its services is as it is sent. */
function patched(node: Node, operations: readonly Operation[]): Node {
  const removed = operations.filter(({ op }) => op === 'remove').map(({ path }) => path);
  const listed = operations.find(({ op, path }) => op === 'add' && path.startsWith('/metadata/annotations'));
  const annotations = {
    ...node.metadata.annotations,
    ...(typeof listed?.value === 'string' ? { [SERVICE_KEYS_ANNOTATION]: listed.value } : {}),
    ...(typeof listed?.value === 'object' ? (listed.value as Record<string, string>) : {}),
  };
  const taints = node.spec?.taints?.filter((_taint, index) => !removed.includes(`/spec/taints/${index}`)) ?? [];
  const resourceVersion = `${Number(node.metadata.resourceVersion) + 1}`;
  return { ...node, metadata: { ...node.metadata, resourceVersion, annotations }, spec: { taints } };
}

/** The Node after a request, on an API server without other writers. */
function answer(node: Node, { contentType, body }: KubeRequest): Node {
  if (contentType?.startsWith('application/json-patch')) return patched(node, body as Operation[]);
  const { labels = {}, annotations = {} } = (body as Body).metadata;
  const before = node.metadata;
  const isApply = contentType?.startsWith('application/apply-patch');
  const kept = (values: Record<string, string> = {}, changes: Record<string, string | null>) =>
    Object.fromEntries(
      Object.entries({ ...values, ...changes }).filter((entry): entry is [string, string] => entry[1] !== null),
    );
  const fields = (keys: object) => Object.fromEntries(Object.keys(keys).map((key) => [`f:${key}`, {}]));
  const fieldsV1 = { 'f:metadata': { 'f:labels': fields(labels), 'f:annotations': fields(annotations) } };
  const applied: ManagedFieldsEntry[] = [{ manager: 'rollcall', operation: 'Apply', fieldsV1 }];
  return {
    ...node,
    metadata: {
      ...before,
      resourceVersion: `${Number(before.resourceVersion) + 1}`,
      labels: kept(before.labels, labels),
      annotations: kept(before.annotations, annotations),
      ...(isApply ? { managedFields: applied } : {}),
    },
  };
}

/** A controller that leads and writes to the Node `n`, and what it tells. */
function writing(change: Parameters<typeof stage>[0] = {}, more: Partial<Subscribers> = {}) {
  const state = { onRequest: (_request: KubeRequest): void => {} };
  const told: string[] = [];
  const lines: unknown[] = [];
  let node: Node = { metadata: { name: 'n', uid: 'uid-n', resourceVersion: '1' } };
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      state.onRequest(request);
      node = answer(node, request);
      return structuredClone(node) as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const lineOf = (each: Transition) => {
    switch (each.kind) {
      case 'held-back':
        return [`held back ${each.node.name} ${each.service.name}`];
      case 'gate-opened':
        return [`opened ${each.node.name} without ${each.missing}`];
      case 'contested':
      case 'left-alone':
        return [`${each.kind.replace('-', ' ')} ${each.node.name} ${each.key.key}`];
      case 'ready':
      case 'not-ready':
        return [`${each.kind} ${each.service.name}`];
      default:
        return [];
    }
  };
  const subscribers = {
    happened: (all: readonly Transition[]) => told.push(...all.flatMap(lineOf)),
    ...more,
  };
  const logger = { info: (fields: unknown) => lines.push(fields), warn: () => {}, debug: () => {}, error: () => {} };
  const staged = stage({ client, fence: { remainingMs: () => 60_000 }, subscribers, logger, ...change } as never);
  const { fleet, clock } = staged;
  /** The watch delivers the Node as it is on the API server, or as another client changed it. */
  const watched = (change: Partial<Node> = {}) => {
    node = { ...node, ...change, metadata: { ...node.metadata, ...change.metadata } };
    fleet.nodeHandlers.onUpsert(fleet.observe(structuredClone(node)));
  };
  const ours = {
    manager: 'rollcall',
    operation: 'Apply' as const,
    fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${LABEL}`]: {} } } },
  };
  const labelled = () =>
    watched({ metadata: { ...node.metadata, labels: { [LABEL]: 'true' }, managedFields: [ours] } });
  const written = () => clock.advance(1000);
  return { ...staged, state, told, lines, watched, labelled, written };
}

/** A node whose ws-daemon was ready a moment ago. */
async function withdrawn(change: Parameters<typeof stage>[0] = {}, onRequest = (_request: KubeRequest): void => {}) {
  const staged = writing(change);
  staged.labelled();
  staged.servicePod();
  staged.agentPod({ uid: 'a' });
  staged.report('a');
  await staged.written();
  staged.lines.length = 0;
  staged.told.length = 0;
  staged.state.onRequest = onRequest;
  staged.report('a', { ready: false });
  await staged.written();
  return staged;
}

describe('a write', () => {
  test('is told with what the Node shows then, and is remembered and logged with its reason', async () => {
    const { fleet, queries, controller, clock, told, lines } = await withdrawn();
    const change = { kind: 'label', key: LABEL, from: 'true', to: undefined, reason: 'tcp' };
    const atMs = clock.now() - 1000;
    expect(queries.explain('n')?.changes).toEqual([{ ...change, atMs: expect.any(Number) }]);
    expect(queries.explain('n')?.changes[0]?.atMs).toBeGreaterThanOrEqual(atMs);
    expect(lines).toEqual([{ node: 'n', changes: [change] }]);
    expect(told).toEqual(['not-ready ws-daemon']);
    expect(controller.prepare('n')?.decision.plan).toBeUndefined();
    expect(fleet.node('n')?.labels).toEqual({});
  });

  test('is evaluated by what was known when it was planned, and not by what the watch told meanwhile', async () => {
    const { queries, report, watched, written, lines } = await withdrawn();
    report('a');
    watched({ metadata: { name: 'n', uid: 'uid-n', resourceVersion: '9', labels: { tier: 'new' } } });
    await written();
    expect(lines.at(-1)).toMatchObject({ changes: [{ key: LABEL, from: undefined, to: 'true' }] });
    expect(queries.explain('n')?.changes).toHaveLength(2);
  });
});

test('a node of which others have news is written before those that were seen earlier', async () => {
  const implied = new Map([['tier', { value: 'gold', reason: 'a rule' }]]);
  const rules = () => rulesOf(['tier'], { implied: Object.fromEntries(implied) });
  const order: string[] = [];
  const client: KubeClient = {
    async request<T>({ path }: KubeRequest): Promise<T> {
      const name = path.split('/').at(-1) ?? '';
      order.push(name);
      await new Promise<void>((resolve) => clock.after(10, resolve));
      return { metadata: { name, uid: `uid-${name}`, resourceVersion: '100', labels: { tier: 'gold' } } } as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const { clock, controller, addNode } = stage({ client, rules, fence: { remainingMs: () => 60_000 } });
  for (let index = 0; index < 40; index += 1) addNode(`n${index}`);
  controller.changed('n39', true);
  await clock.advance(1000);
  expect(order.slice(0, 3)).toEqual(['n39', 'n0', 'n1']);
});

describe('a label that was removed where pods are evicted for it', () => {
  test('is remembered with its value until a write has noted it on the Node', async () => {
    const eviction = { isIgnored: () => false };
    const staged = await withdrawn({ eviction });
    const noted = staged.fleet.node('n')?.annotations;
    expect(Object.values(noted ?? {})).toContain(`{"${LABEL}":"true","/services":{"${LABEL}":true}}`);
    expect(staged.evaluated('n')?.takenLabels).toBeUndefined();
  });

  test('is remembered as long as the note cannot be written, or until it is back', async () => {
    const staged = await withdrawn({ eviction: { isIgnored: () => false } }, (request) => {
      if (request.contentType?.startsWith('application/apply-patch')) throw new Error('on purpose');
    });
    const taken = () => staged.evaluated('n')?.takenLabels;
    expect(taken()).toEqual({ [LABEL]: 'true' });
    await staged.written();
    expect(taken()).toEqual({ [LABEL]: 'true' });
    staged.labelled();
    expect(taken()).toBeUndefined();
  });

  test('is remembered as long as the note cannot be written, also while others are removed', async () => {
    const staged = await withdrawn({ eviction: { isIgnored: () => false } }, (request) => {
      if (request.contentType?.startsWith('application/apply-patch')) throw new Error('on purpose');
    });
    listPoolLabels(staged.fleet);
    const annotations = { [MANAGED_LABELS_ANNOTATION]: '["tier"]' };
    staged.watched({
      metadata: { name: 'n', uid: 'uid-n', resourceVersion: '9', labels: { tier: 'gold' }, annotations },
    });
    await staged.written();
    expect(staged.evaluated('n')?.takenLabels).toEqual({ [LABEL]: 'true', tier: 'gold' });
  });

  test('is not remembered where no pod is evicted for it', async () => {
    const { fleet, evaluated } = await withdrawn({ eviction: { isIgnored: ({ label }) => label === LABEL } });
    expect(evaluated('n')?.takenLabels).toBeUndefined();
    expect(fleet.node('n')?.annotations).not.toHaveProperty(['rollcall.dev/withdrawn-labels']);
  });
});

describe('the startup gate', () => {
  const gated = { taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }] };
  const startupGate = { requires: ['example.com/a'], maxWaitMs: 60_000 };

  test('that opens is told with what is missing, once the node has waited long enough', async () => {
    const { watched, told, pass, fleet, controller } = writing({ startupGate, services: () => [] });
    watched({ spec: gated, status: {} });
    // The clock of the test begins far from the epoch: the node is as old as that when the term begins.
    controller.beginTerm();
    await pass(2);
    expect(told).toEqual(['opened n without example.com/a']);
    expect(fleet.node('n')?.taints).toEqual([]);
  });
});

test('a node behind the gate is looked at again when it has waited long enough, without any news', async () => {
  const startupGate = { requires: ['example.com/a'], maxWaitMs: 60_000 };
  const { watched, told, pass, clock } = writing({ startupGate, services: () => [] });
  const creationTimestamp = new Date(clock.now()).toISOString();
  const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }];
  const metadata = { name: 'n', uid: 'uid-n', resourceVersion: '1', creationTimestamp };
  watched({ metadata, spec: { taints }, status: {} });
  await pass(59);
  expect(told).toEqual([]);
  await pass(3);
  expect(told).toContain('opened n without example.com/a');
});

test('a condition of another writer is left alone, and reported', async () => {
  const service = serviceOf('mirror', {
    publish: { condition: 'example.com/MirrorReady' },
    origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
  });
  const { watched, told, written, queries } = writing({ services: () => [service], serviceUids: () => new Set(['u']) });
  const type = 'example.com/MirrorReady';
  const theirs = {
    manager: 'kubectl',
    operation: 'Update' as const,
    subresource: 'status',
    fieldsV1: {
      'f:status': { 'f:conditions': { [`k:{"type":"${type}"}`]: { '.': {}, 'f:type': {}, 'f:status': {} } } },
    },
  };
  const condition = { type, status: 'False', reason: 'Mine', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const metadata = { name: 'n', uid: 'uid-n', resourceVersion: '1', managedFields: [theirs as never] };
  watched({ metadata, spec: {}, status: { conditions: [condition] } as never });
  await written();
  expect(told).toEqual([`left alone n ${type}`]);
  expect(queries.explain('n')?.skipped).toMatchObject([{ kind: 'condition', key: type, cause: 'foreign' }]);
});

test('a label that another writer puts back each time is reported', async () => {
  const { watched, written, told } = await withdrawn();
  const contested = () => told.filter((line) => line.startsWith('contested'));
  for (let count = 1; count <= 6; count += 1) {
    expect(contested()).toEqual([]);
    const labels = { [LABEL]: 'true' };
    watched({ metadata: { name: 'n', uid: 'uid-n', resourceVersion: `${count}0`, labels, managedFields: [] } });
    await written();
  }
  expect(contested()).toEqual([`contested n ${LABEL}`]);
});

test('a hint to kube-scheduler is written to the Node', async () => {
  const { watched, written, fleet, evaluator, writer, clock } = writing({ services: () => [] });
  watched();
  await written();
  evaluator.hint('n');
  writer.add('n');
  const at = new Date(clock.now()).toISOString();
  await written();
  expect(Object.values(fleet.node('n')?.annotations ?? {})).toContain(at);
});

test('the taint of a node that is younger than its service goes after the node has noted it, and opens no gate', async () => {
  const taint = { key: 'example.com/no-a', value: 'true', effect: 'NoSchedule' } as const;
  const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;
  const service = serviceOf('ws-daemon', { checks: [podsCheck('ws-daemon')], publish: { taint }, origin });
  const { fleet, clock, watched, written, servicePod, told } = writing({
    services: () => [service],
    serviceUids: () => new Set(['u']),
  });
  const creationTimestamp = new Date(clock.now()).toISOString();
  servicePod();
  watched({
    metadata: { name: 'n', uid: 'uid-n', resourceVersion: '1', creationTimestamp },
    spec: { taints: [taint] },
    status: {},
  });
  await written();
  const node = fleet.node('n');
  expect(node?.taints).toEqual([]);
  expect(node?.annotations['rollcall.dev/services-started']).toBe('{"node":"uid-n","services":{"ws-daemon":"u:1"}}');
  expect(told.filter((line) => line.startsWith('opened'))).toEqual([]);
});
