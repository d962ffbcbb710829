import { expect, test } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { LeaseStore } from './lease-record.ts';

const lease = { metadata: { name: 'l', uid: 'u', resourceVersion: '1' } };

function replacing(status: number) {
  const client: KubeClient = {
    request: () => Promise.reject(new KubeStatusError(status, {}, undefined, {})),
    stream: () => Promise.resolve(),
    close: () => {},
  };
  return new LeaseStore(client, 'ns', 'l').replace(lease);
}

test.each([404, 409])('a Lease that is no longer as it was read is not replaced: %i', async (status) => {
  expect(await replacing(status)).toBeUndefined();
});

test('a replacement that failed for another reason may have been done, and throws', async () => {
  await expect(replacing(500)).rejects.toMatchObject({ status: 500 });
});

test('a replacement takes no longer than it may, and never longer than any request', async () => {
  const asked: number[] = [];
  const client: KubeClient = {
    request: async <T>({ timeoutMs }: KubeRequest) => {
      asked.push(timeoutMs);
      return lease as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const store = new LeaseStore(client, 'ns', 'l');
  for (const limitMs of [100, undefined, 1e9]) await store.replace(lease, limitMs);
  expect(asked).toEqual([100, 5000, 5000]);
});
