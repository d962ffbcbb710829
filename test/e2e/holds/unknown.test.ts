import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNamespace, createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { createWorkspace, installWorkspaceCrd, setWorkspaceNode } from '../../control-plane/workspaces.ts';
import { applyCrd } from '../services/node-services.ts';
import { HoldStage, KARPENTERS } from './hold-stage.ts';

let stage: HoldStage;
beforeAll(async () => {
  stage = await HoldStage.start({ crd: false });
  await stage.whileDown(() => installWorkspaceCrd(stage.api));
});
afterAll(() => stage?.stop());

const ROLES = '/apis/rbac.authorization.k8s.io/v1';
type Rule = { apiGroups?: string[]; resources: string[]; verbs?: string[] };

/** What the coordinator may do with pods, from now on: those of all namespaces, or of these. */
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

test('without the CRD, workspaces keep their nodes, those of Karpenter too, and it is found when it comes', async () => {
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

describe('a NodeHold whose pods may not be watched', () => {
  test('says so, and no node is let go of until they may; what is seen of others counts', async () => {
    await createNamespace(stage.api, 'secret');
    const [left, other, hidden] = [await stage.node(), await stage.node(), await stage.node()];
    const pod = await stage.pod(left);
    await stage.until(left, 'true');
    await stage.whileDown(() => allowPods(['default', 'rollcall', 'batch']));
    await createPod(stage.api, { namespace: 'secret', name: 'hidden', nodeName: hidden, labels: { keep: 'true' } });
    await stage.hold('secret', { keep: 'true' }, 'secret');
    const isRefused = async () => (await stage.accepted('secret')) === 'False NotPermitted';
    await waitFor('the refusal', isRefused, { timeoutMs: 30_000 });
    expect(await stage.accepted('batch')).toBe('True Accepted');
    await stage.pod(other);
    await stage.until(other, 'true');
    await stage.remove(pod);
    const held = async () => {
      const { keys } = await (await stage.rig.leader()).explain(left);
      return keys.some(({ stance, reason }) => stance === 'hold' && reason.includes('the NodeHold secret'));
    };
    await waitFor('the node to be held', held);
    const events = await stage.api.list<KubeObject & { reason: string }>('/api/v1/namespaces/default/events');
    expect(events.map(({ reason }) => reason)).toContain('NotPermitted');

    await allowPods('all');
    // What was refused is tried again after 30 s.
    await stage.until(hidden, 'true', undefined, 60_000);
    await stage.until(left, undefined);
    const isAccepted = async () => (await stage.accepted('secret')) === 'True Accepted';
    await waitFor('it to be accepted', isAccepted, { timeoutMs: 30_000 });
  }, 180_000);
});
