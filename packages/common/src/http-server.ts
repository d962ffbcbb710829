import type { RequestListener, Server } from 'node:http';
import { CodedError } from './coded-error.ts';

/** Where to listen; `undefined` is a listener that is switched off. */
export type ListenAddress = { host: string; port: number } | undefined;

/**
 * `node:http` by way of `getBuiltinModule`: a static ESM import of it reads every lazy getter of the module and costs
 * 16 MB of resident memory, on every node.
 */
export function nodeHttp(): typeof import('node:http') {
  return process.getBuiltinModule('node:http');
}

/** Reads `HOST:PORT`, `:PORT`, `[IPV6]:PORT` or `off`. Returns what is wrong as `{ problem }`. */
export function parseListenAddress(text: string): { address: ListenAddress } | { problem: string } {
  if (text === 'off') return { address: undefined };
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/.exec(text);
  const port = Number(match?.groups?.['port']);
  if (!match || port > 65_535) return { problem: 'must be HOST:PORT, with a port of 0 to 65535, or off' };
  return { address: { host: match.groups?.['v6'] ?? (match.groups?.['host'] || '0.0.0.0'), port } };
}

/** Opens `server` and resolves to the address it got. Throws LISTEN_FAILED. */
export function listen(
  server: Server,
  address: { host: string; port: number },
): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    // It stays when the server is open: a connection that could not be accepted must not end the program.
    server.on('error', (cause) => {
      const where = `${address.host}:${address.port}`;
      reject(new CodedError('LISTEN_FAILED', `Cannot listen on ${where}`, { cause, fields: { address: where } }));
    });
    server.listen(address.port, address.host, () => {
      const bound = server.address();
      resolve({ host: address.host, port: typeof bound === 'object' && bound ? bound.port : address.port });
    });
  });
}

/** Closes a server: no new connections, idle ones ended at once, the rest after `graceMs`. */
export function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** A plain HTTP server with limits on everything that a client could draw out. */
export function createPlainServer(listener: RequestListener): Server {
  const server = nodeHttp().createServer(
    { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 30_000 },
    listener,
  );
  server.maxConnections = 256;
  return server;
}
