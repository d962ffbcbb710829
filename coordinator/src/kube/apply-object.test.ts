import { expect, test } from 'vitest';
import { applyObject, collectionPath, getObject, isConflict, isNotFound, replaceObject } from './apply-object.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from './client.ts';

const SECRET = { kind: 'Secret', namespace: 'a b', name: 'n/1' } as const;
const PATH = '/api/v1/namespaces/a%20b/secrets/n%2F1';
const LIMITS = { timeoutMs: 500 };

/** Answers each request with `answer`, or throws it. */
function clientOf(answer: unknown) {
  const asked: KubeRequest[] = [];
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      asked.push(request);
      if (answer instanceof Error) throw answer;
      return answer as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  return { client, asked };
}

const status = (code: number) => new KubeStatusError(code, {}, undefined, {});

test('an object is asked for by its name, and is undefined where there is none', async () => {
  const object = { metadata: { name: 'n', uid: 'u', resourceVersion: '1' } };
  const { client, asked } = clientOf(object);
  expect(await getObject(client, SECRET, LIMITS)).toBe(object);
  expect(asked).toEqual([{ method: 'GET', path: PATH, timeoutMs: 500 }]);
  expect(await getObject(clientOf(status(404)).client, SECRET, LIMITS)).toBeUndefined();
  await expect(getObject(clientOf(status(403)).client, SECRET, LIMITS)).rejects.toMatchObject({ status: 403 });
});

test('an apply has its kind and its name, whatever else is in it', async () => {
  const { client, asked } = clientOf({});
  await applyObject(client, SECRET, { data: { a: 'b' }, metadata: { labels: { l: '1' }, name: 'other' } }, LIMITS);
  expect(asked).toEqual([
    {
      method: 'PATCH',
      path: PATH,
      query: { fieldManager: 'rollcall' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        data: { a: 'b' },
        metadata: { labels: { l: '1' }, name: 'n/1', namespace: 'a b' },
      },
      timeoutMs: 500,
    },
  ]);
});

test('a replacement is of what was read, and leaves the books to the API server', async () => {
  const { client, asked } = clientOf({});
  const metadata = { name: 'l', uid: 'u', resourceVersion: '7', managedFields: [] };
  const lease = { kind: 'Lease', namespace: 'ns', name: 'l' } as const;
  await replaceObject(client, lease, { metadata, spec: { a: 1 } }, LIMITS);
  expect(asked).toEqual([
    {
      method: 'PUT',
      path: '/apis/coordination.k8s.io/v1/namespaces/ns/leases/l',
      query: { fieldManager: 'rollcall' },
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l', uid: 'u', resourceVersion: '7' },
        spec: { a: 1 },
      },
      timeoutMs: 500,
    },
  ]);
});

test('objects of a kind are where the kind is served', () => {
  expect(collectionPath({ kind: 'ConfigMap', namespace: 'ns' })).toBe('/api/v1/namespaces/ns/configmaps');
});

test.each([
  [status(404), true, false],
  [status(409), false, true],
  [status(500), false, false],
  [new Error('other'), false, false],
])('%s is told from the others', (error, isGone, isLost) => {
  expect([isNotFound(error), isConflict(error)]).toEqual([isGone, isLost]);
});
