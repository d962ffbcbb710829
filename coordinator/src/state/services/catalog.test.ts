import { describe, expect, test } from 'vitest';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import { nodeService, stage } from './catalog.test-fixtures.ts';

const TAINTED = nodeService('a', {
  pods: { namespace: 'default', selector: { matchLabels: { app: 'a' } } },
  publish: { taint: { key: 'example.com/no-a', effect: 'NoSchedule' } },
});
const LABEL = 'service.rollcall.dev/b';

test('a service that is refused for its pods stays so while they are as they are', () => {
  const { catalog, pods, inForce, watched, changes } = stage();
  catalog.handlers.onReplace([TAINTED]);
  expect(inForce()).toEqual(['a']);
  for (let round = 0; round < 3; round += 1) {
    catalog.judge();
    expect([inForce(), watched()]).toEqual([[], ['a']]);
    expect(catalog.refusalOf(TAINTED)?.reason).toBe('TaintNotTolerated');
  }
  expect(changes()).toBe(2);
  pods.tolerate = true;
  catalog.judge();
  expect([inForce(), watched()]).toEqual([['a'], ['a']]);
  expect(catalog.refusalOf(TAINTED)).toBeUndefined();
});

test('the pods of a refused service that is deleted are watched no more', () => {
  const { catalog, watched, changes } = stage();
  catalog.handlers.onReplace([TAINTED]);
  catalog.judge();
  const before = changes();
  catalog.handlers.onReplace([]);
  expect(watched()).toEqual([]);
  expect(changes()).toBe(before + 1);
});

test('what was listed is unknown while it is not watched, and stays in force', () => {
  const { catalog, pods, inForce, changes } = stage();
  pods.tolerate = true;
  expect(catalog.known).toBe(false);
  catalog.handlers.onReplace([TAINTED]);
  expect(catalog.known).toBe(true);
  const before = changes();
  catalog.handlers.onLost();
  expect([catalog.known, inForce(), changes()]).toEqual([false, ['a'], before]);
  catalog.handlers.onReplace([TAINTED]);
  expect([catalog.known, inForce(), changes()]).toEqual([true, ['a'], before + 1]);
});

test('built-in services come first, and are in force before anything is listed', () => {
  const { catalog, inForce } = stage([serviceOf()]);
  expect(inForce()).toEqual(['ws-daemon']);
  catalog.handlers.onReplace([nodeService('b')]);
  expect(inForce()).toEqual(['ws-daemon', 'b']);
});

test('a service has its keys while it is in force', () => {
  const { catalog, keys } = stage();
  catalog.handlers.onReplace([nodeService('b'), nodeService('c')]);
  expect(keys.entryOf('label', LABEL)).toMatchObject({ labeler: 'readiness' });
  catalog.handlers.onReplace([nodeService('c')]);
  expect(keys.entryOf('label', LABEL)).toBeUndefined();
  expect(keys.entryOf('label', 'service.rollcall.dev/c')).toBeDefined();
});

test('keys are written down only for services that are others than before', () => {
  const { catalog, keys } = stage();
  catalog.handlers.onReplace([nodeService('b'), nodeService('c')]);
  const before = keys.revision;
  catalog.handlers.onReplace([nodeService('b'), nodeService('c', {}, { generation: 2 })]);
  expect(keys.revision).toBe(before + 1);
});

test('an object is judged 50 ms after it was changed', async () => {
  const { clock, catalog } = stage();
  catalog.handlers.onReplace([]);
  const object = nodeService('refused', { pubish: {} });
  catalog.handlers.onUpsert(object);
  expect(catalog.isJudged(object)).toBe(false);
  await clock.advance(50);
  expect(catalog.isJudged(object)).toBe(true);
  expect(catalog.refusalOf(object)?.reason).toBe('UnknownField');
});

test('the uids are those of all objects that exist, in force or not', async () => {
  const { clock, catalog } = stage();
  expect([...catalog.uids]).toEqual([]);
  catalog.handlers.onReplace([nodeService('b'), nodeService('refused', { pubish: {} })]);
  expect([...catalog.uids]).toEqual(['uid-b', 'uid-refused']);
  catalog.handlers.onUpsert(nodeService('b', {}, { uid: 'other' }));
  catalog.handlers.onDelete(nodeService('refused'));
  await clock.advance(100);
  expect([...catalog.uids]).toEqual(['other']);
});

test('the deletion of a refused object is a change, since Nodes may record that it was ready once', async () => {
  const { clock, catalog, changes } = stage();
  const refused = nodeService('refused', { pubish: {} });
  catalog.handlers.onReplace([refused]);
  const before = changes();
  catalog.handlers.onDelete(refused);
  await clock.advance(50);
  expect(changes()).toBe(before + 1);
});

test('a list with the same services changes nothing', () => {
  const { catalog, changes } = stage();
  catalog.handlers.onReplace([nodeService('b')]);
  catalog.handlers.onReplace([nodeService('b')]);
  expect(changes()).toBe(1);
});

test('an object that reads differently since its CRD was changed is another, though its generation is the same', () => {
  const { catalog, inForce } = stage();
  catalog.handlers.onReplace([nodeService('b', { pubish: {} })]);
  expect(inForce()).toEqual([]);
  catalog.handlers.onReplace([nodeService('b')]);
  expect(inForce()).toEqual(['b']);
});

describe('an event', () => {
  test.each([
    ['of a new object', nodeService('c'), ['b', 'c']],
    ['of another object of the same name', nodeService('b', {}, { uid: 'other' }), ['b']],
    ['of an object that was changed', nodeService('b', {}, { generation: 2 }), ['b']],
  ])('%s is taken in soon', async (_what, object, expected) => {
    const { clock, catalog, inForce, changes } = stage();
    catalog.handlers.onReplace([nodeService('b')]);
    catalog.handlers.onUpsert(object);
    expect([inForce(), changes()]).toEqual([['b'], 1]);
    await clock.advance(100);
    expect([inForce(), changes()]).toEqual([expected, 2]);
    expect(catalog.objects()).toContain(object);
    expect(catalog.services()).toContain(object.service);
  });

  test('with a new status alone changes the status of the object', async () => {
    const { clock, catalog, changes } = stage();
    const object = nodeService('b');
    catalog.handlers.onReplace([object]);
    catalog.handlers.onUpsert({ ...nodeService('b'), status: 'new' });
    expect(clock.pendingTimers).toBe(0);
    expect(catalog.objects()).toEqual([{ ...object, status: 'new' }]);
    expect(catalog.objects()[0]).toBe(object);
    expect(changes()).toBe(1);
  });

  test('of a deletion is taken in soon, once with others, and not where nothing was there', async () => {
    const { clock, catalog, inForce, changes } = stage();
    catalog.handlers.onReplace([nodeService('b'), nodeService('c')]);
    catalog.handlers.onDelete(nodeService('nobody'));
    expect(clock.pendingTimers).toBe(0);
    catalog.handlers.onDelete(nodeService('b'));
    catalog.handlers.onDelete(nodeService('c'));
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(100);
    expect([inForce(), changes()]).toEqual([[], 2]);
  });
});

test('a status that was written is kept with its object, and with none that is gone', () => {
  const { catalog } = stage();
  catalog.handlers.onReplace([nodeService('b'), nodeService('c')]);
  catalog.noteStatus('b', 'written');
  catalog.noteStatus('gone', 'written');
  expect(catalog.objects().map(({ status }) => status)).toEqual(['written', undefined]);
});

describe('what pods tolerate', () => {
  test('is looked at when they have changed', () => {
    const { catalog, pods, inForce } = stage();
    catalog.handlers.onReplace([TAINTED]);
    catalog.podsMayHaveChanged();
    expect(inForce()).toEqual(['a']);
    pods.revision += 1;
    catalog.podsMayHaveChanged();
    expect(inForce()).toEqual([]);
  });

  test('is looked at again after 5 s, and only when they have changed since', async () => {
    const { clock, catalog, pods, inForce } = stage();
    catalog.handlers.onReplace([TAINTED]);
    pods.revision += 1;
    catalog.podsMayHaveChanged();
    pods.tolerate = true;
    pods.revision += 1;
    await clock.advance(4999);
    catalog.podsMayHaveChanged();
    expect(inForce()).toEqual([]);
    await clock.advance(1);
    catalog.podsMayHaveChanged();
    expect(inForce()).toEqual(['a']);
    pods.tolerate = false;
    await clock.advance(60_000);
    catalog.podsMayHaveChanged();
    expect(inForce()).toEqual(['a']);
  });
});

describe('a proposal', () => {
  const label = { publish: { label: 'example.com/b' } };

  test('says what would be in force and what would be refused, and changes nothing', () => {
    const { catalog, inForce, changes } = stage([serviceOf()]);
    catalog.handlers.onReplace([nodeService('b')]);
    const { services, refusals } = catalog.propose([nodeService('c'), nodeService('d', { pubish: {} })]);
    expect(services.map(({ name }) => name)).toEqual(['ws-daemon', 'b', 'c']);
    expect([...refusals].map(([name, { reason }]) => [name, reason])).toEqual([['d', 'UnknownField']]);
    expect([inForce(), changes()]).toEqual([['ws-daemon', 'b'], 1]);
  });

  test('for an object that is there keeps its uid, by which a node notes that it was ready once', () => {
    const { catalog } = stage();
    catalog.handlers.onReplace([nodeService('b', label)]);
    const { services } = catalog.propose([nodeService('b', label, { uid: 'proposed' }), nodeService('c')]);
    expect(services.map(({ origin }) => origin)).toMatchObject([{ uid: 'uid-b' }, { uid: 'uid-c' }]);
  });

  test('for an object that is there takes its place, with its age', () => {
    const { catalog } = stage();
    const newer = { creationTimestamp: '2026-02-01T00:00:00Z' };
    catalog.handlers.onReplace([nodeService('b', label), nodeService('c', {}, newer)]);
    const proposed = nodeService(
      'b',
      { ...label, csiDriver: 'disk.csi' },
      { creationTimestamp: '2026-03-01T00:00:00Z' },
    );
    const { services, refusals } = catalog.propose([proposed, nodeService('c', label, newer)]);
    expect(services.map(({ name, csiDriver }) => [name, csiDriver])).toEqual([['b', 'disk.csi']]);
    expect([...refusals.keys()]).toEqual(['c']);
  });

  test('does not tell of refusals of others', () => {
    const { catalog } = stage();
    catalog.handlers.onReplace([nodeService('d', { pubish: {} })]);
    expect([...catalog.propose([nodeService('c')]).refusals]).toEqual([]);
  });
});

test('a NodeService that nobody foresaw ends nothing: what was in force stays, and the next change is judged', async () => {
  const { catalog, clock, inForce } = stage();
  catalog.handlers.onReplace([nodeService('a')]);
  const odd = nodeService('b');
  Object.defineProperty(odd.service, 'publish', {
    get: () => {
      throw new RangeError('Maximum call stack size exceeded');
    },
  });
  catalog.handlers.onUpsert(odd);
  await clock.advance(50);
  expect(inForce()).toEqual(['a']);
  catalog.handlers.onDelete(odd);
  catalog.handlers.onUpsert(nodeService('c'));
  await clock.advance(50);
  expect(inForce()).toEqual(['a', 'c']);
});
