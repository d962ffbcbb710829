import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, ApiError, type KubeObject } from './api-client.ts';
import {
  applyManifest,
  createNamespace,
  createNode,
  createPod,
  type NodeObject,
  requestToken,
  setNodeReady,
  setPodReady,
} from './cluster.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import {
  agentServiceAccount,
  type InstalledAccess,
  installAccess,
  ownNamespace,
  reportAudience,
  requestAgentToken,
} from './rbac.ts';
import { waitFor } from './wait-for.ts';
import { type WatchEvent, watch, watchNodes } from './watch.ts';

let controlPlane: ControlPlane;
let api: ApiClient;
let access: InstalledAccess;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  api = controlPlane.api;
  access = await installAccess(controlPlane);
});
afterAll(() => controlPlane.stop());

function statusOf(request: Promise<unknown>): Promise<number> {
  return request.then(
    () => 200,
    (error: unknown) => (error instanceof ApiError ? error.status : Promise.reject(error)),
  );
}

describe('objects', () => {
  it('makes a node that looks ready, with just the taints that it was given', async () => {
    const plain = await createNode(api, 'plain', {
      labels: { pool: 'a' },
      podCIDR: '10.1.0.0/24',
      internalIP: '10.9.9.9',
    });
    expect(plain.spec.taints).toBeUndefined();
    expect(plain.spec.podCIDR).toBe('10.1.0.0/24');
    expect(plain.metadata.labels).toMatchObject({ pool: 'a' });
    expect(plain.status.addresses).toContainEqual({ type: 'InternalIP', address: '10.9.9.9' });
    expect(plain.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    const taint = { key: 'gated', value: 'true', effect: 'NoSchedule' as const };
    expect((await createNode(api, 'tainted', { taints: [taint] })).spec.taints).toEqual([taint]);
    const down = await createNode(api, 'down', { ready: false });
    expect(down.spec.taints).toContainEqual({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' });
    expect(down.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }));
    const up = await setNodeReady(api, 'down', true);
    expect(up.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    expect(up.status.addresses).toEqual(down.status.addresses);
  });

  it('makes a pod whose readiness and addresses are set', async () => {
    await createNamespace(api, 'pods');
    const pod = await createPod(api, {
      namespace: 'pods',
      name: 'p',
      nodeName: 'plain',
      labels: { component: 'ws-daemon' },
      ready: true,
      podIP: '127.0.0.7',
      hostIP: '127.0.0.8',
    });
    expect(pod.status).toMatchObject({ phase: 'Running', podIP: '127.0.0.7', hostIP: '127.0.0.8' });
    expect(pod.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    const after = await setPodReady(api, 'pods', 'p', false);
    expect(after.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }));
    expect(after.status).toMatchObject({ phase: 'Running', podIP: '127.0.0.7' });
    await api.delete('/api/v1/namespaces/pods/pods/p', { gracePeriodSeconds: 0 });
    expect(await statusOf(api.get('/api/v1/namespaces/pods/pods/p'))).toBe(404);
  });

  it('applies manifests of several documents', async () => {
    const document = (name: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\n`;
    expect(await applyManifest(controlPlane, `${document('one')}---\n${document('two')}`)).toContain('configmap/two');
    await expect(applyManifest(controlPlane, 'kind: Nonsense')).rejects.toThrow('kubectl apply');
  });

  it('raises errors that carry status and reason', async () => {
    await expect(createNamespace(api, 'default')).rejects.toMatchObject({ status: 409, reason: 'AlreadyExists' });
  });
});

describe('tokens', () => {
  it('say through TokenReview on which node the pod is that they are bound to', async () => {
    const node = await createNode(api, 'home');
    const pod = await createPod(api, {
      namespace: ownNamespace,
      name: 'agent',
      nodeName: 'home',
      serviceAccount: agentServiceAccount,
    });
    const token = await requestAgentToken(api, { name: 'agent', uid: pod.metadata.uid ?? '' });
    const coordinator = await controlPlane.clientFor(access.coordinatorToken);
    const review = await coordinator.post<
      KubeObject & { status: { authenticated: boolean; user: Record<string, unknown> } }
    >('/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [reportAudience] },
    });
    expect(review.status.authenticated).toBe(true);
    expect(review.status.user['username']).toBe('system:serviceaccount:rollcall:rollcall-agent');
    expect(review.status.user['extra']).toMatchObject({
      'authentication.kubernetes.io/node-name': ['home'],
      'authentication.kubernetes.io/node-uid': [node.metadata.uid],
      'authentication.kubernetes.io/pod-name': ['agent'],
    });
    coordinator.close();
  });

  it('of an agent give no right at all', async () => {
    const token = await requestToken(api, { namespace: ownNamespace, serviceAccount: agentServiceAccount });
    const agent = await controlPlane.clientFor(token);
    expect(await statusOf(agent.get('/api/v1/nodes'))).toBe(403);
    agent.close();
  });

  it('are not needed by users with a client certificate', async () => {
    const client = await controlPlane.clientFor({ user: 'somebody', groups: ['system:masters'] });
    expect((await client.list('/api/v1/namespaces')).length).toBeGreaterThan(3);
    client.close();
    const nobody = await controlPlane.clientFor({ user: 'nobody' });
    expect(await statusOf(nobody.list('/api/v1/namespaces'))).toBe(403);
    nobody.close();
  });
});

describe('the rights of the coordinator', () => {
  it('are enough for its work and for no more', async () => {
    const client = await controlPlane.clientFor(access.coordinatorToken);
    const own = `/api/v1/namespaces/${ownNamespace}`;
    const apply = (path: string, kind: string, name: string, apiVersion = 'v1') =>
      statusOf(
        client.patch(
          `${path}/${name}?fieldManager=t`,
          { apiVersion, kind, metadata: { name } },
          'application/apply-patch+yaml',
        ),
      );
    await createNode(api, 'ruled');
    expect(await statusOf(client.patch('/api/v1/nodes/ruled', { metadata: { labels: { a: 'b' } } }))).toBe(200);
    // The role permits every change of the status; the fence limits it to the coordinator's own conditions.
    expect(await statusOf(client.patch('/api/v1/nodes/ruled/status', { status: {} }))).toBe(200);
    expect(await statusOf(client.list('/api/v1/pods'))).toBe(200);
    const replace = async (path: string) => statusOf(client.text('PUT', path, JSON.stringify(await client.get(path))));
    for (const path of [`${own}/secrets/rollcall-coordinator-tls`, `${own}/configmaps/rollcall-coordinator-ca`]) {
      expect(await replace(path)).toBe(200);
      await api.delete(path);
    }
    expect(await apply(`${own}/secrets`, 'Secret', 'rollcall-coordinator-tls')).toBe(403);
    expect(await apply(`${own}/configmaps`, 'ConfigMap', 'rollcall-coordinator-ca')).toBe(403);
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${ownNamespace}/leases`;
    expect(await apply(leases, 'Lease', 'rollcall-coordinator', 'coordination.k8s.io/v1')).toBe(200);
    expect(await statusOf(client.list(`${leases}?fieldSelector=metadata.name%3Drollcall-coordinator`))).toBe(200);

    expect(await statusOf(client.delete('/api/v1/nodes/ruled'))).toBe(403);
    expect(await statusOf(client.list(`${own}/secrets`))).toBe(403);
    expect(await apply(`${own}/secrets`, 'Secret', 'another')).toBe(403);
    expect(await apply('/api/v1/namespaces/default/configmaps', 'ConfigMap', 'rollcall-coordinator-ca')).toBe(403);
    client.close();
  });

  it('are in the kubeconfig that is written for it', async () => {
    const args = ['--kubeconfig', access.coordinatorKubeconfig, 'auth', 'whoami'];
    const whoami = await controlPlane.kubectl(args);
    expect(whoami).toContain('system:serviceaccount:rollcall:rollcall-coordinator');
  });
});

describe('watch', () => {
  it('shows what is there, what changes and what goes, also over a restart of the API server', async () => {
    const seen: string[] = [];
    const nodes = new Map<string, NodeObject>();
    const stop = watchNodes(api, (event: WatchEvent) => {
      seen.push(`${event.type} ${event.object.metadata.name}`);
      nodes.set(event.object.metadata.name, event.object as NodeObject);
    });
    await createNode(api, 'watched', { labels: { step: '1' } });
    await waitFor('the node to be seen', () => nodes.get('watched')?.metadata.labels?.['step'] === '1');
    await controlPlane.restartApiServer();
    await api.patch('/api/v1/nodes/watched', { metadata: { labels: { step: '2' } } });
    await waitFor('the change to be seen', () => nodes.get('watched')?.metadata.labels?.['step'] === '2');
    await api.delete('/api/v1/nodes/watched');
    await waitFor('the end to be seen', () => seen.includes('DELETED watched'));
    stop();
    const before = seen.length;
    await createNode(api, 'unwatched');
    const others: string[] = [];
    const stopOther = watch(api, '/api/v1/nodes', (event) => others.push(event.object.metadata.name));
    await waitFor('another watch to see the node', () => others.includes('unwatched'));
    stopOther();
    expect(seen).toHaveLength(before);
  });

  it('counts the requests that the API server answered', async () => {
    const filter = { verb: 'PATCH', resource: 'nodes', subresource: '' };
    await createNode(api, 'counted');
    const before = await controlPlane.requestTotals(filter);
    for (const step of ['1', '2', '3']) await api.patch('/api/v1/nodes/counted', { metadata: { labels: { step } } });
    expect(await controlPlane.requestTotals(filter)).toBe(before + 3);
    expect(await controlPlane.metrics()).toContain('# TYPE apiserver_request_total counter');
  });
});

describe('waitFor', () => {
  it('names what it waited for, and shows the last value or the last error', async () => {
    await expect(waitFor('rain', () => false, { timeoutMs: 30 })).rejects.toThrow(
      'waited 30 ms for rain; last value: false',
    );
    const failing = waitFor('sun', () => Promise.reject(new Error('clouds')), { timeoutMs: 30 });
    await expect(failing).rejects.toThrow('waited 30 ms for sun; last error: Error: clouds');
    expect(await waitFor('zero', () => 0)).toBe(0);
  });
});
