import { atOnce } from '@rollcall/common/slices.ts';
import { describe, expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import { nodeService, stage } from './service-registry.test-fixtures.ts';

const TAINTED = nodeService('a', {
  checks: [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'a' } } } }],
  publish: { taint: { key: 'example.com/no-a', effect: 'NoSchedule' } },
});
const LABEL = 'service.rollcall.dev/b';

test('what was listed is unknown while it is not watched, and stays in force', () => {
  const { serviceRegistry, inForce, changes } = stage();
  expect(serviceRegistry.known).toBe(false);
  serviceRegistry.all.handlers().onReplace([TAINTED]);
  expect(serviceRegistry.known).toBe(true);
  const before = changes();
  serviceRegistry.all.handlers().onLost?.();
  expect([serviceRegistry.known, inForce(), changes()]).toEqual([false, ['a'], before]);
  serviceRegistry.all.handlers().onReplace([TAINTED]);
  expect([serviceRegistry.known, inForce(), changes()]).toEqual([true, ['a'], before + 1]);
});

test('built-in services come first, and are in force before anything is listed', () => {
  const { serviceRegistry, inForce } = stage([serviceOf()]);
  expect(inForce()).toEqual(['ws-daemon']);
  serviceRegistry.all.handlers().onReplace([nodeService('b')]);
  expect(inForce()).toEqual(['ws-daemon', 'b']);
});

test('a service has its keys while it is in force', () => {
  const { serviceRegistry, keys } = stage();
  serviceRegistry.all.handlers().onReplace([nodeService('b'), nodeService('c')]);
  expect(keys.entryOf('label', LABEL)).toMatchObject({ labeler: 'readiness' });
  serviceRegistry.all.handlers().onReplace([nodeService('c')]);
  expect(keys.entryOf('label', LABEL)).toBeUndefined();
  expect(keys.entryOf('label', 'service.rollcall.dev/c')).toBeDefined();
});

test('keys are written down only for services that are others than before', () => {
  const { serviceRegistry, keys } = stage();
  serviceRegistry.all.handlers().onReplace([nodeService('b'), nodeService('c')]);
  const before = keys.revision;
  serviceRegistry.all.handlers().onReplace([nodeService('b'), nodeService('c', {}, { generation: 2 })]);
  expect(keys.revision).toBe(before + 1);
});

test('an object is evaluated 50 ms after it was changed', async () => {
  const { clock, serviceRegistry } = stage();
  serviceRegistry.all.handlers().onReplace([]);
  const object = nodeService('refused', { pubish: {} });
  serviceRegistry.all.handlers().onUpsert(object);
  expect(serviceRegistry.isJudged(object)).toBe(false);
  await clock.advance(50);
  expect(serviceRegistry.isJudged(object)).toBe(true);
  expect(serviceRegistry.refusalOf(object)?.reason).toBe('UnknownField');
});

test('the uids include all objects that exist, in force or not', async () => {
  const { clock, serviceRegistry } = stage();
  expect([...serviceRegistry.uids]).toEqual([]);
  serviceRegistry.all.handlers().onReplace([nodeService('b'), nodeService('refused', { pubish: {} })]);
  expect([...serviceRegistry.uids]).toEqual(['uid-b', 'uid-refused']);
  serviceRegistry.all.handlers().onUpsert(nodeService('b', {}, { uid: 'other' }));
  serviceRegistry.all.handlers().onDelete(nodeService('refused'));
  await clock.advance(100);
  expect([...serviceRegistry.uids]).toEqual(['other']);
});

test('the deletion of a refused object is a change, since Nodes may record that it was ready once', async () => {
  const { clock, serviceRegistry, changes } = stage();
  const refused = nodeService('refused', { pubish: {} });
  serviceRegistry.all.handlers().onReplace([refused]);
  const before = changes();
  serviceRegistry.all.handlers().onDelete(refused);
  await clock.advance(50);
  expect(changes()).toBe(before + 1);
});

test('a list with the same services changes nothing', () => {
  const { serviceRegistry, changes } = stage();
  serviceRegistry.all.handlers().onReplace([nodeService('b')]);
  serviceRegistry.all.handlers().onReplace([nodeService('b')]);
  expect(changes()).toBe(1);
});

test('an object that reads differently since its CRD was changed is another, though its generation is the same', () => {
  const { serviceRegistry, inForce } = stage();
  serviceRegistry.all.handlers().onReplace([nodeService('b', { pubish: {} })]);
  expect(inForce()).toEqual([]);
  serviceRegistry.all.handlers().onReplace([nodeService('b')]);
  expect(inForce()).toEqual(['b']);
});

describe('an event', () => {
  test.each([
    ['of a new object', nodeService('c'), ['b', 'c']],
    ['of another object of the same name', nodeService('b', {}, { uid: 'other' }), ['b']],
    ['of an object that was changed', nodeService('b', {}, { generation: 2 }), ['b']],
  ])('%s is taken in soon', async (_what, object, expected) => {
    const { clock, serviceRegistry, inForce, changes } = stage();
    serviceRegistry.all.handlers().onReplace([nodeService('b')]);
    serviceRegistry.all.handlers().onUpsert(object);
    expect([inForce(), changes()]).toEqual([['b'], 1]);
    await clock.advance(100);
    expect([inForce(), changes()]).toEqual([expected, 2]);
    expect(serviceRegistry.objects()).toContain(object);
    expect(serviceRegistry.services()).toContain(object.service);
  });

  test('with a new status alone changes the status of the object', async () => {
    const { clock, serviceRegistry, changes } = stage();
    const object = nodeService('b');
    serviceRegistry.all.handlers().onReplace([object]);
    serviceRegistry.all.handlers().onUpsert({ ...nodeService('b'), status: 'new' });
    expect(clock.pendingTimers).toBe(0);
    expect(serviceRegistry.objects()).toEqual([{ ...object, status: 'new' }]);
    expect(serviceRegistry.objects()[0]).toBe(object);
    expect(changes()).toBe(1);
  });

  test('of a deletion is taken in soon, once with others, and not where nothing was there', async () => {
    const { clock, serviceRegistry, inForce, changes } = stage();
    serviceRegistry.all.handlers().onReplace([nodeService('b'), nodeService('c')]);
    serviceRegistry.all.handlers().onDelete(nodeService('unknown'));
    expect(clock.pendingTimers).toBe(0);
    serviceRegistry.all.handlers().onDelete(nodeService('b'));
    serviceRegistry.all.handlers().onDelete(nodeService('c'));
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(100);
    expect([inForce(), changes()]).toEqual([[], 2]);
  });
});

test('a status that was written is kept with its object, and with none that is gone', () => {
  const { serviceRegistry } = stage();
  serviceRegistry.all.handlers().onReplace([nodeService('b'), nodeService('c')]);
  for (const name of ['b', 'gone']) serviceRegistry.all.noteStatus({ uid: `uid-${name}`, name }, 'written');
  expect(serviceRegistry.objects().map(({ status }) => status)).toEqual(['written', undefined]);
});

describe('a proposal', () => {
  const label = { publish: { label: 'example.com/b' } };

  test('says what would be in force and what would be refused, and changes nothing', () => {
    const { serviceRegistry, inForce, changes } = stage([serviceOf()]);
    serviceRegistry.all.handlers().onReplace([nodeService('b')]);
    const { services, refusals } = atOnce(
      serviceRegistry.propose([nodeService('c'), nodeService('d', { pubish: {} })]),
    );
    expect(services.map(({ name }) => name)).toEqual(['ws-daemon', 'b', 'c']);
    expect([...refusals].map(([name, { reason }]) => [name, reason])).toEqual([['d', 'UnknownField']]);
    expect([inForce(), changes()]).toEqual([['ws-daemon', 'b'], 1]);
  });

  test('for an object that is there keeps its uid, by which a node notes that it was ready once', () => {
    const { serviceRegistry } = stage();
    serviceRegistry.all.handlers().onReplace([nodeService('b', label)]);
    const { services } = atOnce(
      serviceRegistry.propose([nodeService('b', label, { uid: 'proposed' }), nodeService('c')]),
    );
    expect(services.map(({ origin }) => origin)).toMatchObject([{ uid: 'uid-b' }, { uid: 'uid-c' }]);
  });

  test('for an object that is there takes its place, with its age', () => {
    const { serviceRegistry } = stage();
    const newer = { creationTimestamp: '2026-02-01T00:00:00Z' };
    serviceRegistry.all.handlers().onReplace([nodeService('b', label), nodeService('c', {}, newer)]);
    const proposed = nodeService('b', { ...label, mode: 'Startup' }, { creationTimestamp: '2026-03-01T00:00:00Z' });
    const { services, refusals } = atOnce(serviceRegistry.propose([proposed, nodeService('c', label, newer)]));
    expect(services.map(({ name, mode }) => [name, mode])).toEqual([['b', 'Startup']]);
    expect([...refusals.keys()]).toEqual(['c']);
  });

  test('does not report refusals of others', () => {
    const { serviceRegistry } = stage();
    serviceRegistry.all.handlers().onReplace([nodeService('d', { pubish: {} })]);
    expect([...atOnce(serviceRegistry.propose([nodeService('c')])).refusals]).toEqual([]);
  });
});

test('a NodeService that throws an unexpected error changes nothing, and the next change is evaluated', async () => {
  const { serviceRegistry, clock, inForce } = stage();
  serviceRegistry.all.handlers().onReplace([nodeService('a')]);
  const odd = nodeService('b');
  Object.defineProperty(odd.service, 'publish', {
    get: () => {
      throw new RangeError('Maximum call stack size exceeded');
    },
  });
  serviceRegistry.all.handlers().onUpsert(odd);
  await clock.advance(50);
  expect(inForce()).toEqual(['a']);
  serviceRegistry.all.handlers().onDelete(odd);
  serviceRegistry.all.handlers().onUpsert(nodeService('c'));
  await clock.advance(50);
  expect(inForce()).toEqual(['a', 'c']);
});

test('thousands of NodeServices are judged in slices, and are known once all are', async () => {
  const { serviceRegistry, changes } = stage();
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      nodeService(`s${index}`, { nodeSelector: { matchLabels: { pool: `${index}` } } }),
    );
  serviceRegistry.all.handlers().onReplace(many(5000));
  let longestMs = 0;
  while (!serviceRegistry.known) {
    expect(changes()).toBe(0);
    const before = process.threadCpuUsage();
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.threadCpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1000);
  }
  expect(serviceRegistry.services().length).toBeGreaterThanOrEqual(5000);
  expect(changes()).toBe(1);
  // Of CPU, of which other programs take none. Slices are of 6 ms.
  expect(longestMs).toBeLessThan(50);
});

test('what changes while thousands are judged is judged after a pause', async () => {
  const { serviceRegistry, clock } = stage();
  const all = Array.from({ length: 1000 }, (_, index) => nodeService(`s${index}`));
  serviceRegistry.all.handlers().onReplace(all);
  const [first] = all;
  if (first) serviceRegistry.all.handlers().onDelete(first);
  await clock.advance(100);
  await expect.poll(() => serviceRegistry.known).toBe(true);
  await clock.advance(1000);
  await expect.poll(() => serviceRegistry.services().some(({ name }) => name === 's0')).toBe(false);
});
