import { describe, expect, test } from 'vitest';
import type { ServiceKeys } from './key-entry.ts';
import { registryOf } from './key-registry.test-fixtures.ts';
import { LISTING_ANNOTATIONS, OWN_KEYS, serviceKeys } from './own-keys.ts';

const [LABEL, TAINT] = ['example.com/cache', 'example.com/no-cache'];
const taint = { key: TAINT, value: 'true', effect: 'NoSchedule' };
const byLabel = { kind: 'built-in', gate: 'label' } as const;
const CACHE: ServiceKeys = { name: 'cache', publish: { label: LABEL, taint }, origin: byLabel };
const STARTUP = 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall';

describe('a service that comes and goes', () => {
  test('has its keys from then on, and until it goes', () => {
    const keys = registryOf();
    expect(keys.refusal('pool', 'label', LABEL)).toBeUndefined();
    const before = keys.revision;
    keys.setService(CACHE);
    expect(keys.revision).toBeGreaterThan(before);
    expect(keys.refusal('pool', 'label', LABEL)).toBe('belongs to the service cache of Gitpod');
    expect(keys.entryOf('taint', TAINT)).toMatchObject({ labeler: 'readiness', ownership: 'exclusive' });
    const known = keys.revision;
    keys.removeService('cache');
    expect(keys.revision).toBeGreaterThan(known);
    expect(keys.entryOf('label', LABEL)).toBeUndefined();
    keys.removeService('cache');
    expect(keys.revision).toBe(known + 1);
  });

  test('gives up the keys that it no longer has', () => {
    const keys = registryOf({ watchedServices: [CACHE] });
    keys.setService({ ...CACHE, publish: { label: 'example.com/other' } });
    expect(keys.entryOf('label', LABEL)).toBeUndefined();
    expect(keys.entryOf('label', 'example.com/other')).toBeDefined();
  });
});

describe('a key that people choose', () => {
  const keys = registryOf({ watchedServices: [CACHE], poolLabels: ['agentpool'] });

  test.each([LABEL, 'agentpool', 'fact.rollcall.dev/os', 'feature.node.kubernetes.io/pci-0300_10de.present'])(
    '%s is refused to all',
    (key) => {
      for (const asker of ['service', 'pool', 'rule'] as const) expect(keys.refusal(asker, 'label', key)).toBeDefined();
    },
  );

  test('that says what a node is for is refused to all but pools', () => {
    const label = 'gitpod.io/workload_workspace_regular';
    expect(keys.refusal('pool', 'label', label)).toBeUndefined();
    for (const asker of ['service', 'rule'] as const) {
      expect(keys.refusal(asker, 'label', label)).toBe('selects the nodes of workspaces');
    }
  });

  test('is looked for among its own kind', () => {
    expect(keys.refusal('pool', 'label', TAINT)).toBeUndefined();
    expect(keys.refusal('service', 'taint', TAINT)).toBeDefined();
  });
});

test('taints are kept where services show them, or where nodes wait behind the startup gate', () => {
  expect(registryOf({ watchedServices: [CACHE] }).needsWholeNodes).toBe(false);
  expect(registryOf({ watchedServices: [{ ...CACHE, origin: { ...byLabel, gate: 'both' } }] }).needsWholeNodes).toBe(
    true,
  );
  expect(registryOf({ startupGateRequires: ['a'] }).needsWholeNodes).toBe(true);
});

test('taints that are not kept are ours all the same', () => {
  const keys = registryOf({ watchedServices: [CACHE] });
  for (const key of [TAINT, STARTUP]) expect(keys.entryOf('taint', key)).toBeDefined();
});

test('what is Kubernetes’ own, says what a node is, or is decided about by name, is never removed for being listed', () => {
  const keys = registryOf({ watchedServices: [CACHE], poolLabels: ['agentpool'] });
  const untouchable = ['kubernetes.io/hostname', 'agentpool', LABEL, 'fact.rollcall.dev/os'];
  expect([...untouchable, 'tier'].filter((key) => keys.isUntouchable('label', key))).toEqual(untouchable);
  expect(keys.isUntouchable('taint', 'node.kubernetes.io/unreachable')).toBe(true);
});

test('each key is in the list once, and each list of labels is an annotation in it', () => {
  const ids = OWN_KEYS.map(({ kind, keys }) => `${kind} ${JSON.stringify(keys)}`);
  expect(new Set(ids).size).toBe(ids.length);
  const annotations = registryOf().names('annotation');
  const lists = OWN_KEYS.flatMap(({ keys }) => ('listedIn' in keys ? [keys.listedIn] : []));
  expect(lists.filter((key) => !annotations.has(key))).toEqual([]);
});

test('the lists of labels are annotations of rollcall', () => {
  expect(LISTING_ANNOTATIONS).toEqual(new Set(['nodepool.banzaicloud.io/managed-labels', 'rollcall.dev/keys']));
});

test('conditions of kubelets and of maintenance are untouchable, and no others', () => {
  const keys = registryOf();
  const conditions = ['Ready', 'NetworkUnavailable', 'Drained', 'example.com/A', 'node.kubernetes.io/a'];
  expect(conditions.filter((type) => keys.isUntouchable('condition', type))).toEqual(conditions.slice(0, 3));
});

test('only taints are exempt for a prefix that is known for taints', () => {
  const keys = registryOf();
  expect(keys.isUntouchable('taint', 'readiness.k8s.io/a')).toBe(false);
  expect(keys.isUntouchable('label', 'readiness.k8s.io/a')).toBe(true);
});

test('a condition of a service is kept, shared with others, and found by its name', () => {
  const condition = 'example.com/CacheReady';
  const keys = registryOf({ watchedServices: [{ ...CACHE, publish: { condition } }] });
  expect(keys.names('condition')).toEqual(new Set([condition]));
  expect(keys.entryOf('condition', condition)).toMatchObject({ ownership: 'shared', labeler: 'readiness' });
  expect(keys.needsWholeNodes).toBe(true);
});

test('names are the names of one kind of key', () => {
  const names = registryOf({ watchedServices: [CACHE] }).names('taint');
  expect(names).toEqual(new Set([TAINT, STARTUP]));
});

test('the table of keys says when the taint of a service is there', () => {
  const presentWhile = (origin: ServiceKeys['origin']) => serviceKeys({ ...CACHE, origin })[1]?.presentWhile;
  expect(presentWhile(byLabel)).toBe('cache is not ready, on nodes for workspaces, if `--readiness-gate` uses taints');
  expect(presentWhile({ kind: 'object' })).toBe('cache is not ready');
});
