import { expect, test } from 'vitest';
import { pod, snapshot, WS_DAEMON_SERVICE } from '../decide/readiness/readiness.test-fixtures.ts';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { nodeRecord } from '../state/node-record.test-fixtures.ts';
import { announced, newTerm, nodeWith } from './announcer.test-fixtures.ts';

const NODE = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' };
const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'lease', namespace: 'rollcall', uid: '' };

test('each change of readiness is told once, with the evidence', () => {
  const { news, shows } = announced();
  shows(undefined, 'not-ready');
  shows('true', 'ready');
  shows('true', 'ready');
  shows(undefined, 'not-ready');
  expect(news).toEqual([
    'ServiceReady: ws-daemon is ready: because',
    'ServiceNotReady: ws-daemon is not ready: because',
  ]);
});

test('services that change together are told in one Event', () => {
  const { news, shows } = announced([serviceOf('registry-facade'), WS_DAEMON_SERVICE]);
  shows(undefined, 'not-ready');
  shows('true', 'ready');
  shows(undefined, 'not-ready');
  expect(news).toEqual([
    'ServiceReady: registry-facade is ready: because; ws-daemon is ready: because',
    'ServiceNotReady: registry-facade is not ready: because; ws-daemon is not ready: because',
  ]);
});

test('what a node shows at first sight is no news, but what becomes of it is', () => {
  const { news, shows } = announced();
  shows('true', 'not-ready');
  shows(undefined, 'not-ready');
  expect(news).toEqual(['ServiceNotReady: ws-daemon is not ready: because']);
});

test('a key that is restored after another client changed it is no news', () => {
  const { news, shows } = announced();
  shows('true', 'ready');
  shows(undefined, 'ready');
  shows('true', 'ready');
  expect(news).toEqual([]);
});

test('a label that goes for another reason than readiness is no news', () => {
  const { news, shows } = announced();
  shows('true', 'ready');
  shows(undefined, 'unknown');
  expect(news).toEqual([]);
});

test('a new term begins with what it finds', () => {
  const { guards, news, shows } = announced();
  guards(newTerm(), [FLEET]);
  shows('true', 'ready');
  guards(newTerm(), []);
  shows(undefined, 'not-ready', { at: nodeRecord() });
  expect(news).toEqual([
    'GuardActive: A guard is active (agents): most agents are silent at once (fleet), so silence removes nothing from 3 nodes',
  ]);
});

test('a node is taken as it is at first sight alone, and each write counts from there', () => {
  const { news, sees, shows } = announced();
  sees('true', 'ready');
  sees(undefined, 'not-ready');
  expect(news).toEqual([]);
  shows(undefined, 'not-ready');
  expect(news).toEqual(['ServiceNotReady: ws-daemon is not ready: because']);
});

test('a change of a service becomes an Event of its Node, a warning if it is not ready', () => {
  const { events, shows } = announced();
  shows('true', 'ready');
  shows(undefined, 'not-ready');
  shows('true', 'ready');
  expect(events).toMatchObject([
    { subject: NODE, type: 'Warning' },
    { subject: NODE, type: 'Normal' },
  ]);
});

test('that a service became ready is counted, with the time since the start of its pod that is Ready', async () => {
  const { clock, shows, metric } = announced();
  const startTime = (secondsAgo: number) => new Date(clock.now() - 1000 * secondsAgo).toISOString();
  const pods = [
    pod({ name: 'a', ready: false, startTime: startTime(1) }),
    pod({ name: 'b', terminating: true, startTime: startTime(2) }),
    pod({ name: 'of the Node before', createdAtMs: -1, readySinceMs: -1, startTime: startTime(900) }),
    pod({ name: 'c', startTime: startTime(8) }),
  ];
  shows(undefined, 'not-ready', { pods });
  shows('true', 'ready', { pods });
  expect(await metric('gitpod_node_labeler_reconcile_total')).toEqual([
    'gitpod_node_labeler_reconcile_total{component="ws-daemon"} 1',
  ]);
  expect(await metric('gitpod_node_labeler_ready_seconds')).toContain(
    'gitpod_node_labeler_ready_seconds_sum{component="ws-daemon"} 8',
  );
});

test('the time from the creation of a new node to its first readiness is counted once', async () => {
  const { clock, shows, metric } = announced();
  const at = nodeRecord('n', 'u', { isNew: true });
  await clock.advance(90_000);
  const seconds = clock.now() / 1000;
  shows(undefined, 'not-ready', { at });
  shows('true', 'ready', { at });
  shows(undefined, 'not-ready', { at });
  shows('true', 'ready', { at });
  const found = await metric('rollcall_coordinator_service_startup_seconds');
  expect(found).toContain(`rollcall_coordinator_service_startup_seconds_sum{service="ws-daemon"} ${seconds}`);
  expect(found).toContain('rollcall_coordinator_service_startup_seconds_count{service="ws-daemon"} 1');
});

test('a node that was there when the term began, or was ready at first sight, has no such time', async () => {
  const { shows, metric } = announced();
  const isNew = nodeRecord('n', 'u', { isNew: true });
  shows(undefined, 'not-ready');
  shows('true', 'ready');
  shows('true', 'ready', { at: isNew });
  shows(undefined, 'not-ready', { at: isNew });
  shows('true', 'ready', { at: isNew });
  expect(await metric('rollcall_coordinator_service_startup_seconds')).toEqual([]);
});

test('a service that is late is an Event and is counted', async () => {
  const { announcer, events, metric } = announced([{ ...WS_DAEMON_SERVICE, startupDeadlineMs: 90_000 }]);
  const readiness = new Map([
    ['ws-daemon', { state: 'not-ready' as const, reason: 'no pod', cause: 'evidence' as const, sinceMs: 0 }],
  ]);
  announcer.happened([
    {
      kind: 'late',
      node: { ...snapshot(), readiness, ageMs: 0 },
      service: { ...WS_DAEMON_SERVICE, startupDeadlineMs: 90_000 },
    },
  ]);
  expect(events).toEqual([
    {
      subject: NODE,
      type: 'Warning',
      reason: 'StartupDeadlineExceeded',
      message: 'ws-daemon was not ready within 90 s of the creation of the node: no pod',
    },
  ]);
  expect(await metric('rollcall_coordinator_startup_deadlines_exceeded_total')).toEqual([
    'rollcall_coordinator_startup_deadlines_exceeded_total{service="ws-daemon"} 1',
  ]);
});

test('a service that became ready without a pod, or that became not ready, has no such time', async () => {
  const { shows, metric } = announced();
  shows(undefined, 'not-ready', { pods: [] });
  shows('true', 'ready', { pods: [] });
  shows(undefined, 'not-ready', { pods: [] });
  expect(await metric('gitpod_node_labeler_reconcile_total')).toEqual([
    'gitpod_node_labeler_reconcile_total{component="ws-daemon"} 1',
  ]);
  expect(await metric('gitpod_node_labeler_ready_seconds')).toEqual([]);
});

test('a pod that started in the future by this clock took no time', async () => {
  const { clock, shows, metric } = announced();
  const pods = [pod({ startTime: new Date(clock.now() + 60_000).toISOString() })];
  shows(undefined, 'not-ready', { pods });
  shows('true', 'ready', { pods });
  expect(await metric('gitpod_node_labeler_ready_seconds')).toContain(
    'gitpod_node_labeler_ready_seconds_sum{component="ws-daemon"} 0',
  );
});

test('a service that is held back becomes an Event of its Node', () => {
  const { announcer, events } = announced();
  announcer.happened([
    {
      kind: 'held-back',
      node: { ...snapshot(), readiness: new Map(), ageMs: 0 },
      service: WS_DAEMON_SERVICE,
    },
  ]);
  expect(events).toEqual([
    {
      subject: NODE,
      type: 'Warning',
      reason: 'ServiceHeldBack',
      message: 'ws-daemon became not ready too often in 5 minutes and is held back: it counts as not ready for a while',
    },
  ]);
});

test('each key that another client changes back or owns becomes an Event of its Node', () => {
  const { announcer, news, events } = announced();
  const node = nodeWith({});
  const tier = { kind: 'label', key: 'tier', wanted: 'true', rival: 'kubectl' } as const;
  const zone = { kind: 'label', key: 'zone', message: 'owned by terraform' } as const;
  announcer.happened([
    { kind: 'contested', node, key: tier },
    { kind: 'left-alone', node, key: zone },
  ]);
  expect(news).toEqual([
    'KeyContested: kubectl keeps changing the label tier: rollcall writes it less and less often',
    'KeyContested: rollcall does not write the label zone: it is owned by terraform',
  ]);
  expect(events).toMatchObject([
    { subject: NODE, type: 'Warning' },
    { subject: NODE, type: 'Warning' },
  ]);
});

test('a startup gate that opened because nothing is missing is only counted', () => {
  const { announcer, news, gates } = announced();
  announcer.happened([{ kind: 'gate-opened', node: snapshot(), missing: [] }]);
  expect({ news, gates }).toEqual({ news: [], gates: ['complete'] });
});

test('a startup gate that opened without something becomes an Event of its Node, with what is missing', () => {
  const { announcer, events, gates } = announced();
  announcer.happened([{ kind: 'gate-opened', node: snapshot(), missing: ['accelerators/edgetpu'] }]);
  announcer.happened([{ kind: 'gate-opened', node: snapshot(), missing: ['a', 'b'] }]);
  const told = { subject: NODE, type: 'Warning', reason: 'StartupGateExpired' };
  const message = 'Removed the startup taint after the maximum wait time, without';
  expect(events).toEqual([
    { ...told, message: `${message} accelerators/edgetpu` },
    { ...told, message: `${message} a, b` },
  ]);
  expect(gates).toEqual(['expired', 'expired']);
});

test('a node that waits long at the startup gate becomes an Event, and is counted if it stays closed', () => {
  const { announcer, news, gates } = announced();
  const waits = { kind: 'gate-waits', node: snapshot() } as const;
  announcer.happened([{ ...waits, missing: ['system/a (ImagePullBackOff)', 'tier'], isOver: false }]);
  announcer.happened([{ ...waits, missing: ['tier'], isOver: true }]);
  expect(news).toEqual([
    'StartupGateWaiting: The startup taint has kept pods away for half of its maximum time, or longer: the node waits for system/a (ImagePullBackOff), tier',
    'StartupGateWaiting: The startup taint has kept pods away for longer than it should: the node waits for tier',
  ]);
  expect(gates).toEqual(['stays']);
});

test('a gate that opens tells how long each DaemonSet took, of at most 200', async () => {
  const { announcer, metric } = announced();
  const template = {};
  const daemonSets = Array.from({ length: 201 }, (_, index) => ({
    ...{ uid: `${index}`, namespace: 'system', name: `d-${index}`, labels: {}, template, node: '*' },
  }));
  const daemonPods = ['gone', ...daemonSets.map(({ uid }) => uid)].map((uid) => ({
    ...{ uid, namespace: 'system', name: uid, node: 'n', createdAtSeconds: 100, readySinceSeconds: 130 },
  }));
  const node = { ...snapshot(), createdAtMs: 100_000 };
  const opened = { ...node, onDemand: { ...node.onDemand, daemonSets, daemonPods } };
  announcer.happened([{ kind: 'gate-opened', node: opened, missing: [] }]);
  const lines = await metric('rollcall_coordinator_startup_gate_daemon_set_seconds');
  const sumOf = (name: string) => lines.find((line) => line.includes(`_sum{daemon_set="${name}"}`))?.split(' ')[1];
  const found = ['system/d-0', 'system/d-199', 'system/d-200', 'others'].map(sumOf);
  expect(found).toEqual(['30', '30', undefined, '30']);
});

const FLEET = { subject: 'agents', of: 'fleet', nodes: 3 } as const;
const TIER = { subject: 'configuration', of: 'tier', nodes: 20 } as const;

test('each guard is told once when it begins, and once when it ends', () => {
  const { guards, events } = announced();
  const term = newTerm();
  for (const active of [[FLEET], [FLEET, TIER], [{ ...TIER, nodes: 5 }], []]) {
    guards(term, active);
    guards(term, active);
  }
  const told = (type: string, reason: string, message: unknown) => ({ subject: LEASE, type, reason, message });
  expect(events).toEqual([
    told('Warning', 'GuardActive', expect.stringContaining('A guard is active (agents): most agents are silent')),
    told(
      'Warning',
      'GuardActive',
      expect.stringContaining('A guard is active (configuration): many nodes would lose tier'),
    ),
    told('Normal', 'GuardCleared', 'The guard has ended (agents): fleet'),
    told('Normal', 'GuardCleared', 'The guard has ended (configuration): tier'),
  ]);
});

test('nodes that wait for a taint are named in an Event of its NodeService', () => {
  const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;
  const { guards, events } = announced([{ ...WS_DAEMON_SERVICE, name: 'driver', origin }]);
  const term = newTerm();
  guards(term, [{ subject: 'taint-budget', of: 'driver', nodes: 4 }]);
  guards(term, []);
  const subject = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeService', name: 'driver', uid: 'u' };
  expect(events).toMatchObject([
    {
      subject,
      type: 'Warning',
      reason: 'GuardActive',
      message: expect.stringMatching(/driver closes .*; 10 nodes wait for driver$/),
    },
    { subject, type: 'Normal', reason: 'GuardCleared' },
  ]);
});

test('a guard that holds in a new term is told again', () => {
  const { guards, news } = announced();
  guards(newTerm(), [TIER]);
  guards(newTerm(), [TIER]);
  expect(news).toHaveLength(2);
});
