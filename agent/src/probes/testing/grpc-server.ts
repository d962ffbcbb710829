import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';

/** What a server does with a call: a message under the status OK, another status, or something of its own. */
export type GrpcAnswer = Uint8Array | { status: number } | ((stream: ServerHttp2Stream) => void);

export type GrpcMethods = Record<string, (request: Uint8Array) => GrpcAnswer>;

/** A gRPC server in clear text: methods by path. One that it does not have is UNIMPLEMENTED. */
export function createGrpcServer(methods: GrpcMethods): Http2Server {
  const server = createServer();
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const method = methods[String(headers[':path'])];
      reply(stream, method ? method(Buffer.concat(chunks).subarray(5)) : { status: 12 });
    });
  });
  return server;
}

function reply(stream: ServerHttp2Stream, answer: GrpcAnswer): void {
  if (typeof answer === 'function') {
    answer(stream);
  } else if (answer instanceof Uint8Array) {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(answer.length, 1);
    // In two pieces, as networks may have it.
    stream.write(prefix);
    stream.end(answer);
  } else {
    const trailersOnly = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': answer.status };
    stream.respond(trailersOnly, { endStream: true });
  }
}
