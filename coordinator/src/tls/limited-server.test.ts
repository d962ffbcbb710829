import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import { CertificateHolder } from './certificate-holder.ts';
import { createLimitedServer } from './limited-server.ts';

const opened: Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

async function listening(server: Server): Promise<number> {
  opened.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function limited(): Promise<number> {
  const nowMs = Date.now();
  const certificates = new CertificateHolder();
  certificates.set(await issueLeaf(await createAuthority({ nowMs }), { names: ['127.0.0.1'], nowMs }));
  const { server } = createLimitedServer({
    certificates,
    http: {},
    handle: (_request, response) => response.end('answer'),
  });
  return listening(server);
}

/** Passes what a client sends on in pieces, each written by itself. */
function inPieces(port: number, bytes: number): Promise<number> {
  const pass = async (from: Socket, to: Socket) => {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += bytes) {
        to.write(chunk.subarray(at, at + bytes));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  };
  return listening(
    createServer((client) => {
      const server = connect({ port, host: '127.0.0.1', noDelay: true });
      server.pipe(client).on('error', () => server.destroy());
      pass(client, server).catch(() => {});
    }),
  );
}

test.each([1, 100, 100_000])('a request is answered whose bytes arrive %i at a time', async (bytes) => {
  const port = await limited();
  const client = connectTls({ port: await inPieces(port, bytes), host: '127.0.0.1', rejectUnauthorized: false });
  client.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  let answer = '';
  for await (const chunk of client) answer += chunk;
  expect([answer.slice(0, 15), answer.slice(-6)]).toEqual(['HTTP/1.1 200 OK', 'answer']);
});

const record = (type: number, length: number, message: number[]) => [type, 3, 1, length >> 8, length & 255, ...message];

test.each([
  ['no handshake', record(21, 2, [2, 40])],
  ['another message of the handshake', record(22, 8, [11, 0, 0, 4])],
  ['a ClientHello in more than one record', record(22, 1000, [1, 1, 255, 184])],
  ['a ClientHello of more than 8 KiB', record(22, 8192, [1, 0, 31, 252])],
  ['text', [...Buffer.from('GET / HTTP/1.1')]],
])('a connection that begins with %s is closed without an answer', async (_what, bytes) => {
  const port = await limited();
  const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes)));
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  expect(socket.bytesRead).toBe(0);
});
