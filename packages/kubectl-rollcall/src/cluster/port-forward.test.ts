import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { forwardPort } from './port-forward.ts';

test('a port that is taken is named, with what helps', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: 'https://127.0.0.1:1', skipTLSVerify: true }],
    users: [{ name: 'u' }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  const forwarded = forwardPort(config, { namespace: 'a', pod: 'b', port: 1 }, { port, onError: () => {} });
  await expect(forwarded).rejects.toMatchObject({
    message: expect.stringContaining(`Cannot listen on port ${port}: `),
    cure: expect.stringContaining('choose another --port'),
  });
  taken.close();
});
