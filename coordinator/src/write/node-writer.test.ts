import { describe, expect, test } from 'vitest';
import type { KubeRequest } from '../kube/client.ts';
import { NodeWriter } from './node-writer.ts';

const node = { name: 'n/1', uid: 'u', resourceVersion: '7' };
const metadata = { name: 'n/1', uid: 'u', resourceVersion: '8' };

/** Keeps what is sent; what comes of it is tested against a real API server. */
function started(failure?: Error) {
  const sent: KubeRequest[] = [];
  const requests = {
    mayBegin: true,
    request: async <T>(request: KubeRequest) => {
      sent.push(request);
      if (failure) throw failure;
      return { kind: 'PartialObjectMetadata', metadata } as T;
    },
  };
  return { sent, writer: new NodeWriter(requests) };
}

describe('a set', () => {
  test('is an apply patch of everything wanted, for one uid, with a small answer', async () => {
    const { sent, writer } = started();
    const set = { labels: { a: '1' }, annotations: { b: '2' }, force: false };
    expect(await writer.send(node, { write: 'set', set }, { timeoutMs: 500 })).toEqual({
      kind: 'applied',
      node: { kind: 'PartialObjectMetadata', metadata },
    });
    expect(sent).toEqual([
      {
        method: 'PATCH',
        path: '/api/v1/nodes/n%2F1',
        query: { fieldManager: 'rollcall' },
        body: {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: 'n/1', uid: 'u', labels: { a: '1' }, annotations: { b: '2' } },
        },
        contentType: 'application/apply-patch+yaml',
        accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
        timeoutMs: 500,
      },
    ]);
  });

  test('carries the resource version with force, and only then', async () => {
    const { sent, writer } = started();
    await writer.send(
      node,
      { write: 'set', set: { labels: { a: '1' }, annotations: {}, force: true } },
      { timeoutMs: 500 },
    );
    expect(sent[0]?.query).toEqual({ fieldManager: 'rollcall', force: 'true' });
    expect(sent[0]?.body).toMatchObject({
      metadata: { name: 'n/1', uid: 'u', resourceVersion: '7', labels: { a: '1' } },
    });
  });

  test('of nothing has no empty maps', async () => {
    const { sent, writer } = started();
    await writer.send(node, { write: 'set', set: { labels: {}, annotations: {}, force: false } }, { timeoutMs: 500 });
    expect(sent[0]?.body).toEqual({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n/1', uid: 'u' } });
  });
});

describe('a withdrawal', () => {
  test('is a merge patch of nulls for one uid, and nothing else', async () => {
    const { sent, writer } = started();
    await writer.send(
      node,
      { write: 'withdraw', keys: { labels: ['a', '__proto__'], annotations: [] } },
      { timeoutMs: 500 },
    );
    expect(sent[0]).toMatchObject({
      method: 'PATCH',
      query: { fieldManager: 'rollcall' },
      contentType: 'application/merge-patch+json',
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    });
    expect(JSON.stringify(sent[0]?.body)).toBe('{"metadata":{"uid":"u","labels":{"a":null,"__proto__":null}}}');
  });
});

test('a rehearsal asks the API server for a dry run', async () => {
  const { sent, writer } = started();
  await writer.send(
    node,
    { write: 'set', set: { labels: {}, annotations: {}, force: false } },
    { timeoutMs: 500, rehearsal: true },
  );
  await writer.send(
    node,
    { write: 'withdraw', keys: { labels: ['a'], annotations: [] } },
    { timeoutMs: 500, rehearsal: true },
  );
  expect(sent.map(({ query }) => query?.['dryRun'])).toEqual(['All', 'All']);
});

test('a change of taints is a JSON patch that tests the uid, and has the whole Node for an answer', async () => {
  const { sent, writer } = started();
  const change = { add: [], remove: ['t'], observed: [{ key: 't', effect: 'NoSchedule' }] };
  const outcome = await writer.send(node, { write: 'taints', taints: change }, { timeoutMs: 500 });
  expect(outcome).toEqual({ kind: 'applied', node: { kind: 'PartialObjectMetadata', metadata } });
  expect(sent).toMatchObject([
    { path: '/api/v1/nodes/n%2F1', contentType: 'application/json-patch+json', accept: 'application/json' },
  ]);
  expect(sent[0]?.body).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'u' },
    { op: 'test', path: '/spec/taints/0/key', value: 't' },
    { op: 'test', path: '/spec/taints/0/effect', value: 'NoSchedule' },
    { op: 'remove', path: '/spec/taints/0' },
  ]);
});

describe('conditions', () => {
  const condition = { type: 'c', status: 'False', reason: '', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const STATUS = '/api/v1/nodes/n%2F1/status';

  test.each([true, false])(
    'are applied to the status alone, with the resource version by force (%s)',
    async (force) => {
      const { sent, writer } = started();
      const rest = { news: [], before: [], released: [], keepsAway: false, due: true, waiting: [] };
      await writer.send(
        node,
        { write: 'conditions', conditions: { write: 'apply', conditions: [condition], force, ...rest } },
        { timeoutMs: 500 },
      );
      expect(sent).toMatchObject([{ path: STATUS, contentType: 'application/apply-patch+yaml' }]);
      expect(sent[0]?.query).toEqual({ fieldManager: 'rollcall', ...(force ? { force: 'true' } : {}) });
      const about = { name: 'n/1', uid: 'u', ...(force ? { resourceVersion: '7' } : {}) };
      expect(sent[0]?.body).toEqual({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: about,
        status: { conditions: [condition] },
      });
    },
  );

  test('are removed by a JSON patch of the status that tests where they are', async () => {
    const { sent, writer } = started();
    await writer.send(
      node,
      { write: 'conditions', conditions: { write: 'remove', conditions: [{ type: 'c', index: 3 }] } },
      { timeoutMs: 500 },
    );
    expect(sent).toMatchObject([{ path: STATUS, contentType: 'application/json-patch+json' }]);
    expect(sent[0]?.body).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u' },
      { op: 'test', path: '/status/conditions/3/type', value: 'c' },
      { op: 'remove', path: '/status/conditions/3' },
    ]);
  });

  test('are given up by a JSON patch of the metadata that tests whose entry it is', async () => {
    const { sent, writer } = started();
    await writer.send(node, { write: 'conditions', conditions: { write: 'disown', entry: 2 } }, { timeoutMs: 500 });
    expect(sent).toMatchObject([{ path: '/api/v1/nodes/n%2F1', contentType: 'application/json-patch+json' }]);
    const operations = sent[0]?.body as { op: string; path: string; value?: string }[];
    expect(operations.slice(0, 2)).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u' },
      { op: 'test', path: '/metadata/managedFields/2/manager', value: 'rollcall' },
    ]);
    expect(operations.at(-1)).toEqual({ op: 'remove', path: '/metadata/managedFields/2' });
  });
});

test('a node is read as metadata, and is unknown where it cannot be read', async () => {
  const { sent, writer } = started();
  expect(await writer.read('n/1')).toMatchObject({ metadata });
  expect(sent).toMatchObject([{ method: 'GET', path: '/api/v1/nodes/n%2F1' }]);
  expect(await started(new Error('on purpose')).writer.read('n/1')).toBeUndefined();
});
