import { expect, test } from 'vitest';
import { type KubeClient, KubeStatusError } from './client.ts';
import { LeaseStore } from './lease-store.ts';

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
