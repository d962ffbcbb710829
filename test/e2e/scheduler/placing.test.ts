import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createNode, type PodObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import { ask } from './ask.ts';
import { SchedulerStage, WORKSPACE_NODE } from './scheduler-stage.ts';

// A real kube-scheduler, which asks a real coordinator, with the configuration in deploy/scheduler.

let stage: SchedulerStage;
beforeAll(async () => {
  stage = await SchedulerStage.start({ nodes: 2, clockSpeed: 4 });
  // One more for workspaces, where nothing runs that they need, and one that is not for them.
  await createNode(stage.api, 'bare', { labels: WORKSPACE_NODE });
  await createNode(stage.api, 'plain', {});
});
afterEach(() => stage?.clear());
afterAll(() => stage?.stop());

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test('workspaces go only to nodes of their kind where both services are up', async () => {
  const pods = names('ws', 8);
  await Promise.all(pods.map((name) => stage.workspace(name)));
  for (const pod of pods) expect(await stage.nodeOf(pod)).toMatch(/^node-/);
});

test('other pods go anywhere, with either scheduler', async () => {
  await stage.pod('on-plain', {}, { nodeSelector: { 'kubernetes.io/hostname': 'plain' } });
  const spec = { nodeSelector: { 'kubernetes.io/hostname': 'bare' }, schedulerName: 'gitpod-scheduler' };
  await stage.pod('on-bare', {}, spec);
  expect(await stage.nodeOf('on-plain')).toBe('plain');
  expect(await stage.nodeOf('on-bare')).toBe('bare');
});

test('a workspace that nothing is there for waits, and is told why', async () => {
  await stage.workspace('nowhere', {}, { nodeSelector: { 'kubernetes.io/hostname': 'bare' } });
  expect(await stage.untilRefused('nowhere')).toContain('ws-daemon and registry-facade are not ready on the node');
  await stage.workspace('not-there', {}, { nodeSelector: { 'kubernetes.io/hostname': 'plain' } });
  expect(await stage.untilRefused('not-there')).toContain('the node is not for regular workspaces');
});

async function knowsDead(node: string): Promise<boolean> {
  const { services } = await (await stage.rig.leader()).explain(node);
  return services.find(({ name }) => name === 'ws-daemon')?.state === 'not-ready';
}

describe('while the label of a service that has died is still there', () => {
  // An admission policy forbids its removal; otherwise it would be gone after some 20 ms.
  const policy = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  beforeAll(async () => {
    const metadata = { name: 'keep-labels' };
    const expression = `'${WS_DAEMON_READY}' in object.metadata.labels || !('${WS_DAEMON_READY}' in oldObject.metadata.labels)`;
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }];
    await stage.api.post(policy, {
      metadata,
      spec: { matchConstraints: { resourceRules }, validations: [{ expression }] },
    });
    const spec = { policyName: 'keep-labels', validationActions: ['Deny'] };
    await stage.api.post(`${policy.replace('policies', 'policybindings')}`, { metadata, spec });
    const node = stage.rig.node(0).name;
    const removal = { metadata: { labels: { [WS_DAEMON_READY]: null } } };
    const isForbidden = () =>
      stage.api.patch(`/api/v1/nodes/${node}?dryRun=All`, removal).then(
        () => false,
        () => true,
      );
    await waitFor('the policy', isForbidden);
  });
  afterAll(async () => {
    await stage.api.delete(`${policy.replace('policies', 'policybindings')}/keep-labels`);
    await stage.api.delete(`${policy}/keep-labels`);
  });

  test('no workspace goes there, and one that waited for it goes as soon as the service is back', async () => {
    const [dead, alive] = [stage.rig.node(0), stage.rig.node(1)];
    await dead.kill('ws-daemon');
    await waitFor('the coordinator to know', () => knowsDead(dead.name));
    expect(stage.rig.history.labels(dead.name)[WS_DAEMON_READY]).toBe('true');
    const pods = names('late', 8);
    await Promise.all(pods.map((name) => stage.workspace(name)));
    for (const pod of pods) expect(await stage.nodeOf(pod)).toBe(alive.name);

    await stage.workspace('waits', {}, { nodeSelector: { 'kubernetes.io/hostname': dead.name } });
    await stage.untilRefused('waits');
    const fromMs = performance.now();
    await dead.revive('ws-daemon');
    // Nothing about the label changes: the Node is made to change for kube-scheduler to try again.
    expect(await stage.nodeOf('waits')).toBe(dead.name);
    expect(performance.now() - fromMs).toBeLessThan(10_000);
    const { annotations = {} } = (await stage.api.get(`/api/v1/nodes/${dead.name}`)).metadata;
    expect(annotations['rollcall.dev/scheduling-hint']).toMatch(/^\d{4}-/);
  });

  test('one that waited goes as well when another coordinator leads by then', async () => {
    const dead = stage.rig.node(0);
    await dead.kill('ws-daemon');
    await waitFor('the coordinator to know', () => knowsDead(dead.name));
    await stage.workspace('outlives', {}, { nodeSelector: { 'kubernetes.io/hostname': dead.name } });
    await stage.untilRefused('outlives');
    await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGKILL');
    await stage.rig.addCoordinator();
    await waitFor('the other to know', () => knowsDead(dead.name), { timeoutMs: 30_000 });
    await dead.revive('ws-daemon');
    expect(await stage.nodeOf('outlives', 60_000)).toBe(dead.name);
  });
});

test('a workspace that waits for a service goes as soon as it is ready', async () => {
  for (const node of stage.rig.nodes) await node.kill('registry-facade');
  for (const { name } of stage.rig.nodes) {
    await stage.rig.history.until(name, stage.rig.readyLabel('registry-facade'), undefined);
  }
  await stage.workspace('early');
  await stage.untilRefused('early');
  const fromMs = performance.now();
  await stage.rig.node(0).revive('registry-facade');
  expect(await stage.nodeOf('early')).toBe(stage.rig.node(0).name);
  expect(performance.now() - fromMs).toBeLessThan(10_000);
  await stage.rig.node(1).revive('registry-facade');
  await stage.rig.allReady();
});

test('explain says for a pod what speaks against each node, and for it', async () => {
  await stage.workspace('asks', {}, { nodeSelector: { 'kubernetes.io/hostname': 'bare' } });
  const leader = await stage.rig.leader();
  type Explained = {
    nodes: { name: string; refusals: { rule: string }[]; terms: { term: string }[]; score: number }[];
  };
  const explained = await leader.console<Explained>('/v1/schedule?pod=default/asks');
  const node = (name: string) => explained?.nodes.find((each) => each.name === name);
  expect(node('bare')?.refusals.map(({ rule }) => rule)).toEqual(['services']);
  expect(node('plain')?.refusals.map(({ rule }) => rule)).toContain('kind');
  expect(node(stage.rig.node(0).name)?.refusals).toEqual([]);
  expect(node(stage.rig.node(0).name)?.terms.map(({ term }) => term)).toContain('density');
  expect(await leader.console('/v1/schedule?pod=default/no-such-pod')).toBeUndefined();
});

test('questions about unknown nodes, and nonsense, do no harm', async () => {
  const pod: Partial<PodObject> = { metadata: { name: 'x', namespace: 'default', labels: { component: 'workspace' } } };
  const known = stage.rig.node(0).name;
  const answer = await ask(stage.port, 'filter', { Pod: pod, Nodes: null, NodeNames: [known, 'never-heard-of'] });
  expect(JSON.parse(answer.body)).toEqual({
    Nodes: null,
    NodeNames: [known],
    FailedNodes: null,
    FailedAndUnresolvableNodes: { 'never-heard-of': expect.stringContaining('does not know this node') },
    Error: '',
  });
  for (const body of ['', '{', 'null', '[]', '{"Pod":7}', '{"NodeNames":{}}', '"x"']) {
    const { status } = await ask(stage.port, 'filter', body);
    expect(status === 200 || (status >= 400 && status < 500)).toBe(true);
  }
  expect((await httpGet(`http://127.0.0.1:${stage.port}/status`)).status).toBe(200);
  await stage.workspace('after');
  expect(await stage.nodeOf('after')).toMatch(/^node-/);
});
