import { FIELD_MANAGER, SCALE_DOWN_DISABLED, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { installWorkspaceCrd, removeWorkspaceCrd } from '../../control-plane/workspaces.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { openTcpLink } from '../kube/tcp-link.ts';
import { ScaleDownStage } from './scale-down-stage.ts';

const CLOCK_SPEED = 4;

let stage: ScaleDownStage;
let agentNode: SimulatedNode;
beforeAll(async () => {
  stage = await ScaleDownStage.start({ crd: false, clockSpeed: CLOCK_SPEED });
  agentNode = await stage.rig.addNode();
});
afterAll(() => stage?.stop());

const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-coordinator';
type Role = KubeObject & { rules: { resources: string[] }[] };

/** Takes the right to see Workspaces away, waits until that holds, and returns what gives it back. */
async function forbidWorkspaces(): Promise<() => Promise<void>> {
  const { rules } = await stage.api.get<Role>(role);
  const allow = (some: Role['rules']) => stage.api.patch(role, { rules: some });
  await allow(rules.filter(({ resources }) => !resources.includes('workspaces')));
  const spec = {
    user: 'system:serviceaccount:rollcall:rollcall-coordinator',
    resourceAttributes: { verb: 'list', group: 'workspace.gitpod.io', resource: 'workspaces', namespace: 'default' },
  };
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  await waitFor('the right to be gone', async () => {
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const { status } = await stage.api.post<KubeObject & { status: { allowed: boolean } }>(path, body);
    return !status.allowed;
  });
  return async () => {
    await allow(rules);
  };
}

/** The service of the node with an agent is killed and comes back, and its label follows. */
async function readinessWorks(): Promise<void> {
  await stage.rig.history.until(agentNode.name, WS_DAEMON_READY, 'true');
  await agentNode.kill('ws-daemon');
  await stage.rig.history.until(agentNode.name, WS_DAEMON_READY, undefined);
  await agentNode.revive('ws-daemon');
  await stage.rig.history.until(agentNode.name, WS_DAEMON_READY, 'true');
}

/** The annotation as rollcall itself writes it, without a coordinator. */
async function applyAsRollcall(node: string): Promise<void> {
  const metadata = { name: node, annotations: { [SCALE_DOWN_DISABLED]: 'true' } };
  const path = `/api/v1/nodes/${node}?fieldManager=${FIELD_MANAGER}`;
  await stage.api.patch(path, { apiVersion: 'v1', kind: 'Node', metadata }, 'application/apply-patch+yaml');
}

describe('without the CRD', () => {
  test('readiness labels work, a hold counts, and what is stale is let go of, as there are no workspaces', async () => {
    const [held, stale] = [await stage.node({ [SCALE_DOWN_HOLD]: 'true' }), await stage.node()];
    await applyAsRollcall(stale);
    await stage.until(held, 'true');
    await stage.until(stale, undefined);
    await readinessWorks();
    expect((await (await stage.rig.leader()).explain(held)).workspaces).toEqual([]);
  });

  test('it is found within 30 s of its coming, and its removal removes all workspaces', async () => {
    const [node, held] = [await stage.node(), await stage.node({ [SCALE_DOWN_HOLD]: 'true' })];
    await installWorkspaceCrd(stage.api);
    for (const each of [node, held]) await stage.workspace(each);
    await stage.until(node, 'true', 30_000 / CLOCK_SPEED);
    expect((await (await stage.rig.leader()).explain(held)).workspaces).toHaveLength(1);
    await removeWorkspaceCrd(stage.api);
    await stage.until(node, undefined);
    await readinessWorks();
    expect(stage.valuesOf(held)).toEqual(['true']);
  });
});

describe('with the right to see workspaces refused', () => {
  let allow: () => Promise<void>;
  const nodes = { emptied: '', joined: '', held: '', refused: '', foreign: '' };
  beforeAll(async () => {
    await stage.whileDown(() => installWorkspaceCrd(stage.api));
    for (const key of Object.keys(nodes) as (keyof typeof nodes)[]) nodes[key] = await stage.node();
    await stage.annotate(nodes.refused, `${SCALE_DOWN_DISABLED}=false`);
    await stage.annotate(nodes.foreign, `${SCALE_DOWN_DISABLED}=true`);
    const workspace = await stage.workspace(nodes.emptied);
    await stage.until(nodes.emptied, 'true');
    await stage.whileDown(async () => {
      allow = await forbidWorkspaces();
      await stage.delete(workspace);
      await stage.workspace(nodes.joined);
    });
  });

  test('annotations stay as they are, readiness labels work, and a hold counts all the same', async () => {
    await stage.annotate(nodes.held, `${SCALE_DOWN_HOLD}=true`);
    await stage.until(nodes.held, 'true');
    await stage.annotate(nodes.held, `${SCALE_DOWN_HOLD}-`);
    await readinessWorks();
    expect(stage.valuesOf(nodes.emptied)).toEqual(['true']);
    expect(stage.valuesOf(nodes.joined)).toEqual([]);
    expect(stage.valuesOf(nodes.held)).toEqual(['true']);
    expect(stage.valuesOf(nodes.refused)).toEqual(['false']);
    const { keys, workspaces } = await (await stage.rig.leader()).explain(nodes.emptied);
    const key = keys.find((each) => each.key === SCALE_DOWN_DISABLED);
    expect(key).toMatchObject({ stance: 'keep', onNode: 'true', reason: 'the Workspaces have not been listed yet' });
    expect(workspaces).toBeUndefined();
    const [coordinator] = stage.rig.coordinators;
    expect((await coordinator?.get('/readyz'))?.status).toBe(200);
    const said = coordinator?.logs.filter(({ hint }) => String(hint).includes('workspaces'));
    expect(said).toHaveLength(1);
  });

  test('all is made right when it is given', async () => {
    await allow();
    for (const node of [nodes.emptied, nodes.held]) await stage.until(node, undefined, 15_000);
    await stage.until(nodes.joined, 'true');
    await stage.settled();
    expect(stage.valuesOf(nodes.refused)).toEqual(['false']);
    expect(stage.valuesOf(nodes.foreign)).toEqual(['true']);
  });
});

test('a leader that may not list the workspaces uses nothing that it saw before', async () => {
  const [node, marker] = [await stage.node(), await stage.node()];
  const leader = await stage.rig.leader();
  const link = await openTcpLink(stage.controlPlane.url);
  try {
    const standby = await stage.rig.addCoordinator([`--master=${link.url}`]);
    await standby.ready();
    const allow = await forbidWorkspaces();
    // A watch that is open stays so: the leader's goes on, and the standby's has to be begun anew.
    link.cut();
    const refused = () => standby.logs.some(({ hint }) => String(hint).includes('workspaces'));
    await waitFor('the refusal', refused);
    const workspace = await stage.workspace(node);
    await stage.until(node, 'true');
    await stage.rig.endCoordinator(leader, 'SIGTERM');
    expect(await stage.rig.leader()).toBe(standby);
    await stage.annotate(marker, `${SCALE_DOWN_HOLD}=true`);
    await stage.until(marker, 'true');
    expect(stage.valuesOf(node)).toEqual(['true']);
    await allow();
    await stage.delete(workspace);
    await stage.until(node, undefined, 15_000);
  } finally {
    await link.close();
  }
});
