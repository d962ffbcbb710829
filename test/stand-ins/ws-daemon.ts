import { createServer as createHttp2Server } from 'node:http2';
import type { Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { parseArgs } from 'node:util';
import { failStandIn, runStandIn } from './command-line.ts';
import { FaultyListener } from './faulty-listener.ts';
import { servingCertificate } from './serving-certificate.ts';

/** Like a gRPC server before it got a preface: takes the connection and says nothing. */
function serveSilently(socket: Socket): void {
  socket.on('end', () => socket.end());
  socket.resume();
}

/** A TLS server, with HTTP/2 inside where asked; it only says what its protocol's handshake asks for. */
async function serveTls(http2: boolean, certFile?: string, keyFile?: string): Promise<(socket: Socket) => void> {
  const certificate = await servingCertificate(certFile, keyFile, 'ws-daemon');
  const inner = http2 ? createHttp2Server() : undefined;
  inner?.on('sessionError', () => {});
  const server = createTlsServer({ ...certificate, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {});
    if (inner !== undefined) inner.emit('connection', socket);
    else serveSilently(socket);
  });
  server.on('tlsClientError', () => {});
  return (socket) => server.emit('connection', socket);
}

/** HTTP/2 without TLS, as gRPC servers speak it: SETTINGS come as soon as the connection is there. */
function serveHttp2(): (socket: Socket) => void {
  const server = createHttp2Server();
  server.on('sessionError', () => {});
  return (socket) => server.emit('connection', socket);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '8080' },
      tls: { type: 'boolean', default: false },
      http2: { type: 'boolean', default: false },
      'cert-file': { type: 'string' },
      'key-file': { type: 'string' },
      'exit-with-input': { type: 'boolean', default: false },
    },
  });
  let serve = serveSilently;
  if (values.tls) serve = await serveTls(values.http2, values['cert-file'], values['key-file']);
  else if (values.http2) serve = serveHttp2();
  const listener = new FaultyListener({ host: values.host, port: Number(values.port), serve, answersRequests: false });
  await runStandIn(listener, () => 0, values['exit-with-input']);
}

main().catch(failStandIn);
