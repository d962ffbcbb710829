import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../setup/keys/key-registry.test-fixtures.ts';
import type { KeyRegistry } from '../setup/keys/key-registry.ts';
import { ServiceCatalog } from './catalog.ts';
import { observeNodeService } from './node-service.ts';

const SPEC = {
  pods: { namespace: 'apps', selector: { matchLabels: { app: 'a' } } },
  publish: { taint: { key: 'readiness.k8s.io/a', effect: 'NoSchedule' } },
};
const OBJECT = observeNodeService({
  metadata: { name: 'a', uid: 'u', generation: 1, resourceVersion: '1' },
  spec: SPEC,
});

/** Pods that are in view only while something asks for them, as those of a watch. */
function catalogOver(isTolerated: () => boolean) {
  const keys: KeyRegistry = registryOf({});
  let changes = 0;
  const clock = new FakeClock();
  const isInView = () => catalog.watched().some(({ pods }) => pods?.namespace === 'apps');
  const catalog: ServiceCatalog = new ServiceCatalog({
    builtIn: [],
    keys,
    otherKeys: registryOf({}),
    allowedPrefixes: [],
    allowNoExecute: false,
    conditions: true,
    allowedConditions: [],
    impliedBy: () => new Set(),
    intolerantPod: () => (isInView() && !isTolerated() ? 'apps/a' : undefined),
    podsRevision: () => 0,
    clock,
    logger: silentLogger(),
    onChange: () => {
      changes += 1;
    },
  });
  return { catalog, changes: () => changes };
}

test('what is refused for what its pods are stays refused while they are so, as they stay in view', () => {
  let isTolerated = false;
  const { catalog } = catalogOver(() => isTolerated);
  catalog.handlers.onReplace([OBJECT]);
  for (let look = 0; look < 5; look += 1) {
    catalog.judge();
    expect(catalog.services()).toEqual([]);
    expect(catalog.watched().map(({ name }) => name)).toEqual(['a']);
  }
  isTolerated = true;
  catalog.judge();
  expect(catalog.services().map(({ name }) => name)).toEqual(['a']);
});

test('nobody watches for what is gone while it was refused, and whoever watches is told', () => {
  const { catalog, changes } = catalogOver(() => false);
  catalog.handlers.onReplace([OBJECT]);
  catalog.judge();
  const before = changes();
  catalog.handlers.onReplace([]);
  catalog.judge();
  expect(catalog.watched()).toEqual([]);
  expect(changes()).toBeGreaterThan(before);
});
