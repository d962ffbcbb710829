import { expect, test } from 'vitest';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import { onDemandOn } from '../state/on-demand-objects.ts';
import { podObject, podsPath } from './memory-api.test-fixtures.ts';
import { allWatches } from './watches.test-fixtures.ts';

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
  const state = { services };
  const all = allWatches({ services: () => state.services });
  /** What is watched for services. */
  const watched = () => all.api.watched().filter((path) => [BUILT_IN, OWN, CSI_NODES].includes(path));
  return { ...all, state, watched };
}

test('the pods of services are watched when it runs', async () => {
  const { api, fleet, watches, watched, settle } = serviceWatches(daemon, database);
  api.collections.set(OWN, [podObject('a', { app: 'database' }, 'n1', 'db')]);
  await settle();
  expect(api.lists).toEqual([]);
  void watches.run();
  await settle();
  expect(watched()).toEqual([OWN, BUILT_IN]);
  expect(api.selectorsOf(BUILT_IN)).toEqual({ labelSelector: 'component=ws-daemon' });
  expect(fleet.servicePods.on('n1').map(({ name }) => name)).toEqual(['a']);
});

test('services that come and go are taken up by an update', async () => {
  const { state, watches, watched, settle } = serviceWatches(daemon);
  void watches.run();
  state.services = [database];
  await settle();
  expect(watched()).toEqual([BUILT_IN]);
  watches.update();
  await settle();
  expect(watched()).toEqual([OWN]);
});

test('CSINodes are watched once, while a service names a driver', async () => {
  const { api, state, fleet, watches, watched, settle } = serviceWatches(daemon);
  const metadata = { name: 'n1', uid: 'c', resourceVersion: '5', ownerReferences: [{ kind: 'Node', uid: 'u' }] };
  api.collections.set(CSI_NODES, [{ metadata, spec: { drivers: [{ name: 'disk.csi' }] } } as never]);
  void watches.run();
  await settle();
  expect(watched()).toEqual([BUILT_IN]);
  state.services = [daemon, disks];
  watches.update();
  watches.update();
  await settle();
  expect(watched()).toEqual([BUILT_IN, CSI_NODES]);
  expect(api.listed(CSI_NODES)).toBe(1);
  const drivers = () => onDemandOn(fleet.onDemand, 'n1').csiNodes?.map((each) => each.drivers);
  expect(drivers()).toEqual([['disk.csi']]);
  state.services = [daemon];
  watches.update();
  await settle();
  expect([watched(), drivers()]).toEqual([[BUILT_IN], undefined]);
});

test('CSINodes that a service asks for from the start are watched when it runs', async () => {
  const { api, watches, watched, settle } = serviceWatches(disks);
  await settle();
  expect(api.lists).toEqual([]);
  void watches.run();
  await settle();
  expect(watched()).toEqual([CSI_NODES]);
});

test('this replica waits for the pods of built-in services alone', async () => {
  const { api, watches, settle } = serviceWatches(daemon, database);
  api.refused.set(OWN, 403);
  const answer = Promise.withResolvers<void>();
  api.delayed.set(BUILT_IN, answer.promise);
  void watches.run();
  await settle();
  expect(watches.unsynced()).toEqual(['pods of services']);
  answer.resolve();
  await settle();
  expect([watches.unsynced(), watches.current()]).toEqual([[], true]);
});

test('it fails where the pods of any built-in service cannot be watched, which is tried again soon', async () => {
  const other = serviceOf('other', { checks: [podsCheck({ namespace: 'fine', selector: {} })] });
  const { api, watches, settle } = serviceWatches(other, daemon, database);
  api.refused.set(BUILT_IN, 403).set(OWN, 403);
  void watches.run();
  await settle();
  expect([watches.unsynced(), watches.current()]).toEqual([['pods of services'], false]);
  api.refused.clear();
  await api.clock.advance(5000);
  expect([watches.unsynced(), watches.current()]).toEqual([[], true]);
  expect([api.listed(BUILT_IN), api.listed(OWN)]).toEqual([2, 1]);
});

test('a service has a problem that names what it depends on and may not be watched', async () => {
  const both = { ...database, checks: [registered, ...database.checks] };
  const { api, watches, settle } = serviceWatches(daemon, both, disks);
  api.refused.set(OWN, 403).set(CSI_NODES, 403);
  void watches.run();
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
  void watches.run();
  await settle();
  expect(watches.problemOf(disks)).toBeUndefined();
  expect(serviceWatches().watches.problemOf(disks)).toBeUndefined();
});

test('CSINodes that may not be watched are asked for every 30 s', async () => {
  const { api, watches } = serviceWatches(disks);
  api.refused.set(CSI_NODES, 403);
  void watches.run();
  await api.clock.advance(29_999);
  expect(api.listed(CSI_NODES)).toBe(1);
  await api.clock.advance(1);
  expect(api.listed(CSI_NODES)).toBe(2);
});

test('nothing is known of pods and CSINodes any more once they may not be watched, until they are listed again', async () => {
  const { api, fleet, watches } = serviceWatches(database, disks);
  api.collections.set(OWN, [podObject('a', { app: 'database' }, 'n1', 'db')]);
  void watches.run();
  await api.clock.advance(0);
  const isKnown = () => [fleet.servicePods.isKnown('db'), onDemandOn(fleet.onDemand, 'n1').csiNodes !== undefined];
  expect(isKnown()).toEqual([true, true]);
  api.refused.set(OWN, 403).set(CSI_NODES, 403);
  // Every watch ends at some time.
  await api.clock.advance(900_000);
  expect(watches.problemOf(database)).toMatch('The coordinator may not watch the pods in db: ');
  // The pods of a node that comes now are not seen: that they are absent is no evidence.
  expect(isKnown()).toEqual([false, false]);
  api.refused.clear();
  await api.clock.advance(30_000);
  expect(isKnown()).toEqual([true, true]);
});
