import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNamespace, createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { createWorkspace, installWorkspaceCrd, setWorkspaceNode } from '../../control-plane/workspaces.ts';
import { applyCrd } from '../services/node-services.ts';
import { HoldStage, KARPENTERS, NODE_HOLDS } from './hold-stage.ts';

let stage: HoldStage;
beforeAll(async () => {
  stage = await HoldStage.start({ crd: false, clockSpeed: 4 });
  await stage.whileDown(() => installWorkspaceCrd(stage.api));
});
afterAll(() => stage?.stop());

const ROLES = '/apis/rbac.authorization.k8s.io/v1';
type Rule = { apiGroups?: string[]; resources: string[]; verbs?: string[] };

/** Lets the coordinator watch pods in all namespaces, or only in these. */
async function allowPods(namespaces: 'all' | readonly string[]): Promise<void> {
  const path = `${ROLES}/clusterroles/rollcall-coordinator`;
  const { rules } = await stage.api.get<KubeObject & { rules: Rule[] }>(path);
  const others = rules.filter(({ resources }) => String(resources) !== 'pods');
  const pods = { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] };
  await stage.api.patch(path, { rules: namespaces === 'all' ? [...others, pods] : others });
  for (const namespace of namespaces === 'all' ? [] : namespaces) {
    const metadata = { name: 'pods', namespace };
    const subjects = [{ kind: 'ServiceAccount', name: 'rollcall-coordinator', namespace: 'rollcall' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'pods' };
    await stage.api.post(`${ROLES}/namespaces/${namespace}/roles`, { metadata, rules: [pods] });
    await stage.api.post(`${ROLES}/namespaces/${namespace}/rolebindings`, { metadata, subjects, roleRef });
  }
}

async function workspaceOn(node: string): Promise<void> {
  await createWorkspace(stage.api, { name: `on-${node}` });
  await setWorkspaceNode(stage.api, { name: `on-${node}` }, node);
}

test('without the CRD, workspaces keep their nodes, nodes of Karpenter too, and the CRD is found when it comes', async () => {
  const [node, karpenters, held] = [await stage.node(), await stage.node(KARPENTERS), await stage.node()];
  for (const each of [node, karpenters]) await workspaceOn(each);
  await stage.until(node, 'true');
  await stage.until(karpenters, 'true', 'true');
  await stage.api.delete(`/apis/workspace.gitpod.io/v1/namespaces/default/workspaces/on-${karpenters}`);
  await stage.until(karpenters, undefined);
  await applyCrd(stage.embedded.controlPlane, 'nodeholds');
  await stage.hold('batch');
  await stage.pod(held);
  // The API server is asked again after 30 s at most.
  await waitFor('the hold', async () => (await stage.annotations(held)).scaleDown === 'true', { timeoutMs: 50_000 });
});

test('--gitpod=false knows no workspaces, and NodeHolds as before', async () => {
  const [workspaces, pods] = [await stage.node(KARPENTERS), await stage.node(KARPENTERS)];
  await workspaceOn(workspaces);
  await stage.pod(pods);
  for (const each of [workspaces, pods]) await stage.until(each, 'true', 'true');
  await stage.whileDown(async () => {}, ['--gitpod=false']);
  await stage.until(workspaces, undefined);
  await stage.settled();
  expect(await stage.annotations(pods)).toEqual({ scaleDown: 'true', disrupt: 'true' });
  await stage.whileDown(async () => {});
  await stage.until(workspaces, 'true', 'true');
});

test('a NodeHold with a field of a later version keeps the nodes until it is understood again', async () => {
  const schema = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties';
  const patch = JSON.stringify([{ op: 'add', path: `${schema}/until`, value: { type: 'string' } }]);
  const [kept, spared] = [await stage.node(), await stage.node()];
  await stage.hold('later', { later: 'true' });
  const edit = (spec: object) => stage.api.patch(`${NODE_HOLDS}/later`, { spec });
  // The API server may still prune the field for a watch that was opened before.
  await stage.whileDown(async () => {
    await stage.embedded.controlPlane.kubectl(['patch', 'crd', 'nodeholds.rollcall.dev', '--type=json', '-p', patch]);
    const isServed = async () => {
      await edit({ until: 'noon' });
      const { spec } = await stage.api.get<KubeObject & { spec: { until?: string } }>(`${NODE_HOLDS}/later`);
      return spec.until === 'noon';
    };
    await waitFor('the field to be stored', isServed);
    await edit({ until: null });
  });
  const pod = await stage.pod(kept, { later: 'true' });
  await stage.until(kept, 'true');
  await edit({ until: 'noon' });
  const isRefused = async () => (await stage.inForce('later')) === 'False UnknownField';
  await waitFor('the refusal', isRefused, { timeoutMs: 30_000 });
  await stage.remove(pod);
  const reasonOn = async (node: string) => {
    const { keys } = await (await stage.rig.leader()).explain(node);
    return keys.find(({ key, stance }) => key === SCALE_DOWN_DISABLED && stance === 'keep')?.reason ?? '';
  };
  for (const node of [kept, spared]) {
    await waitFor('the reason', async () => (await reasonOn(node)).startsWith('the NodeHold later is not understood'));
  }
  expect(await stage.annotations(kept)).toMatchObject({ scaleDown: 'true' });
  expect(await stage.annotations(spared)).toMatchObject({ scaleDown: undefined });
  await edit({ until: null });
  await stage.until(kept, undefined);
  await stage.release('later');
});

describe('a NodeHold whose pods may not be watched', () => {
  test('reports this, and no node is released until they may; what is seen of others counts', async () => {
    await createNamespace(stage.api, 'secret');
    const [left, other, hidden] = [await stage.node(), await stage.node(), await stage.node()];
    const pod = await stage.pod(left);
    await stage.until(left, 'true');
    await stage.whileDown(() => allowPods(['default', 'rollcall', 'batch']));
    await createPod(stage.api, { namespace: 'secret', name: 'hidden', nodeName: hidden, labels: { keep: 'true' } });
    await stage.hold('secret', { keep: 'true' }, 'secret');
    const isRefused = async () => (await stage.inForce('secret')) === 'False NotPermitted';
    await waitFor('the refusal', isRefused, { timeoutMs: 30_000 });
    expect(await stage.inForce('batch')).toBe('True InForce');
    await stage.pod(other);
    await stage.until(other, 'true');
    await stage.remove(pod);
    const held = async () => {
      const { keys } = await (await stage.rig.leader()).explain(left);
      return keys.some(({ stance, reason }) => stance === 'keep' && reason.includes('the NodeHold secret'));
    };
    await waitFor('the node to be held', held);
    const events = await stage.api.list<KubeObject & { reason: string }>('/api/v1/namespaces/default/events');
    expect(events.map(({ reason }) => reason)).toContain('NotPermitted');

    await allowPods('all');
    // A refused watch is tried again after 30 s.
    await stage.until(hidden, 'true', undefined, 60_000);
    await stage.until(left, undefined);
    const isAccepted = async () => (await stage.inForce('secret')) === 'True InForce';
    await waitFor('it to be accepted', isAccepted, { timeoutMs: 30_000 });
  }, 180_000);
});
