import { expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from './client.ts';
import { listPages } from './list-pages.ts';
import type { KubeObject } from './objects.ts';

const node = (name: string): KubeObject => ({ metadata: { name, uid: name, resourceVersion: '1' } });

/** Reads a list whose pages are `answers`, one after the other. */
async function read(answers: unknown[]) {
  const requests: KubeRequest[] = [];
  const pages: string[][] = [];
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      requests.push(request);
      return answers[requests.length - 1] as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const request = {
    path: '/api/v1/nodes',
    selectors: { labelSelector: 'a' },
    accept: 'application/json',
    pageSize: 2,
    timeoutMs: 1000,
    signal: new AbortController().signal,
  };
  const listing = listPages(client, request, (objects) => pages.push(objects.map(({ metadata }) => metadata.name)));
  const version = await listing.catch((err: { code: string }) => err.code);
  return { version, pages, queries: requests.map(({ query }) => query) };
}

test('a list is read page by page to its end, and stands for the version of its last page', async () => {
  const list = await read([
    { metadata: { resourceVersion: '7', continue: 'more' }, items: [node('a'), node('b')] },
    { metadata: { resourceVersion: '8', continue: '' }, items: [node('c')] },
  ]);
  expect(list).toEqual({
    version: '8',
    pages: [['a', 'b'], ['c']],
    queries: [
      { labelSelector: 'a', limit: '2' },
      { labelSelector: 'a', limit: '2', continue: 'more' },
    ],
  });
});

test.each([[[]], [null]])('a list with the items %j is one, and empty', async (items) => {
  expect(await read([{ metadata: { resourceVersion: '7' }, items }])).toMatchObject({ version: '7', pages: [[]] });
});

test.each([
  {},
  { metadata: { resourceVersion: '7' } },
  { items: [node('a')] },
  { metadata: {}, items: [node('a')] },
  { metadata: { resourceVersion: '' }, items: [] },
])('%j is no list', async (answer) => {
  expect(await read([answer])).toMatchObject({ version: 'KUBE_WATCH_BROKEN', pages: [] });
});
