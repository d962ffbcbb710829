import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { REGISTRY_FACADE_READY, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { FACADE_TAINT, isOpen, taintKeys, WORKSPACE_NODE, WS_TAINT } from '../gitpod/node-states.ts';
import { MigrationStage } from './migration-stage.ts';

// The steps of packages/docs/how-to/install.md beside Gitpod's node-labeler. What is taken over, and how, is tested in
// ../gitpod/take-over.test.ts; here it is that rollcall can look on first, behind the fence, with the chart's own rights.

const LABELS = { [WS_DAEMON_READY]: 'true', [REGISTRY_FACADE_READY]: 'true' };
const SERVICES = ['ws-daemon', 'registry-facade'] as const;
const MANAGER = 'node-labeler';

const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments/node-labeler';
const DEFAULT = { name: MANAGER, namespace: 'default' };
const ROLE = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: MANAGER };
const SELECTOR = { matchLabels: { app: MANAGER } };
/** What Gitpod's installer creates for it; no controller runs here that would start pods. */
const INSTALLED = [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: DEFAULT,
    spec: {
      selector: SELECTOR,
      template: { metadata: { labels: SELECTOR.matchLabels }, spec: { containers: [{ name: MANAGER, image: 'a' }] } },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: DEFAULT,
    spec: { ports: [{ port: 9500 }], selector: SELECTOR.matchLabels },
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { ...DEFAULT, name: `${MANAGER}-pdb` },
    spec: { maxUnavailable: 1, selector: SELECTOR },
  },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: DEFAULT },
  { apiVersion: `${ROLE.apiGroup}/v1`, kind: 'ClusterRole', metadata: { name: MANAGER }, rules: [] },
  { apiVersion: `${ROLE.apiGroup}/v1`, kind: 'ClusterRoleBinding', metadata: { name: MANAGER }, roleRef: ROLE },
];

/** Whole Nodes by PUT, as it writes. */
function leave(stage: MigrationStage, node: string, taints: readonly string[]): Promise<void> {
  return stage.put(node, MANAGER, (object: NodeObject) => {
    object.metadata.labels = { ...object.metadata.labels, ...LABELS };
    object.spec.taints = taints.map((key) => ({ key, value: 'true', effect: 'NoSchedule' as const }));
  });
}

describe.each([
  ['labels', { readinessGate: 'label' }],
  ['taints', { readinessGate: 'taint' }],
] as const)('a version that writes %s', (era, config) => {
  const isTaints = era === 'taints';
  let stage: MigrationStage;
  let ready: SimulatedNode;
  /** Its service died without its pod: the predecessor has not looked again. */
  let stale: SimulatedNode;
  beforeAll(async () => {
    stage = await MigrationStage.start({ gitpod: { enabled: true } });
    await stage.lookOn(config);
    ready = await stage.rig.addNode({ labels: WORKSPACE_NODE });
    stale = await stage.rig.addNode({ labels: WORKSPACE_NODE });
    await stale.kill('registry-facade');
    for (const { name } of [ready, stale]) await leave(stage, name, []);
    for (const object of INSTALLED) await stage.kubectl(['create', '-f', '-'], JSON.stringify(object));
  });
  afterAll(() => stage?.stop());

  test('is looked at, and only what it has wrong is planned', async () => {
    const told = async () => (await (await stage.rig.leader()).explain(stale.name)).services;
    await waitFor('the agents to be heard', async () => (await told()).some(({ state }) => state === 'not-ready'));
    await waitFor('the plan', async () => (await stage.planned()).includes(stale.name));
    for (const { name } of [ready, stale]) expect(await stage.managers(name)).not.toContain('rollcall');
    const { body } = await (await stage.rig.leader()).get('/metrics');
    expect(body).toMatch(/rollcall_coordinator_patches_total\{[^}]*dry-run/);
    expect(body).not.toMatch(/rollcall_coordinator_patches_total\{[^}]*applied[^}]*\} [1-9]/);
  });

  test('is replaced without a flap, and what it has wrong goes', async () => {
    const since = stage.states.mark(ready.name);
    const sinceStale = stage.states.mark(stale.name);
    await stage.follow('kubectl -n default scale deployment/node-labeler --replicas=0');
    expect(await stage.api.get(DEPLOYMENT)).toMatchObject({ spec: { replicas: 0 } });
    await stage.takeOver();
    await stage.states.until(stale.name, 'to be closed', (state) => !isOpen(state, 'registry-facade'));
    await expect.poll(() => stage.planned(), { timeout: 20_000 }).toEqual([]);
    await expect.poll(() => stage.managers(ready.name), { timeout: 10_000 }).toContain('rollcall');
    expect(since().every((state) => SERVICES.every((service) => isOpen(state, service)))).toBe(true);
    expect(sinceStale().every((state) => isOpen(state, 'ws-daemon'))).toBe(true);
    const state = stage.states.last(stale.name);
    expect(state && taintKeys(state)).toEqual(isTaints ? [FACADE_TAINT] : []);
    expect(REGISTRY_FACADE_READY in (state?.labels ?? {})).toBe(isTaints);
  });

  test('leaves nothing that stays when a service goes', async () => {
    await ready.kill('ws-daemon');
    await stage.states.until(ready.name, 'to be closed', (state) => !isOpen(state, 'ws-daemon'));
    const state = stage.states.last(ready.name);
    expect(state && taintKeys(state)).toEqual(isTaints ? [WS_TAINT] : []);
    expect(WS_DAEMON_READY in (state?.labels ?? {})).toBe(isTaints);
  });

  test('is removed, and nothing on the nodes goes with it', async () => {
    const since = stage.states.mark(stale.name);
    await stage.follow(
      'kubectl -n default delete deployment/node-labeler service/node-labeler poddisruptionbudget/node-labeler-pdb serviceaccount/node-labeler',
    );
    await stage.follow('kubectl delete clusterrolebinding/node-labeler clusterrole/node-labeler');
    const objects = 'deployment,service,poddisruptionbudget,serviceaccount,clusterrole,clusterrolebinding';
    expect(await stage.kubectl(['get', '-A', '-o', 'name', objects])).not.toContain(MANAGER);
    expect(new Set(since().map(({ labels }) => JSON.stringify(labels))).size).toBe(1);
  });
});
