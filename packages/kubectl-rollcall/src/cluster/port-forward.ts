import { createServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { type KubeConfig, PortForward } from '@kubernetes/client-node';
import { CommandFailure } from '../failure.ts';

export type Forwarded = { url: string; close: () => void };

/**
 * Listens on a free port of this machine, and passes each connection on to a port of a pod, by the API server. `onError`
 * is told why a connection could not be passed on.
 */
export async function forwardPort(
  kubeConfig: KubeConfig,
  target: { namespace: string; pod: string; port: number },
  { port = 0, onError }: { port?: number; onError: (reason: string) => void },
): Promise<Forwarded> {
  const forward = new PortForward(kubeConfig);
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const problems = new Writable({
      write(chunk: Buffer, _encoding, done) {
        // The stream of errors begins with the number of the port, of which nothing is left by now.
        if (chunk.length > 0) {
          onError(String(chunk));
          socket.destroy();
        }
        done();
      },
    });
    forward.portForward(target.namespace, target.pod, [target.port], socket, problems, socket).then(
      (opened) => {
        const wire = typeof opened === 'function' ? opened() : opened;
        wire?.addEventListener('close', () => socket.end());
        socket.once('close', () => wire?.close());
      },
      (error: unknown) => {
        onError(reasonOf(error));
        socket.destroy();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(portFailure(port, cause))).listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}`,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function portFailure(port: number, cause: Error): CommandFailure {
  const message = `Cannot listen on port ${port}: ${cause.message}`;
  return new CommandFailure(message, 'choose another --port, or leave it out to use any free port', { cause });
}

/** The library rejects with an event of its web socket. */
function reasonOf(error: unknown): string {
  if (error !== null && typeof error === 'object' && 'message' in error) return String(error.message);
  return String(error);
}
