import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { failStandIn, runStandIn } from './command-line.ts';
import { FaultyListener } from './faulty-listener.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '9000' },
      'exit-with-input': { type: 'boolean', default: false },
    },
  });
  let requests = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++;
    request.resume();
    await listener.untilNotHanging();
    const { fault } = listener;
    if (fault.kind === 'slow') await sleep(fault.delayMs);
    const usual = request.url === '/healthz' || request.url === '/v2/' ? 200 : 404;
    response.writeHead(fault.kind === 'status' ? fault.status : usual).end();
  }

  // No time limit on idle connections.
  const server = createServer({ keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 }, handle);
  server.on('clientError', (_error, socket) => socket.destroy());
  const listener = new FaultyListener({
    host: values.host,
    port: Number(values.port),
    serve: (socket) => {
      server.emit('connection', socket);
      // Unlike TLS and HTTP/2, it leaves a socket that came paused as it is.
      socket.resume();
    },
    answersRequests: true,
  });
  await runStandIn(listener, () => requests, values['exit-with-input']);
}

main().catch(failStandIn);
