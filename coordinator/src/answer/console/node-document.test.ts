import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import type { IntentEntry } from '../../decide/intent/intent.ts';
import type { ConditionChange } from '../../decide/intent/plan.ts';
import { pod, snapshot } from '../../decide/readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../../decide/readiness/tracker.ts';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import type { LeftOutKey } from '../../write/skipped-keys.ts';
import { nodeDocument, planDocument } from './node-document.ts';
import type { NodeFacts } from './node-queries.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const NOW = '2026-01-01T00:00:00Z';
const REPLICA = replicaDocument({ now: NOW });
const SERVICE = serviceOf();
const LABEL = 'gitpod.io/ws-daemon_ready_ns_default';
const TAINT = 'gitpod.io/ws-daemon-not-ready';

/** Facts about a node `n`, with changes. */
function factsOf({
  evaluated = {},
  ...change
}: Partial<Omit<NodeFacts, 'evaluated'>> & { evaluated?: object } = {}): NodeFacts {
  return {
    node: {
      ...{ name: 'n', uid: 'u', labels: {}, annotations: {} },
      owned: { labels: new Set(), annotations: new Set() },
    },
    evaluated: { ...snapshot(), readiness: new Map(), ageMs: 0, ...evaluated },
    intent: new Map(),
    skipped: [],
    plan: undefined,
    changes: [],
    quietMs: undefined,
    ...change,
  } as NodeFacts;
}

function entry(change: Partial<IntentEntry> = {}): IntentEntry {
  return {
    ...{ kind: 'label', key: LABEL, value: 'true', stance: 'present', ownership: 'exclusive' },
    ...{ reason: 'it is ready', cause: 'agent', labeler: 'readiness', overruled: [] },
    ...change,
  };
}

/** The document of a key of a node of which this is known besides. */
function keyOf(of: Partial<IntentEntry>, facts: Partial<NodeFacts> = {}) {
  const intent = new Map([['key', entry(of)]]);
  return nodeDocument(factsOf({ ...facts, intent }), [SERVICE], REPLICA).keys[0];
}

describe('a node', () => {
  test('of which little is known has nothing that was made up', () => {
    const document = nodeDocument(factsOf(), [], REPLICA);
    expect(JSON.parse(JSON.stringify(document))).toEqual({
      replica: REPLICA,
      cause: {
        isWell: true,
        headline: 'node/n is as rollcall wants it: 0 of 0 services are ready',
        next: 'Nothing needs to change.',
      },
      name: 'n',
      uid: 'u',
      agent: { state: 'fresh' },
      lifecycle: [],
      services: [],
      keys: [],
      changes: [],
    });
  });

  test('shows which conditions about its lifecycle are True', () => {
    const conditions = [
      { type: 'DrainInProgress', status: 'True' },
      { type: 'MaintenanceInProgress', status: 'False' },
      { type: 'example.com/Other', status: 'True' },
    ];
    expect(nodeDocument(factsOf({ evaluated: { conditions } }), [], REPLICA).lifecycle).toEqual(['DrainInProgress']);
  });

  test('shows since when it waits for a service that was never ready on it, and until when', () => {
    const origin = { kind: 'object', uid: 'x', generation: 1, createdAtMs: 0 } as const;
    const starting = (service: Partial<Service>, evaluated: object = {}, state = 'not-ready') => {
      const readiness = new Map([['ws-daemon', { state, reason: '', cause: 'agent', sinceMs: NOW_MS }]]);
      const facts = factsOf({ evaluated: { createdAtMs: NOW_MS, readiness, ...evaluated } });
      return nodeDocument(facts, [{ ...SERVICE, origin, ...service }], REPLICA).services[0]?.starting;
    };
    const annotations = { 'rollcall.dev/services-started': '{"node":"u","services":{"ws-daemon":"x"}}' };
    expect(starting({ startupDeadlineMs: 60_000 })).toEqual({ since: NOW, deadline: '2026-01-01T00:01:00Z' });
    expect(starting({ mode: 'Startup' }, {}, 'unknown')).toEqual({ since: NOW });
    expect(starting({})).toBeUndefined();
    expect(starting({ mode: 'Startup' }, {}, 'ready')).toBeUndefined();
    expect(starting({ mode: 'Startup' }, { annotations })).toBeUndefined();
    expect(starting({ mode: 'Startup' }, { readiness: new Map() })).toBeUndefined();
  });

  test('shows its pool, its agent and its workspaces', () => {
    const evaluated = {
      pool: 'gold',
      agentVersion: '1.2.3',
      freshness: { state: 'silent', guard: 'fleet' },
      workspaces: [{ namespace: 'default', name: 'ws-1' }],
    };
    expect(nodeDocument(factsOf({ evaluated, quietMs: 12_345 }), [], REPLICA)).toMatchObject({
      pool: 'gold',
      agent: { state: 'silent', guard: 'fleet', version: '1.2.3', lastReportSecondsAgo: 12.3 },
      workspaces: ['default/ws-1'],
    });
  });

  test('shows its changes, the newest first', () => {
    const change = { kind: 'label', key: 'a', from: undefined, to: '1', reason: 'asked for' } as const;
    const changes = [
      { ...change, atMs: NOW_MS },
      { ...change, from: '1', to: undefined, atMs: NOW_MS + 1000 },
    ];
    expect(nodeDocument(factsOf({ changes }), [], REPLICA).changes).toEqual([
      { at: '2026-01-01T00:00:01Z', kind: 'label', key: 'a', from: '1', to: undefined, reason: 'asked for' },
      { at: NOW, kind: 'label', key: 'a', from: undefined, to: '1', reason: 'asked for' },
    ]);
  });
});

describe('a service', () => {
  const shown = (readiness: Partial<ServiceReadiness>, evaluated: object = {}, service = SERVICE) => {
    const of: ServiceReadiness = { state: 'ready', reason: 'r', cause: 'agent', sinceMs: NOW_MS, ...readiness };
    const known = new Map([['ws-daemon', of]]);
    return nodeDocument(factsOf({ evaluated: { readiness: known, ...evaluated } }), [service], REPLICA).services[0];
  };

  test('shows its state, its pods and the verdict of each check', () => {
    const checks = [{ name: 'pod', state: 'ready', reason: 'it is Ready', cause: 'evidence' }] as const;
    expect(shown({ checks }, { pods: [pod(), pod({ name: 'other', labels: {} })] })).toEqual({
      name: 'ws-daemon',
      state: 'ready',
      since: NOW,
      reason: 'r',
      evidence: undefined,
      heldBack: undefined,
      checks,
      pods: [{ pod: 'default/ws-daemon-1', ready: true, terminating: false }],
      steps: expect.arrayContaining([{ title: 'check', speaks: 'for', text: 'pod passes: it is Ready' }]),
    });
  });

  test('shows until when it is held back, and what the evidence says meanwhile', () => {
    const checks = [{ name: 'probe', state: 'ready', reason: 'it is back', cause: 'agent' }] as const;
    const evidence = { state: 'ready', reason: 'it is back', cause: 'agent', checks } as const;
    const document = shown({ state: 'not-ready', damping: { untilMs: NOW_MS + 1000, falls: 4 }, evidence });
    expect(document).toMatchObject({
      heldBack: { until: '2026-01-01T00:00:01Z', falls: 4 },
      evidence: { state: 'ready', reason: 'it is back' },
      checks,
    });
  });

  test('shows no state and no checks on a node that it is not for', () => {
    const [service] = nodeDocument(factsOf({ evaluated: { services: new Map() } }), [SERVICE], REPLICA).services;
    expect(service).toMatchObject({ state: undefined, since: undefined, reason: undefined, checks: [] });
  });
});

describe('accelerators', () => {
  const device = (vendor: string, address: string) =>
    ({ bus: 'pci', address, attributes: { vendor, device: '20b0', class: '0302' } }) as unknown as DeviceReport;
  const devices = [device('10de', '0000:01:00.0'), device('ffff', '0000:02:00.0')];
  const machine = { devices, unread: [], facts: {}, answers: {}, values: {} };

  test('are shown with their devices, the count, what is gone and what is held back', () => {
    const evaluated = snapshot({ machine });
    const [name = ''] = evaluated.inventory.devices?.keys() ?? [];
    const inventory = {
      ...evaluated.inventory,
      gone: new Map([
        ['a-gone-one', ['p']],
        [name, ['q']],
      ]),
      heldDrivers: new Set([name]),
    };
    expect(nodeDocument(factsOf({ evaluated: { machine, inventory } }), [], REPLICA).accelerators).toEqual([
      { name: 'a-gone-one', count: 0, devices: [], gone: ['p'], driverHeldBack: undefined },
      { name, count: 1, devices: [devices[0]], gone: ['q'], driverHeldBack: true },
    ]);
  });

  test('are left out while no agent has reported the machine', () => {
    const { inventory } = snapshot({ machine });
    expect(nodeDocument(factsOf({ evaluated: { inventory } }), [], REPLICA).accelerators).toBeUndefined();
    const unknown = { machine, inventory: { ...inventory, devices: undefined } };
    expect(nodeDocument(factsOf({ evaluated: unknown }), [], REPLICA).accelerators).toBeUndefined();
  });
});

describe('a key', () => {
  test('shows what is wanted of it and why, and the service that it is about', () => {
    expect(keyOf({})).toEqual({
      ...{ kind: 'label', key: LABEL, service: 'ws-daemon', stance: 'present', value: 'true', onNode: null },
      ...{ reason: 'it is ready', labeler: 'readiness', ownership: 'exclusive' },
      ...{ since: undefined, overruled: undefined, skipped: undefined, contested: undefined },
      removalRefused: undefined,
      agrees: 'open',
      cause: {
        isWell: false,
        headline: `node/n does not have the label ${LABEL}: it is ready`,
        next: 'No write is planned.',
      },
    });
    expect(keyOf({ kind: 'taint', key: TAINT })?.service).toBe('ws-daemon');
    expect(keyOf({ kind: 'taint', key: LABEL })?.service).toBeUndefined();
    expect(keyOf({ kind: 'annotation', key: LABEL })?.service).toBeUndefined();
  });

  test.each([
    ['label', { labels: { k: 'x' } }, 'x', { labels: {} }, null],
    ['annotation', { annotations: { k: 'x' } }, 'x', { annotations: {} }, null],
    ['taint', { taints: [{ key: 'k', value: 'x', effect: 'NoSchedule' }] }, 'x:NoSchedule', { taints: [] }, null],
    ['taint', { taints: [] }, null, {}, undefined],
    ['condition', { conditions: [{ type: 'k', status: 'True' }] }, 'True', { conditions: [] }, null],
    ['condition', { conditions: [] }, null, {}, undefined],
  ] as const)('of kind %s on a node with %j is %j, and with %j is %j', (kind, one, onOne, other, onOther) => {
    const onNode = (node: object) =>
      keyOf({ kind, key: 'k' }, { node: { name: 'n', labels: {}, annotations: {}, ...node } as NodeFacts['node'] })
        ?.onNode;
    expect([onNode(one), onNode(other)]).toEqual([onOne, onOther]);
  });

  test('is in its state since the time that its labeler names, or since it was last written', () => {
    const change = { kind: 'label', from: undefined, to: '1', reason: '' } as const;
    const changes = [
      { ...change, key: LABEL, atMs: NOW_MS },
      { ...change, key: LABEL, atMs: NOW_MS + 1000 },
      { ...change, key: 'other', atMs: NOW_MS + 2000 },
      { ...change, kind: 'annotation', key: LABEL, atMs: NOW_MS + 3000 } as const,
    ];
    expect(keyOf({}, { changes })?.since).toBe('2026-01-01T00:00:01Z');
    expect(keyOf({ sinceMs: NOW_MS }, { changes })?.since).toBe(NOW);
  });

  test('shows what stands in its way', () => {
    const ref = { kind: 'label', key: LABEL } as const;
    const other = { kind: 'label', key: 'other' } as const;
    const overruled = [{ labeler: 'pool', stance: 'present', value: 'x', reason: 'r' }] as const;
    const shown = (out: Omit<LeftOutKey, 'kind' | 'key'>) => {
      const skipped = [{ ...other, cause: 'foreign', wanted: 'true', message: 'other', nextTryMs: 1 } as const];
      const document = keyOf({ overruled }, { skipped: [...skipped, { ...ref, ...out }] });
      expect(document?.overruled).toEqual(overruled);
      const { skipped: left, contested, removalRefused } = document ?? {};
      return { skipped: left, contested, removalRefused };
    };
    const denied = { cause: 'denied', message: 'a policy', nextTryMs: 1200 } as const;
    expect(shown({ ...denied, wanted: 'true' })).toEqual({ skipped: { cause: 'denied', message: 'a policy' } });
    expect(shown({ ...denied, wanted: undefined })).toEqual({ removalRefused: 'a policy' });
    expect(shown({ ...denied, cause: 'contested', wanted: 'true', rival: 'helm' })).toEqual({
      contested: { rival: 'helm', nextTrySeconds: 2 },
    });
  });
});

describe('what is about to be written', () => {
  const ref = { name: 'n', uid: 'u', resourceVersion: '1' };

  test('is left out where it is nothing', () => {
    expect(JSON.parse(JSON.stringify(planDocument({ node: ref })))).toEqual({});
  });

  test('is shown as far as people need it', () => {
    const taint = { key: 'k', effect: 'NoSchedule' };
    const set = { labels: { a: '1' }, annotations: { b: '2' }, force: true };
    const withdrawal = { labels: ['c'], annotations: [] };
    const taints = { add: [taint], remove: ['r'], observed: [taint] };
    const pending = planDocument({ node: ref, withdrawal, ahead: ['c'], set, taints });
    expect(pending).toEqual({
      withdraw: withdrawal,
      apply: set,
      taints: { add: [taint], remove: ['r'] },
      conditions: undefined,
    });
    const facts = factsOf({ plan: { node: ref, withdrawal, ahead: ['c'], set, taints } });
    expect(nodeDocument(facts, [], REPLICA).pending).toEqual(pending);
  });

  test('is said of each key that the plan changes, and of no other', () => {
    const taint = { key: TAINT, value: 'x', effect: 'NoSchedule' } as const;
    const wanted = entry({ ...taint, kind: 'taint' });
    const intent = new Map([[`taint:${TAINT}`, wanted]]);
    const [{ owned, ...node }] = [factsOf().node];
    const keys = (taints: object[], plan?: object) =>
      nodeDocument(factsOf({ intent, node: { ...node, owned, taints } as never, plan: plan as never }), [], REPLICA)
        .keys;
    expect(keys([taint])).toMatchObject([{ value: 'x:NoSchedule', onNode: 'x:NoSchedule' }]);
    expect(keys([taint])[0]).not.toHaveProperty('pending');
    const plan = { node: ref, taints: { add: [taint], remove: [], observed: [] } };
    expect(keys([], plan)).toMatchObject([{ value: 'x:NoSchedule', onNode: null, pending: true }]);
  });

  test.each([
    [
      { write: 'apply', conditions: [{ type: 'a' }], waiting: [{ type: 'b' }] },
      { apply: [{ type: 'a' }, { type: 'b' }] },
    ],
    [{ write: 'remove', conditions: [{ type: 'a', index: 1 }] }, { remove: [{ type: 'a', index: 1 }] }],
    [{ write: 'disown', entry: 1 }, { disown: true }],
  ])('of conditions, for %j, is %j', (conditions, expected) => {
    const plan = { node: ref, conditions: conditions as unknown as ConditionChange };
    expect(planDocument(plan).conditions).toEqual(expected);
  });
});
