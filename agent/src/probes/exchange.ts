import { connect as connectSocket, type NetConnectOpts, type Socket } from 'node:net';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { ProbeAddress } from './types.ts';

/** Opens a connection, like `connect` of `node:net`. */
export type Connect = (options: NetConnectOpts) => Socket;

const NOTHING = new Uint8Array(0);

/**
 * Opens a connection, sends `hello` and resolves to the first `replyBytes` bytes of what comes back; with 0 bytes,
 * resolves when connected. The connection is closed in any case. Rejects with the socket's error (a peer that hangs up
 * early is ECONNRESET without a syscall, as in node:https), or with the signal's reason.
 */
export function exchange(
  target: ProbeAddress,
  signal: AbortSignal,
  hello: Uint8Array = NOTHING,
  replyBytes = 0,
  connect: Connect = connectSocket,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    let reply: Buffer = Buffer.alloc(0);
    const socket = connect({ ...socketAddress(target), noDelay: true });
    const onAbort = () => fail(signal.reason);
    const close = () => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
    };
    const fail = (error: unknown) => {
      close();
      reject(error);
    };
    const finishWhenComplete = () => {
      if (reply.length < replyBytes) return;
      close();
      resolve(reply.subarray(0, replyBytes));
    };
    signal.addEventListener('abort', onAbort);
    // Stays on after the end: an error that comes late must not go unhandled.
    socket.on('error', fail);
    socket.on('end', () => fail(codedError('ECONNRESET')));
    socket.on('connect', () => {
      if (isConnectedToItself(socket)) return fail(codedError('ECONNREFUSED'));
      if (hello.length > 0) socket.write(hello);
      finishWhenComplete();
    });
    socket.on('data', (chunk: Buffer) => {
      reply = Buffer.concat([reply, chunk]);
      finishWhenComplete();
    });
  });
}

/**
 * Whether a socket is connected to itself. Connecting to a port of one's own host on which no process listens succeeds
 * when the kernel happens to choose that very port as the source (simultaneous open, RFC 9293 section 3.5). Such a
 * connection would even keep the service from binding its port.
 */
export function isConnectedToItself(socket: Socket): boolean {
  if (socket.remotePort === undefined) return false;
  return socket.localPort === socket.remotePort && socket.localAddress === socket.remoteAddress;
}

/** An address as `connect` takes it, whatever else the object holds. Throws for a name, which nothing connects to. */
export function socketAddress(address: ProbeAddress): ProbeTarget | { path: string } {
  if ('name' in address) throw codedError('EINVAL');
  return 'path' in address ? { path: address.path } : { host: address.host, port: address.port };
}

/** An error as a socket would give it. */
export function codedError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}
