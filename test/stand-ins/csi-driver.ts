import { rmSync } from 'node:fs';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    socket: { type: 'string', default: '/tmp/csi.sock' },
    // What the others listen at.
    host: { type: 'string' },
    port: { type: 'string' },
    'exit-with-input': { type: 'boolean', default: false },
  },
});

/** An empty message, as gRPC frames it: a driver that leaves `ready` out is ready. */
const EMPTY = Buffer.alloc(5);
const server = createServer();
server.on('stream', (stream: ServerHttp2Stream, headers) => {
  const status = headers[':path'] === '/csi.v1.Identity/Probe' ? '0' : '12';
  stream.on('error', () => {}).resume();
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
  stream.end(status === '0' ? EMPTY : undefined);
});
server.on('sessionError', () => {});

const stop = () => process.exit(0);
process.on('SIGTERM', stop).on('SIGINT', stop);
if (values['exit-with-input']) process.stdin.on('end', stop).resume();
// A killed driver leaves its socket file, so drivers remove it.
rmSync(values.socket, { force: true });
server.listen(values.socket, () => process.stdout.write('ready 0\n'));
