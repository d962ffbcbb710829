import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { gather } from '../check/evidence.ts';
import { type Asked, kubeConfigFor, kubeStandIn, Status } from '../testing/stand-in.test-fixtures.ts';
import { KubeApi } from './kube-api.ts';
import { findLeader } from './leader.ts';

test('the API server is asked with the credentials of the kubeconfig', async () => {
  const { kube, asked } = await kubeStandIn({ '/version': { major: '1' } });
  expect(await kube.get('/version')).toEqual({ major: '1' });
  expect(asked[0]).toMatchObject({ headers: { accept: 'application/json', authorization: 'Bearer secret' } });
});

test('an object that was created is an answer as well', async () => {
  const { kube, asked } = await kubeStandIn({ 'POST /reviews': new Status(201, '{"ok":true}') });
  expect(await kube.post('/reviews', { a: 1 })).toEqual({ ok: true });
  expect(asked[0]?.body).toEqual({ a: 1 });
});

test('slashes at the end of the address of the API server are left out', async () => {
  const { url } = await kubeStandIn({ '/version': { major: '1' } });
  expect(await new KubeApi(kubeConfigFor(`${url}//`)).get('/version')).toEqual({ major: '1' });
});

test('any other status is an error with the message of the API server', async () => {
  const { kube } = await kubeStandIn({ '/a': new Status(403, '{"message":"no"}'), '/b': new Status(202, '{}') });
  await expect(kube.get('/a')).rejects.toMatchObject({ name: 'KubeApiError', status: 403, message: 'no' });
  await expect(kube.get('/b')).rejects.toMatchObject({ status: 202, message: 'The API server answered 202' });
});

test('an error that is no JSON has its status as its message', async () => {
  const { kube } = await kubeStandIn({ '/a': new Status(502, '<html>') });
  await expect(kube.get('/a')).rejects.toMatchObject({ status: 502, message: 'The API server answered 502' });
});

test('a kubeconfig without a cluster is an error', async () => {
  await expect(new KubeApi(new KubeConfig()).get('/a')).rejects.toThrow('The kubeconfig names no cluster');
});

test('a list is read in pages to its end, and each object is trimmed', async () => {
  const pages = ({ path }: Asked) =>
    path.includes('continue=')
      ? { items: [{ n: 3, more: true }], metadata: {} }
      : { items: [{ n: 1, more: true }, { n: 2 }], metadata: { continue: 'a/b' } };
  const { kube, asked } = await kubeStandIn({ '/api/v1/nodes': pages });
  expect(await kube.list<{ n: number }>('/api/v1/nodes', ({ n }) => ({ n }))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(asked.map(({ path }) => path)).toEqual(['/api/v1/nodes?limit=500', '/api/v1/nodes?limit=500&continue=a%2Fb']);
});

test('a list by a selector keeps its query', async () => {
  const { kube, asked } = await kubeStandIn({ '/api/v1/pods': { items: [{ n: 1 }], metadata: { continue: '' } } });
  expect(await kube.list('/api/v1/pods?labelSelector=a')).toEqual([{ n: 1 }]);
  expect(asked.map(({ path }) => path)).toEqual(['/api/v1/pods?labelSelector=a&limit=500']);
});

test.each([
  ['is an hour ahead', 3_600_000, 3_600_000],
  ['is an hour behind', -3_600_000, -3_600_000],
  ['agrees, but for the way of the answer', -3000, 0],
])('the clock of the API server %s, as its answers tell, and times are judged by it', async (_what, byMs, expected) => {
  const there = () => Date.now() + byMs;
  const server = createServer((_request, response) => {
    const spec = { holderIdentity: 'c-1_x', renewTime: new Date(there()).toISOString() };
    response.setHeader('date', new Date(there()).toUTCString());
    response.end(JSON.stringify({ spec, items: [], resources: [], metadata: {} }));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const kube = new KubeApi(kubeConfigFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  expect(kube.clockAheadMs).toBe(0);
  expect(await findLeader(kube, 'ns', Date.now())).toEqual({ pod: 'c-1', namespace: 'ns' });
  expect(Math.abs(kube.clockAheadMs - expected)).toBeLessThan(60_000);
  if (expected === 0) expect(kube.clockAheadMs).toBe(0);
  const { nowMs, clockAheadMs } = await gather(kube, 'ns', Date.now());
  expect(clockAheadMs).toBe(kube.clockAheadMs);
  expect(Math.abs(nowMs - there())).toBeLessThan(60_000);
});
