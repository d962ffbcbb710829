import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@rollcall/common/clock.ts';
import { applyObject, getObject, isConflict, replaceObject } from '@rollcall/coordinator/kube/apply-object.ts';
import { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import { createKubeClient } from '@rollcall/coordinator/kube/https-client.ts';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import { reviewToken } from '@rollcall/coordinator/kube/token-review.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNode, createPod, requestToken } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { installAccess, ownNamespace, requestAgentToken } from '../../control-plane/rbac.ts';
import { type CountingClient, connect } from './rig.ts';

const limits = { timeoutMs: 10_000 };
const nodes = '/api/v1/nodes';

let controlPlane: ControlPlane;
let admin: CountingClient;
let coordinator: CountingClient;

beforeAll(async () => {
  controlPlane = await startControlPlane({ auditLog: true });
  const { coordinatorKubeconfig } = await installAccess(controlPlane);
  admin = connect(controlPlane);
  coordinator = connect(controlPlane, { kubeconfig: coordinatorKubeconfig });
});
afterAll(async () => {
  admin?.close();
  coordinator?.close();
  await controlPlane?.stop();
});

async function errorOf(promise: Promise<unknown>): Promise<Error & { code: string }> {
  return promise.then(
    () => Promise.reject(new Error('it succeeded')),
    (err) => err,
  );
}

/** The path of a kubeconfig like the admin's, changed. */
async function kubeconfigWith(name: string, change: Change): Promise<string> {
  const config = JSON.parse(await readFile(controlPlane.kubeconfig, 'utf8'));
  change(config);
  const path = join(controlPlane.dir, `${name}.kubeconfig`);
  await writeFile(path, JSON.stringify(config));
  return path;
}

async function clientWith(name: string, change: Change) {
  const access = fileAccess({ kubeconfig: await kubeconfigWith(name, change), master: '' });
  return createKubeClient(access, { userAgent: name, maxSockets: 2, clock: systemClock });
}
type Change = (config: { clusters: Entry[]; users: Entry[] }) => void;
type Entry = Record<'cluster' | 'user', Record<string, unknown>>;

async function whoIs(client: Pick<CountingClient, 'request'>): Promise<string | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const review = await client.request<{ status: { userInfo: { username: string } } }>({
    method: 'POST',
    path,
    body,
    ...limits,
  });
  return review.status.userInfo.username;
}

describe('errors of the API server', () => {
  it.each([
    ['404', { method: 'GET', path: `${nodes}/absent` }, 404, 'NotFound'],
    ['409', { method: 'POST', path: nodes, body: { metadata: { name: 'twice' } } }, 409, 'AlreadyExists'],
    ['422', { method: 'POST', path: nodes, body: { metadata: { name: 'Not A Name' } } }, 422, 'Invalid'],
    [
      '406',
      { method: 'GET', path: nodes, accept: 'application/json;as=Nonsense;g=meta.k8s.io;v=v1' },
      406,
      'NotAcceptable',
    ],
    ['404 of a group that is not served', { method: 'GET', path: '/apis/no.such.group/v1/things' }, 404, undefined],
  ] as const)('%s is a KubeStatusError with its details', async (_name, request, status, reason) => {
    await admin
      .request({ method: 'POST', path: nodes, body: { metadata: { name: 'twice' } }, ...limits })
      .catch(() => {});
    const error = (await errorOf(admin.request({ ...request, ...limits }))) as unknown as KubeStatusError;
    expect(error).toBeInstanceOf(KubeStatusError);
    expect(error).toMatchObject({ code: 'KUBE_REQUEST_FAILED', status });
    expect(error.details.reason).toBe(reason);
  });

  it('names every invalid field', async () => {
    const body = { metadata: { name: 'invalid', labels: { 'a b': 'x', c: 'y z' } } };
    const error = await errorOf(admin.request({ method: 'POST', path: nodes, body, ...limits }));
    const fields = (error as unknown as KubeStatusError).details.details?.causes?.map(({ field }) => field);
    expect(fields).toEqual(['metadata.labels', 'metadata.labels']);
  });

  it('403 and 401 are told apart', async () => {
    expect(await errorOf(coordinator.request({ method: 'GET', path: '/api/v1/secrets', ...limits }))).toMatchObject({
      status: 403,
    });
    const nobody = await clientWith('nobody', ({ users }) =>
      Object.assign(users[0] ?? {}, { user: { token: 'wrong' } }),
    );
    expect(await errorOf(nobody.request({ method: 'GET', path: nodes, ...limits }))).toMatchObject({ status: 401 });
    nobody.close();
  });
});

describe('reaching the API server', () => {
  it('sends its User-Agent', async () => {
    await admin.request({ method: 'GET', path: `${nodes}/user-agent`, ...limits }).catch(() => {});
    const log = await readFile(controlPlane.auditLogFile ?? '', 'utf8');
    const events = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { requestURI: string; userAgent: string });
    const agents = events
      .filter(({ requestURI }) => requestURI === `${nodes}/user-agent`)
      .map(({ userAgent }) => userAgent);
    expect(agents).toEqual(['rollcall-coordinator/test']);
  });

  it('is refused by a certificate of another authority', async () => {
    const stranger = await clientWith('stranger', ({ clusters }) => {
      delete clusters[0]?.cluster['certificate-authority-data'];
    });
    const error = await errorOf(stranger.request({ method: 'GET', path: nodes, ...limits }));
    expect(error).toMatchObject({ code: 'KUBE_UNREACHABLE', cause: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' } });
    stranger.close();
  });

  it('gives up an API server that hangs after the time allowed, and goes on when it goes on', async () => {
    await controlPlane.killApiServer('SIGSTOP');
    const startedAt = performance.now();
    expect(await errorOf(admin.request({ method: 'GET', path: nodes, timeoutMs: 300 }))).toMatchObject({
      code: 'KUBE_UNREACHABLE',
    });
    expect(performance.now() - startedAt).toBeLessThan(3000);
    await controlPlane.killApiServer('SIGCONT');
    await admin.request({ method: 'GET', path: nodes, ...limits });
  });

  it('is told when there is no API server, and finds it when it is back', async () => {
    await controlPlane.killApiServer();
    expect(await errorOf(admin.request({ method: 'GET', path: nodes, ...limits }))).toMatchObject({
      code: 'KUBE_UNREACHABLE',
      cause: { code: 'ECONNREFUSED' },
    });
    await controlPlane.restartApiServer();
    await admin.request({ method: 'GET', path: nodes, ...limits });
  });
});

describe('credentials', () => {
  it('proves who it is by a client certificate', async () => {
    const path = await controlPlane.kubeconfigFor({ user: 'jane', groups: ['system:masters'] });
    const client = connect(controlPlane, { kubeconfig: path });
    expect(await whoIs(client)).toBe('jane');
    client.close();
  });

  it('reads a token from a file, with or without a newline', async () => {
    const tokenFile = join(controlPlane.dir, 'token');
    await writeFile(tokenFile, `${controlPlane.adminToken}\n`);
    const client = await clientWith('token-file', ({ users }) =>
      Object.assign(users[0] ?? {}, { user: { tokenFile: 'token' } }),
    );
    expect(await whoIs(client)).toBe('admin');
    client.close();
  });

  it('runs a credential plugin', async () => {
    const plugin = join(controlPlane.dir, 'plugin.sh');
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: controlPlane.adminToken },
    };
    await writeFile(plugin, `#!/bin/sh\ntest -n "$KUBERNETES_EXEC_INFO" && echo '${JSON.stringify(credential)}'\n`);
    await chmod(plugin, 0o755);
    const exec = { apiVersion: credential.apiVersion, command: './plugin.sh', env: null, interactiveMode: 'Never' };
    const client = await clientWith('exec', ({ users }) => Object.assign(users[0] ?? {}, { user: { exec } }));
    expect(await whoIs(client)).toBe('admin');
    client.close();
  });

  it('runs a credential plugin again when what it gave is not accepted any more', async () => {
    const [plugin, token] = [join(controlPlane.dir, 'changing.sh'), join(controlPlane.dir, 'changing')];
    await writeFile(token, 'not accepted');
    const credential =
      '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}';
    await writeFile(plugin, `#!/bin/sh\nprintf '${credential}' "$(cat ${token})"\n`);
    await chmod(plugin, 0o755);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin,
      env: null,
      interactiveMode: 'Never',
    };
    const path = await kubeconfigWith('exec-again', ({ users }) => Object.assign(users[0] ?? {}, { user: { exec } }));
    const access = fileAccess({ kubeconfig: path, master: '' });
    await access.options();
    // It gives another one by now, without having said for how long the first is good.
    await writeFile(token, controlPlane.adminToken);
    const client = createKubeClient(access, { userAgent: 'exec-again', maxSockets: 2, clock: systemClock });
    expect(await whoIs(client)).toBe('admin');
    client.close();
  });

  it('says that the API server is out of reach when a credential plugin fails', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'false', env: null };
    const client = await clientWith('exec-fails', ({ users }) => Object.assign(users[0] ?? {}, { user: { exec } }));
    expect(await errorOf(client.request({ method: 'GET', path: nodes, ...limits }))).toMatchObject({
      code: 'KUBE_UNREACHABLE',
    });
    client.close();
  });
});

describe('objects kept by name', () => {
  const secret = { kind: 'Secret', namespace: ownNamespace, name: 'rollcall-coordinator-tls' } as const;

  it('finds nothing, creates it by apply, and replaces it', async () => {
    await controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/secrets/${secret.name}`);
    expect(await getObject(admin, secret, limits)).toBeUndefined();
    const created = await applyObject(admin, secret, { metadata: { labels: { a: 'b' } }, data: { x: 'eA==' } }, limits);
    expect(created).toMatchObject({ metadata: { name: secret.name, labels: { a: 'b' } }, data: { x: 'eA==' } });
    await replaceObject(admin, secret, { ...created, data: { y: 'eQ==' } }, limits);
    const now = await getObject(admin, secret, limits);
    expect(now).toMatchObject({ metadata: { labels: { a: 'b' } }, data: { y: 'eQ==' } });
    expect(now?.['data']).not.toHaveProperty('x');
  });

  it('lets one of several win that replace what they have all read', async () => {
    const configMap = { kind: 'ConfigMap', namespace: ownNamespace, name: 'rollcall-coordinator-ca' } as const;
    const reads = await Promise.all([1, 2, 3, 4].map(() => applyObject(admin, configMap, {}, limits)));
    const writes = await Promise.allSettled(
      reads.map((read, index) => replaceObject(admin, configMap, { ...read, data: { winner: `${index}` } }, limits)),
    );
    const lost = writes.filter((write) => write.status === 'rejected');
    expect(lost).toHaveLength(3);
    expect(lost.every(({ reason }) => isConflict(reason))).toBe(true);
  });

  it('does not bring back an object that was deleted', async () => {
    const read = await getObject(admin, secret, limits);
    await controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/secrets/${secret.name}`);
    if (!read) throw new Error('the secret is missing');
    expect(await errorOf(replaceObject(admin, secret, read, limits))).toMatchObject({
      status: expect.any(Number),
    });
    expect(await getObject(admin, secret, limits)).toBeUndefined();
  });
});

describe('reviewToken', () => {
  it('says to whom, and to which pod and node, a token belongs', async () => {
    const node = await createNode(controlPlane.api, 'node-1');
    const pod = await createPod(controlPlane.api, {
      namespace: ownNamespace,
      name: 'agent-1',
      nodeName: 'node-1',
      serviceAccount: 'rollcall-agent',
    });
    const token = await requestAgentToken(controlPlane.api, { name: 'agent-1', uid: pod.metadata.uid ?? '' });
    const verdict = await reviewToken(coordinator, token, 'rollcall-coordinator');
    expect(verdict).toMatchObject({
      authenticated: true,
      username: 'system:serviceaccount:rollcall:rollcall-agent',
      extra: {
        'authentication.kubernetes.io/node-name': ['node-1'],
        'authentication.kubernetes.io/node-uid': [node.metadata.uid],
        'authentication.kubernetes.io/pod-name': ['agent-1'],
        'authentication.kubernetes.io/pod-uid': [pod.metadata.uid],
      },
    });
  });

  it('refuses a token for another audience, and what is no token', async () => {
    const token = await requestToken(controlPlane.api, { namespace: ownNamespace, serviceAccount: 'rollcall-agent' });
    for (const bad of [token, 'nonsense', `${token}x`, controlPlane.adminToken]) {
      const verdict = await reviewToken(coordinator, bad, 'rollcall-coordinator');
      expect(verdict).toEqual({ authenticated: false, extra: {}, error: expect.any(String) });
    }
  });
});
