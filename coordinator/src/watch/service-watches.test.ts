import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import { fleetWith } from '../state/fleet.test-fixtures.ts';
import { MemoryApi, podObject, podsPath } from './memory-api.test-fixtures.ts';
import { ServiceWatches } from './service-watches.ts';

const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
const [BUILT_IN, OWN] = [podsPath('default'), podsPath('db')];

const daemon = serviceOf('ws-daemon');
/** That a NodeService asks for. */
const database = serviceOf('database', {
  checks: [podsCheck({ namespace: 'db', selector: { matchLabels: { app: 'database' } } })],
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});
const registered = {
  name: 'registered',
  id: 's/registered',
  kind: 'csiNode',
  settings: { driver: 'disk.csi' },
} as const;
const disks: Service = {
  name: 'disks',
  checks: [registered],
  mode: 'Continuous',
  publish: {},
  origin: { kind: 'object', uid: 'v', generation: 1, createdAtMs: 0 },
};

function serviceWatches(...services: Service[]) {
  const api = new MemoryApi();
  const state = { services };
  const fleet = fleetWith({ clock: api.clock });
  const watches = new ServiceWatches({ ...api.shared, fleet, services: () => state.services });
  const settle = () => api.clock.advance(0);
  return { api, state, fleet, watches, settle };
}

test('the pods of services are watched when it runs', async () => {
  const { api, fleet, watches, settle } = serviceWatches(daemon, database);
  api.collections.set(OWN, [podObject('a', { app: 'database' }, 'n1', 'db')]);
  await settle();
  expect(api.lists).toEqual([]);
  watches.run();
  await settle();
  expect(api.watched()).toEqual([OWN, BUILT_IN]);
  expect(api.selectorsOf(BUILT_IN)).toEqual({ labelSelector: 'component=ws-daemon' });
  expect(fleet.servicePods.on('n1').map(({ name }) => name)).toEqual(['a']);
});

test('services that come and go are taken up by an update', async () => {
  const { api, state, watches, settle } = serviceWatches(daemon);
  watches.run();
  state.services = [database];
  await settle();
  expect(api.watched()).toEqual([BUILT_IN]);
  watches.update();
  await settle();
  expect(api.watched()).toEqual([OWN]);
});

test('CSINodes are watched once, as soon as a service names a driver', async () => {
  const { api, state, fleet, watches, settle } = serviceWatches(daemon);
  const metadata = { name: 'n1', uid: 'c', resourceVersion: '5', ownerReferences: [{ kind: 'Node', uid: 'u' }] };
  api.collections.set(CSI_NODES, [{ metadata, spec: { drivers: [{ name: 'disk.csi' }] } } as never]);
  watches.run();
  await settle();
  expect(api.watched()).toEqual([BUILT_IN]);
  state.services = [daemon, disks];
  watches.update();
  watches.update();
  await settle();
  expect(api.watched()).toEqual([BUILT_IN, CSI_NODES]);
  expect(api.listed(CSI_NODES)).toBe(1);
  expect(fleet.csiNodes.of('n1')?.drivers).toEqual(['disk.csi']);
});

test('CSINodes that a service asks for from the start are watched when it runs', async () => {
  const { api, watches, settle } = serviceWatches(disks);
  await settle();
  expect(api.lists).toEqual([]);
  watches.run();
  await settle();
  expect(api.watched()).toEqual([CSI_NODES]);
});

test('this replica waits for the pods of built-in services alone', async () => {
  const { api, watches, settle } = serviceWatches(daemon, database);
  api.refused.set(OWN, 403);
  const answer = Promise.withResolvers<void>();
  api.delayed.set(BUILT_IN, answer.promise);
  watches.run();
  await settle();
  expect([watches.hasSynced(), watches.isFailing()]).toEqual([false, false]);
  answer.resolve();
  await settle();
  expect([watches.hasSynced(), watches.isFailing()]).toEqual([true, false]);
});

test('it fails where the pods of any built-in service cannot be watched, which is tried again soon', async () => {
  const other = serviceOf('other', { checks: [podsCheck({ namespace: 'fine', selector: {} })] });
  const { api, watches, settle } = serviceWatches(other, daemon, database);
  api.refused.set(BUILT_IN, 403).set(OWN, 403);
  watches.run();
  await settle();
  expect([watches.hasSynced(), watches.isFailing()]).toEqual([false, true]);
  api.refused.clear();
  await api.clock.advance(5000);
  expect([watches.hasSynced(), watches.isFailing()]).toEqual([true, false]);
  expect([api.listed(BUILT_IN), api.listed(OWN)]).toEqual([2, 1]);
});

test('a service has a problem that names what it depends on and may not be watched', async () => {
  const both = { ...database, checks: [registered, ...database.checks] };
  const { api, watches, settle } = serviceWatches(daemon, both, disks);
  api.refused.set(OWN, 403).set(CSI_NODES, 403);
  watches.run();
  await settle();
  const ofCsiNodes =
    'The coordinator may not watch CSINodes: grant it the verbs list and watch on csinodes.storage.k8s.io';
  expect(watches.problemOf(daemon)).toBeUndefined();
  expect(watches.problemOf(disks)).toBe(ofCsiNodes);
  expect(watches.problemOf(database)).toMatch('The coordinator may not watch the pods in db: ');
  expect(watches.problemOf(both)).toMatch('The coordinator may not watch the pods in db: ');
  expect(watches.problemOf({ ...daemon, checks: [...daemon.checks, registered] })).toBe(ofCsiNodes);
});

test('a service has no problem while CSINodes can be watched, or are not watched', async () => {
  const { watches, settle } = serviceWatches(disks);
  watches.run();
  await settle();
  expect(watches.problemOf(disks)).toBeUndefined();
  expect(serviceWatches().watches.problemOf(disks)).toBeUndefined();
});

test('CSINodes that may not be watched are asked for every 30 s', async () => {
  const { api, watches } = serviceWatches(disks);
  api.refused.set(CSI_NODES, 403);
  watches.run();
  await api.clock.advance(29_999);
  expect(api.listed(CSI_NODES)).toBe(1);
  await api.clock.advance(1);
  expect(api.listed(CSI_NODES)).toBe(2);
});
