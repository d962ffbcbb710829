import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readText, sendRequest } from './exchange.ts';

it('tells why the connection broke while the answer was read', async () => {
  const server = createServer((_request, response) => response.writeHead(200).write('half'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const wire = { method: 'GET', path: '/', headers: {}, body: undefined };
  const destination = { protocol: 'http:' as const, host: '127.0.0.1', port, basePath: '' };
  const response = await sendRequest(destination, wire, new AbortController().signal);
  // As the kernel does when its probes are not answered.
  response.socket.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
  await expect(readText(response, 100)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  server.closeAllConnections();
  server.close();
});

it('reads as many bytes as it may, and not one more', async () => {
  const answer = () => Readable.from([Buffer.from('four'), Buffer.from('more')]) as IncomingMessage;
  expect(await readText(answer(), 8)).toBe('fourmore');
  await expect(readText(answer(), 7)).rejects.toMatchObject({
    code: 'KUBE_UNREACHABLE',
    message: 'The answer is larger than 7 bytes',
  });
});
