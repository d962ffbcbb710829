import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import type { ObservedNodeHold } from '../../state/holds/node-hold.ts';
import { createPoolLabelSets } from '../../state/pool-label-sets.ts';
import { type RefusedObjectsSource, refusedObjects } from './refused-objects.ts';

const set = (name: string, labels: Record<string, string>) => ({
  ...{ kind: 'NodePoolLabels' as const, namespace: 'rollcall', name, uid: name, pool: 'gold', labels },
  ...{ generation: 1, createdAt: `2026-01-01T00:00:0${name.length}Z`, status: undefined },
});

/** Nothing is refused, but for what is given. */
function refusedOf(given: Partial<RefusedObjectsSource>, ...sets: ReturnType<typeof set>[]) {
  const poolLabelSets = createPoolLabelSets();
  poolLabelSets.handlers('NodePoolLabels').onReplace(sets);
  return refusedObjects({
    serviceRegistry: { objects: () => [], refusalOf: () => undefined },
    poolLabelSets,
    reserved: { keys: registryOf({ watchedServices: [], poolLabels: [] }), domains: [], allowedPrefixes: [] },
    holds: { objects: () => [] },
    problemOfService: () => undefined,
    problemOfHold: () => undefined,
    ...given,
  })();
}

test('objects that are in force are not listed', () => {
  expect(
    refusedOf({ holds: { objects: () => [{ name: 'ci' } as ObservedNodeHold] } }, set('a', { tier: 'x' })),
  ).toEqual([]);
});

test('a NodeService is listed with why it is refused', () => {
  const refusal = { reason: 'KeyTaken', message: 'm' };
  const serviceRegistry = {
    objects: () => [{ name: 'mirror', service: {} }],
    refusalOf: () => refusal,
  } as unknown as RefusedObjectsSource['serviceRegistry'];
  expect(refusedOf({ serviceRegistry })).toEqual([{ kind: 'NodeService', name: 'mirror', ...refusal }]);
});

test('a NodeService is listed where what it depends on cannot be watched', () => {
  const serviceRegistry = {
    objects: () => [{ name: 'mirror', service: {} }],
    refusalOf: () => undefined,
  } as unknown as RefusedObjectsSource['serviceRegistry'];
  expect(refusedOf({ serviceRegistry, problemOfService: () => 'no right' })).toEqual([
    { kind: 'NodeService', name: 'mirror', reason: 'NotPermitted', message: 'no right' },
  ]);
});

test('an object of a pool is listed where a key is refused, or the pool has an older one', () => {
  const where = { kind: 'NodePoolLabels', namespace: 'rollcall' };
  expect(refusedOf({}, set('a', { 'k8s.io/x': '1', tier: 'x' }), set('bb', {}))).toEqual([
    {
      ...where,
      name: 'a',
      reason: 'KeysRefused',
      message: expect.stringContaining('k8s.io/x is in the reserved domain'),
    },
    { ...where, name: 'bb', reason: 'PoolTaken', message: expect.stringContaining('the NodePoolLabels a') },
  ]);
});

test('a NodeHold is listed where it has an unknown field, or its pods cannot be watched', () => {
  const holds = { objects: () => [{ name: 'a', problem: 'spec.x is unknown' } as ObservedNodeHold] };
  expect(refusedOf({ holds })).toMatchObject([{ kind: 'NodeHold', name: 'a', reason: 'UnknownField' }]);
  const fine = { objects: () => [{ name: 'b' } as ObservedNodeHold] };
  expect(refusedOf({ holds: fine, problemOfHold: () => 'no right' })).toMatchObject([
    { kind: 'NodeHold', name: 'b', reason: 'NotPermitted', message: expect.stringContaining('no right') },
  ]);
});
