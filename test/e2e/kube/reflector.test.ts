import { readFile, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createNamespace, createNode, createServiceAccount, requestToken } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type CountingClient, connect, contentsOf, Mirror, warningLogger } from './rig.ts';
import { openTcpLink } from './tcp-link.ts';

let controlPlane: ControlPlane;
let namespaces = 0;
const cleanups: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});
afterAll(() => controlPlane?.stop());

async function newCollection(): Promise<string> {
  namespaces += 1;
  await createNamespace(controlPlane.api, `reflected-${namespaces}`);
  return `/api/v1/namespaces/reflected-${namespaces}/configmaps`;
}

function create(path: string, name: string, labels: Record<string, string> = {}): Promise<unknown> {
  return controlPlane.api.post(path, { metadata: { name, labels }, data: { text: 'grüße, 世界' } });
}

function client(options: Parameters<typeof connect>[1] = {}): CountingClient {
  const connected = connect(controlPlane, options);
  cleanups.push(() => connected.close());
  return connected;
}

function mirror(...args: ConstructorParameters<typeof Mirror>): Mirror {
  const made = new Mirror(...args);
  cleanups.push(() => made.stop());
  return made;
}

async function link() {
  const opened = await openTcpLink(controlPlane.url);
  cleanups.push(() => opened.close());
  return opened;
}

async function equalsCluster(mirrored: Mirror, path: string, timeoutMs = 15_000): Promise<void> {
  const check = async () => {
    const there = contentsOf(await controlPlane.api.list(path));
    return mirrored.reflector.hasSynced() && JSON.stringify(mirrored.contents()) === JSON.stringify(there);
  };
  await waitFor('the mirror to equal the cluster', check, { timeoutMs });
}

describe('reflector', () => {
  it('lists page by page and follows every change', async () => {
    const path = await newCollection();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create(path, name);
    const counting = client();
    const mirrored = mirror(counting, path, { pageSize: 2 });
    await equalsCluster(mirrored, path);
    expect(counting.answers.filter((answer) => answer === 'list 200')).toHaveLength(3);
    await create(path, 'f');
    await controlPlane.api.patch(`${path}/a`, { data: { text: 'changed' } });
    await controlPlane.api.delete(`${path}/b`);
    await equalsCluster(mirrored, path);
    expect(mirrored.replaces).toBe(1);
    expect(mirrored.objects.get(`${path.split('/')[4]}/f`)).toMatchObject({ data: { text: 'grüße, 世界' } });
    expect(mirrored.reflector.resourceVersion()).toMatch(/^\d+$/);
  });

  it('asks for metadata only, in the list and in the watch', async () => {
    await createNode(controlPlane.api, 'listed');
    const mirrored = mirror(client(), '/api/v1/nodes', { metadataOnly: true });
    await equalsCluster(mirrored, '/api/v1/nodes');
    await createNode(controlPlane.api, 'watched');
    await equalsCluster(mirrored, '/api/v1/nodes');
    for (const node of mirrored.objects.values()) {
      expect(Object.keys(node)).not.toContain('status');
      expect(node.metadata.managedFields).toBeDefined();
    }
    expect([...mirrored.objects.keys()]).toEqual(['/listed', '/watched']);
  });

  it('takes an object that leaves the selector for deleted', async () => {
    const path = await newCollection();
    await create(path, 'in', { keep: 'yes' });
    await create(path, 'out', { keep: 'no' });
    const mirrored = mirror(client(), path, { labelSelector: 'keep=yes' });
    await waitFor('the list', () => mirrored.objects.size === 1);
    await controlPlane.api.patch(`${path}/in`, { metadata: { labels: { keep: 'no' } } });
    await controlPlane.api.patch(`${path}/out`, { metadata: { labels: { keep: 'yes' } } });
    await waitFor('the change', () => mirrored.contents()[0]?.startsWith('out=') && mirrored.objects.size === 1);
  });

  it('resumes a watch that was cut where it was, without a new list and without an outage', async () => {
    const path = await newCollection();
    const between = await link();
    const counting = client({ url: between.url });
    const mirrored = mirror(counting, path);
    await waitFor('the watch', () => counting.answers.includes('watch 200'));
    for (let round = 0; round < 5; round += 1) {
      await create(path, `before-${round}`);
      between.cut();
      await create(path, `after-${round}`);
      await equalsCluster(mirrored, path);
    }
    expect(mirrored.replaces).toBe(1);
    expect(mirrored.upserts).toBe(10);
    expect(mirrored.restarts).toContain('cut');
    expect(mirrored.outages).toEqual([]);
  });

  it('gives up a watch that is silent, and sees what it missed', async () => {
    const path = await newCollection();
    const between = await link();
    const counting = client({ url: between.url });
    const mirrored = mirror(counting, path, { idleTimeoutMs: 700 });
    await waitFor('the watch', () => counting.answers.includes('watch 200'));
    await equalsCluster(mirrored, path);
    between.block();
    await create(path, 'unseen');
    await waitFor('the end of the watch', () => mirrored.restarts.includes('silent'));
    between.unblock();
    await equalsCluster(mirrored, path);
  });

  it('survives an API server that is killed, and learns of what was deleted meanwhile', async () => {
    const path = await newCollection();
    for (const name of ['kept', 'doomed']) await create(path, name);
    const between = await link();
    const mirrored = mirror(client({ url: between.url }), path);
    await equalsCluster(mirrored, path);
    await controlPlane.killApiServer();
    await waitFor('the loss', () => mirrored.restarts.includes('unreachable'));
    const lostAt = performance.now();
    between.block();
    await controlPlane.restartApiServer();
    await controlPlane.api.delete(`${path}/doomed`);
    await create(path, 'new');
    between.unblock();
    await equalsCluster(mirrored, path, 45_000);
    expect(mirrored.objects.size).toBe(2);
    expect(mirrored.outages).toHaveLength(1);
    expect(mirrored.outages[0]).toBeGreaterThan(1000);
    expect(mirrored.outages[0]).toBeLessThan(performance.now() - lostAt + 5000);
  });

  it('lists anew when the history from which it would resume is gone', async () => {
    const path = await newCollection();
    await create(path, 'doomed');
    const between = await link();
    const mirrored = mirror(client({ url: between.url }), path, { idleTimeoutMs: 60_000 });
    await equalsCluster(mirrored, path);
    between.block();
    await controlPlane.api.delete(`${path}/doomed`);
    await create(path, 'new');
    // The API server's own cache would know the history still.
    await compactEtcd();
    await controlPlane.killApiServer();
    await controlPlane.restartApiServer();
    between.unblock();
    await equalsCluster(mirrored, path);
    expect(mirrored.restarts).toContain('expired');
    expect(mirrored.replaces).toBe(2);
    expect(mirrored.contents()[0]).toMatch(/^new=/);
  });

  it('begins a list anew whose pages expired while it was read', async () => {
    const path = await newCollection();
    for (const name of ['a', 'b', 'c']) await create(path, name);
    const direct = client();
    let expired = 0;
    const mirrored = mirror(
      {
        ...direct,
        request: async (request) => {
          const token = request.query?.['continue'];
          if (token === undefined || expired >= 2) return direct.request(request);
          expired += 1;
          // A token of a revision that was compacted away, which no test can wait for.
          const { rv: _rv, ...rest } = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<
            string,
            unknown
          >;
          const outdated = Buffer.from(JSON.stringify({ ...rest, rv: 1 })).toString('base64url');
          await compactEtcd();
          return direct.request({ ...request, query: { ...request.query, continue: outdated } });
        },
      },
      path,
      { pageSize: 1 },
    );
    await equalsCluster(mirrored, path);
    expect(direct.answers.filter((answer) => answer === 'list 410')).toHaveLength(2);
    expect(mirrored.replaces).toBe(1);
  });

  it('sees a cluster that was restored from a backup, where revisions count from an older one', async () => {
    const path = await newCollection();
    await create(path, 'only-before');
    const mirrored = mirror(client(), path, { idleTimeoutMs: 1500 });
    await equalsCluster(mirrored, path);
    const before = Number(mirrored.reflector.resourceVersion());
    await controlPlane.killApiServer();
    await controlPlane.killEtcd();
    await rm(join(controlPlane.dir, 'etcd'), { recursive: true });
    await controlPlane.restartEtcd();
    await controlPlane.restartApiServer();
    await createNamespace(controlPlane.api, path.split('/')[4] ?? '');
    await create(path, 'only-after');
    await equalsCluster(mirrored, path, 45_000);
    expect(mirrored.contents()[0]).toMatch(/^only-after=/);
    expect(Number(mirrored.reflector.resourceVersion())).toBeLessThan(before);
  });

  it('takes a CRD that is not installed for empty, and finds it when it is', async () => {
    const path = '/apis/example.rollcall.dev/v1/widgets';
    const mirrored = mirror(client(), path, { absentIsEmpty: true, random: () => 0 });
    await waitFor('the empty list', () => mirrored.reflector.hasSynced());
    expect(mirrored.replaces).toBe(1);
    await controlPlane.api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgets);
    await waitFor('the CRD', () => controlPlane.api.post(path, { ...widget, metadata: { name: 'one' } }));
    await waitFor('the object', () => mirrored.objects.has('/one'), { timeoutMs: 20_000 });
    await controlPlane.api.delete(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.rollcall.dev',
    );
    await waitFor('nothing', () => mirrored.objects.size === 0, { timeoutMs: 20_000 });
  });

  it('keeps the objects of a CRD that is served in another version only, and takes one that is deleted for empty', async () => {
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const path = '/apis/example.rollcall.dev/v1/gadgets';
    const names = { kind: 'Gadget', plural: 'gadgets', singular: 'gadget' };
    const [version] = widgets.spec.versions;
    await controlPlane.api.post(crds, {
      ...widgets,
      metadata: { name: 'gadgets.example.rollcall.dev' },
      spec: { ...widgets.spec, names },
    });
    const gadget = { apiVersion: 'example.rollcall.dev/v1', kind: 'Gadget', metadata: { name: 'one' } };
    await waitFor('the CRD', () => controlPlane.api.post(path, gadget));
    const { logger, warnings } = warningLogger();
    const mirrored = mirror(client(), path, { absentIsEmpty: true, random: () => 0, logger });
    await waitFor('the object', () => mirrored.objects.has('/one'));
    const serve = (isServed: boolean) =>
      controlPlane.api.patch(`${crds}/gadgets.example.rollcall.dev`, {
        spec: {
          versions: [
            { ...version, served: isServed },
            { ...version, name: 'v2', storage: false },
          ],
        },
      });
    await serve(false);
    mirrored.reflector.relist();
    const isTold = () => warnings.some(({ hint }) => String(hint).includes('does not serve them in the version v1'));
    await waitFor('the failure', isTold, { timeoutMs: 30_000 });
    expect(mirrored.objects.has('/one')).toBe(true);
    expect(mirrored.reflector.isFailing()).toBe(true);
    await serve(true);
    await waitFor('the recovery', () => !mirrored.reflector.isFailing(), { timeoutMs: 30_000 });
    expect(mirrored.objects.has('/one')).toBe(true);
    await controlPlane.api.delete(`${crds}/gadgets.example.rollcall.dev`);
    await waitFor('nothing', () => mirrored.objects.size === 0, { timeoutMs: 30_000 });
  });

  it('says once that it may not list, and begins when it may', async () => {
    const path = await newCollection();
    const namespace = path.split('/')[4] ?? '';
    await createServiceAccount(controlPlane.api, namespace, 'stranger');
    const token = await requestToken(controlPlane.api, { namespace, serviceAccount: 'stranger' });
    const { logger, warnings } = warningLogger();
    const refused = client({ kubeconfig: await controlPlane.kubeconfigFor(token) });
    const mirrored = mirror(refused, path, { logger });
    await waitFor('three refusals', () => refused.answers.length >= 3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ hint: 'RBAC must permit the verbs list and watch on configmaps' });
    expect(mirrored.reflector.hasSynced()).toBe(false);
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' };
    const subjects = [{ kind: 'ServiceAccount', name: 'stranger', namespace }];
    await controlPlane.api.post(`${rbac}/roles`, { metadata: { name: 'reader' }, rules });
    await controlPlane.api.post(`${rbac}/rolebindings`, { metadata: { name: 'reader' }, roleRef, subjects });
    await waitFor('the list', () => mirrored.reflector.hasSynced(), { timeoutMs: 30_000 });
  });

  it('ends up with what is there after any history of changes and faults', { timeout: 120_000 }, async () => {
    const path = await newCollection();
    const between = await link();
    const mirrored = mirror(client({ url: between.url }), path, { pageSize: 3 });
    for (let round = 0; round < 12; round += 1) {
      for (let step = 0; step < 10; step += 1) await changeSomething(path);
      const fault = round % 4;
      if (fault === 0) between.cut();
      if (fault === 1) between.block();
      if (fault === 2) between.unblock();
      if (fault === 3 && round > 6) {
        await compactEtcd();
        await controlPlane.killApiServer();
        await controlPlane.restartApiServer();
      }
    }
    between.unblock();
    await equalsCluster(mirrored, path, 45_000);
    for (let step = 0; step < 20; step += 1) await changeSomething(path);
    await equalsCluster(mirrored, path);
  });
});

/** Creates, changes or deletes one of eight objects. */
async function changeSomething(path: string): Promise<void> {
  const name = `object-${Math.floor(Math.random() * 8)}`;
  const there = (await controlPlane.api.list(path)).some(({ metadata }) => metadata.name === name);
  if (!there) await create(path, name);
  else if (Math.random() < 0.4) await controlPlane.api.delete(`${path}/${name}`);
  else await controlPlane.api.patch(`${path}/${name}`, { data: { text: String(Math.random()) } });
}

/** Makes etcd forget its history, through its HTTP gateway. */
async function compactEtcd(): Promise<void> {
  const commandLine = await readFile(`/proc/${controlPlane.etcdPid}/cmdline`, 'utf8');
  const url = /--listen-client-urls=(\S+?)\0/.exec(commandLine)?.[1] ?? '';
  const { header } = (await postToEtcd(`${url}/v3/kv/range`, { key: 'AA==' })) as { header: { revision: string } };
  await postToEtcd(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

function postToEtcd(url: string, body: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method: 'POST', agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(JSON.parse(text)));
    });
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(body));
  });
}

const widget = { apiVersion: 'example.rollcall.dev/v1', kind: 'Widget' };
const widgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.rollcall.dev' },
  spec: {
    group: 'example.rollcall.dev',
    scope: 'Cluster',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
