import type { ClientHttp2Session, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { type Connect, codedError, isConnectedToItself, socketAddress } from './exchange.ts';
import { KEPT } from './http-line.ts';
import { formatTarget } from './probe.ts';
import type { ProbeAddress } from './types.ts';

/** A connection of HTTP/2 in clear text. */
export type GrpcConnection = { session: ClientHttp2Session; socket: Socket };

/** What came back: a status of gRPC and its message, or, from a server that speaks something else, what that was. */
export type GrpcReply = { status: number; message: Uint8Array } | { other: string };

type ReplyHeaders = IncomingHttpHeaders & IncomingHttpStatusHeader;

const PREFIX_BYTES = 5;
/** More than any answer to a health check. Each byte may come in a frame of its own, which costs more than the byte. */
const REPLY_BYTES_MAX = 4 * 1024;

/** Connects. `onClosed` is called when either side has ended the connection; errors come out in the calls. */
export function openGrpcConnection(
  address: ProbeAddress,
  onClosed: () => void,
  connect: Connect = connectSocket,
): GrpcConnection {
  // By getBuiltinModule, because the module costs 3 MB of resident memory as soon as it is loaded and used.
  const http2 = process.getBuiltinModule('node:http2');
  const socket = connect({ ...socketAddress(address), ...KEPT, noDelay: true });
  socket.on('error', () => {});
  const authority = 'path' in address ? 'localhost' : formatTarget(address);
  const session = http2.connect(`http://${authority}`, {
    createConnection: () => socket,
    settings: { enablePush: false },
    maxSessionMemory: 1,
  });
  session.on('error', () => {});
  session.on('close', onClosed);
  // After the session has taken the socket: Node.js aborts the process when it takes one that is destroyed.
  socket.on('connect', () => {
    if (isConnectedToItself(socket)) socket.destroy(codedError('ECONNREFUSED'));
  });
  return { session, socket };
}

/**
 * Calls a method that takes one message and gives one. Rejects with the socket's error, with ECONNRESET without a
 * syscall when the server hangs up before it answers, or with the signal's reason.
 */
export function callGrpc(
  { session, socket }: GrpcConnection,
  method: string,
  message: Uint8Array,
  signal: AbortSignal,
): Promise<GrpcReply> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stream = session.request({
      ':method': 'POST',
      ':path': method,
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': 'rollcall-agent',
    });
    const onAbort = () => fail(signal.reason);
    const settle = () => {
      signal.removeEventListener('abort', onAbort);
      socket.off('error', fail);
    };
    const fail = (error: unknown) => {
      settle();
      reject(error);
      stream.destroy();
    };
    signal.addEventListener('abort', onAbort);
    // The cause comes out here before the session and the stream are told.
    socket.on('error', fail);
    let headers: ReplyHeaders = {};
    let body = Buffer.alloc(0);
    let protocolFailed = false;
    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('trailers', (received) => {
      headers = { ...headers, ...received };
    });
    stream.on('data', (chunk: Buffer) => {
      body = Buffer.concat([body, chunk]);
      if (body.length > REPLY_BYTES_MAX) stream.destroy();
    });
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      protocolFailed = code === 'ERR_HTTP2_ERROR';
    });
    stream.on('close', () => {
      settle();
      const reply = readReply(headers, body);
      if (reply) resolve(reply);
      else if (protocolFailed) resolve({ other: 'did not answer in HTTP/2' });
      else reject(codedError('ECONNRESET'));
    });
    stream.end(framed(message));
  });
}

/** `undefined` for one that is not complete. */
function readReply(headers: ReplyHeaders, body: Buffer): GrpcReply | undefined {
  const httpStatus = headers[':status'];
  if (httpStatus === undefined) return undefined;
  const isGrpc = httpStatus === 200 && headers['content-type']?.startsWith('application/grpc');
  if (!isGrpc) return { other: `answered HTTP status ${httpStatus}, and not in gRPC` };
  const status = headers['grpc-status'];
  if (status === undefined) return undefined;
  if (status !== '0') return { status: Number(status), message: body.subarray(0, 0) };
  const isWhole = body.length >= PREFIX_BYTES && body.length === PREFIX_BYTES + body.readUInt32BE(1) && body[0] === 0;
  return isWhole ? { status: 0, message: body.subarray(PREFIX_BYTES) } : { other: 'answered with no message of gRPC' };
}

/** A message that is not compressed, as it goes over the wire. */
function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
