import { describe, expect, test } from 'vitest';
import { resultOf, workload } from './evidence.test-fixtures.ts';
import type { Evidence } from './evidence.ts';
import { daemonSetsSelect, daemonSetsTolerateGate, holdsAndExpiry, poolObjectsWatched } from './object-checks.ts';

const named = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

describe('a DaemonSet', () => {
  const selecting = (key: string, spec?: object): Partial<Evidence> => ({
    nodeServices: { value: [named('csi', spec ? { spec } : {})] },
    daemonSets: { value: [workload('logs', { template: { spec: { nodeSelector: { [key]: 'true' } } } })] },
  });

  test.each<[string, object?]>([
    ['service.rollcall.dev/csi'],
    ['example.com/csi', { publish: { label: 'example.com/csi' } }],
    ['gitpod.io/ws-daemon_ready_ns_gitpod'],
  ])('that selects nodes by %s is named', async (key, spec) => {
    const [finding] = await resultOf(daemonSetsSelect, selecting(key, spec));
    expect(finding).toContain(`warn: The DaemonSet rollcall/logs selects nodes by ${key}: its pods are deleted`);
  });

  test('that selects nodes by an affinity is named as well', async () => {
    const terms = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'service.rollcall.dev/csi', operator: 'Exists' }] }],
    };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    const daemonSets = { value: [workload('logs', { template: { spec: { affinity } } })] };
    const found = await resultOf(daemonSetsSelect, { ...selecting(''), daemonSets });
    expect(found[0]).toContain('selects nodes by service.rollcall.dev/csi');
  });

  test.each<[string, object?]>([
    ['kubernetes.io/os'],
    ['service.rollcall.dev/csi', { publish: { taint: { key: 'readiness.k8s.io/csi', effect: 'NoSchedule' } } }],
  ])('may select nodes by %s, which no service publishes', async (key, spec) => {
    const well = 'no DaemonSet selects nodes by a label of a service';
    expect(await resultOf(daemonSetsSelect, selecting(key, spec))).toBe(well);
  });
});

describe('the startup gate', () => {
  const gated = (tolerations: object[], isOn = true): Partial<Evidence> => ({
    config: { value: { startupGateDaemonSets: isOn } },
    daemonSets: { value: [workload('logs', { template: { spec: { tolerations } } })] },
  });

  test('names DaemonSets that do not tolerate its taint, which it does not wait for', async () => {
    const [finding, cure] = await resultOf(
      daemonSetsTolerateGate,
      gated([{ key: 'example.com/other', operator: 'Exists' }]),
    );
    expect(finding).toBe('warn: The startup gate does not wait for 1 DaemonSet (TaintNotTolerated): rollcall/logs');
    expect(cure).toContain(
      'let their pods tolerate startup-taint.cluster-autoscaler.kubernetes.io/rollcall:NoSchedule',
    );
  });

  test('says that all do, and nothing where it does not wait for DaemonSets', async () => {
    const well = 'every DaemonSet tolerates the startup taint';
    expect(await resultOf(daemonSetsTolerateGate, gated([{ operator: 'Exists' }]))).toBe(well);
    expect(await resultOf(daemonSetsTolerateGate, gated([], false))).toEqual([]);
  });
});

describe('labels of a pool', () => {
  const inNamespace = (namespace: string, config: object = {}): Partial<Evidence> => ({
    config: { value: { ...config } },
    nodePoolLabels: { value: [{ metadata: { name: 'gold', namespace } }] },
  });

  test('in the namespace of rollcall, or in the one that is set, are watched', async () => {
    expect(await resultOf(poolObjectsWatched, inNamespace('rollcall'))).toContain('are in rollcall');
    expect(await resultOf(poolObjectsWatched, inNamespace('pools', { poolNamespace: 'pools' }))).toContain('in pools');
  });

  test('in another namespace are named', async () => {
    expect(await resultOf(poolObjectsWatched, inNamespace('default'))).toEqual([
      'fail: The NodePoolLabels default/gold has no effect: rollcall watches those in rollcall alone',
      'create it in rollcall, or set coordinator.config.poolNamespace',
    ]);
  });
});

describe('a NodePool of Karpenter', () => {
  const of = (expireAfter: string, holds = 1): Partial<Evidence> => ({
    nodeHolds: { value: holds > 0 ? [named('ci')] : [] },
    karpenterPools: { value: [named('default', { spec: { template: { spec: { expireAfter } } } })] },
  });

  test('with an expireAfter is named beside a NodeHold', async () => {
    expect(await resultOf(holdsAndExpiry, of('720h'))).toEqual([
      'warn: 1 NodePool of Karpenter has an expireAfter, which removes held nodes as well: default',
      expect.stringContaining('expireAfter to Never'),
    ]);
  });

  test('may expire without holds, and holds are kept without expiry', async () => {
    expect(await resultOf(holdsAndExpiry, of('720h', 0))).toContain('removes no held node');
    expect(await resultOf(holdsAndExpiry, of('Never'))).toContain('removes no held node');
  });
});
