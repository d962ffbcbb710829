import { systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../setup/keys/key-registry.test-fixtures.ts';
import { ServiceCatalog } from './catalog.ts';
import { observeNodeService } from './node-service.ts';

/** A NodeService with a taint; whether its pods tolerate it, anybody knows only while they are watched. */
function stage() {
  const pods = { tolerate: false, revision: 0 };
  let changes = 0;
  const catalog: ServiceCatalog = new ServiceCatalog({
    builtIn: [],
    keys: registryOf({ watchedServices: [] }),
    otherKeys: registryOf({ watchedServices: [] }),
    allowedPrefixes: [],
    allowNoExecute: false,
    conditions: true,
    allowedConditions: [],
    impliedBy: () => new Set(),
    intolerantPod: ({ name }) => {
      const isInView = catalog.watched().some((service) => service.name === name);
      return isInView && !pods.tolerate ? 'default/pod' : undefined;
    },
    podsRevision: () => pods.revision,
    clock: systemClock,
    logger: silentLogger(),
    onChange: () => {
      changes += 1;
    },
  });
  const object = observeNodeService({
    metadata: { name: 'a', uid: 'u', resourceVersion: '1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      pods: { namespace: 'default', selector: { matchLabels: { app: 'a' } } },
      publish: { taint: { key: 'example.com/no-a', effect: 'NoSchedule' } },
    },
  });
  const names = (services: readonly { name: string }[]) => services.map(({ name }) => name);
  return {
    catalog,
    object,
    pods,
    changes: () => changes,
    inForce: () => names(catalog.services()),
    watched: () => names(catalog.watched()),
  };
}

test('a service that is refused for its pods stays so while they are as they are', () => {
  const { catalog, object, pods, inForce, watched, changes } = stage();
  catalog.handlers.onReplace([object]);
  expect(inForce()).toEqual(['a']);
  for (let round = 0; round < 3; round += 1) {
    catalog.judge();
    expect([inForce(), watched()]).toEqual([[], ['a']]);
  }
  expect(changes()).toBe(2);
  pods.tolerate = true;
  catalog.judge();
  expect([inForce(), watched()]).toEqual([['a'], ['a']]);
});

test('the pods of a refused service that is deleted are watched no more', () => {
  const { catalog, object, watched, changes } = stage();
  catalog.handlers.onReplace([object]);
  catalog.judge();
  const before = changes();
  catalog.handlers.onReplace([]);
  expect(watched()).toEqual([]);
  expect(changes()).toBe(before + 1);
});

test('what was listed is unknown while it is not watched, and stays in force', () => {
  const { catalog, object, pods, inForce, changes } = stage();
  pods.tolerate = true;
  expect(catalog.known).toBe(false);
  catalog.handlers.onReplace([object]);
  expect(catalog.known).toBe(true);
  const before = changes();
  catalog.handlers.onLost();
  expect([catalog.known, inForce(), changes()]).toEqual([false, ['a'], before]);
  catalog.handlers.onReplace([object]);
  expect([catalog.known, inForce(), changes()]).toEqual([true, ['a'], before + 1]);
});
