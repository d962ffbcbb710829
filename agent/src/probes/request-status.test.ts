import { Agent } from 'node:http';
import { expect, it } from 'vitest';
import { requestStatus } from './request-status.ts';
import { within } from './testing/limits.ts';
import { closedTarget } from './testing/servers.ts';

it('counts a connection that found no one but itself as refused', async () => {
  const target = await closedTarget();
  class FromTheSamePort extends Agent {
    override createConnection(...[options, done]: Parameters<Agent['createConnection']>) {
      return super.createConnection({ ...options, localPort: target.port, localAddress: target.host }, done);
    }
  }
  const asked = { protocol: 'http', agent: new FromTheSamePort(), path: '/' } as const;
  await expect(requestStatus(target, within(5000), asked)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
