import type { RequestListener, Server } from 'node:http';
import { createServer, type ListenOptions, type Server as NetServer, type Socket } from 'node:net';
import { CodedError } from './coded-error.ts';
import { createHttpServer } from './http-connection.ts';

/** The address to listen on; `undefined` is a listener that is switched off. */
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
  return { address: { host: match.groups?.['v6'] ?? (match.groups?.['host'] || EVERYWHERE), port } };
}

/** All addresses, of IPv4 and IPv6. */
const EVERYWHERE = '::';
/** What opening it says on a machine that has no IPv6, or had it taken away. */
const NO_IPV6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/**
 * Opens `server` and resolves to the address it got. Where there is no IPv6, `::` is all addresses of IPv4. Throws
 * LISTEN_FAILED.
 */
export async function listen(
  server: Server,
  address: { host: string; port: number },
): Promise<{ host: string; port: number }> {
  const where = `${address.host}:${address.port}`;
  const { helpers, connections }: Opened = { helpers: [], connections: new Set() };
  opened.set(server, { helpers, connections });
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.once('close', () => helpers.forEach((each) => void each.close()));
  try {
    return await open(server, address).catch((error: { code?: unknown }) => {
      if (address.host !== EVERYWHERE || !NO_IPV6.includes(error.code)) throw error;
      return open(server, { ...address, host: '0.0.0.0' });
    });
  } catch (cause) {
    throw new CodedError('LISTEN_FAILED', `Cannot listen on ${where}`, { cause, fields: { address: where } });
  }
}

/**
 * Sockets that listen at one address. In each turn of the event loop, Node.js accepts one connection of each: with a single
 * one, whoever opens connections without end decides how many turns all others wait.
 */
const SOCKETS = process.platform === 'linux' ? 16 : 1;

type Opened = {
  /** What accepts connections for the server, beside its own socket. */
  helpers: NetServer[];
  /** All of them, those included that wait for their turn, which Node.js does not know as its own. */
  connections: Set<Socket>;
};

const opened = new WeakMap<Server, Opened>();

async function open(server: Server, address: { host: string; port: number }): Promise<{ host: string; port: number }> {
  if (SOCKETS === 1) return { ...address, port: await openSocket(server, address) };
  // Alone at first: an address that another process listens at in this way would be shared with it.
  if (address.port !== 0) {
    const alone = createServer();
    await openSocket(alone, address);
    await close(alone);
  }
  const port = await openSocket(server, { ...address, reusePort: true });
  const { allowHalfOpen, noDelay, pauseOnConnect } = server as Server & Record<string, boolean>;
  const accept = (socket: Socket) => void server.emit('connection', socket);
  const others = Array.from({ length: SOCKETS - 1 }, () =>
    createServer({ allowHalfOpen, noDelay, pauseOnConnect }, accept),
  );
  opened.get(server)?.helpers.push(...others);
  await Promise.all(others.map((each) => openSocket(each, { ...address, port, reusePort: true })));
  return { ...address, port };
}

/** Resolves to the port. */
function openSocket(server: NetServer, options: ListenOptions & { port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    // It stays when the server is open: a connection that could not be accepted must not end the program.
    server.on('error', reject);
    server.listen(options, () => {
      const bound = server.address();
      resolve(typeof bound === 'object' && bound ? bound.port : options.port);
    });
  });
}

function close(server: NetServer): Promise<void> {
  return new Promise((resolve) => void server.close(() => resolve()));
}

/** Closes a server: no new connections, idle ones ended at once, the rest after `graceMs`. */
export async function closeServer(server: Server, graceMs: number): Promise<void> {
  const { helpers = [], connections = [] } = opened.get(server) ?? {};
  const timer = setTimeout(() => {
    server.closeAllConnections();
    for (const socket of connections) socket.destroy();
  }, graceMs);
  const closed = [server, ...helpers].map(close);
  server.closeIdleConnections();
  await Promise.all(closed);
  clearTimeout(timer);
}

/** Open connections of a server without authentication. */
export const CONNECTIONS_MAX = 256;

/** A plain HTTP server with limits on everything that a client could draw out. */
export function createPlainServer(listener: RequestListener): Server {
  const server = createHttpServer(
    { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 30_000 },
    listener,
  );
  makeRoom(server, CONNECTIONS_MAX);
  return server;
}

/** A name for a connection that its TCP socket and the TLS socket upon it share; `undefined` once it is closed. */
export function connectionKey(socket: Socket): string | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  return remoteAddress && `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/**
 * Accepts every connection, HTTP and HTTPS alike: beyond `connectionsMax`, it closes the connection that has been idle
 * for the longest time. So no client keeps others out by holding connections open.
 */
export function makeRoom(server: Server, connectionsMax: number): void {
  /** The longest unused first. */
  const sockets = new Map<string, Socket>();
  const use = (key: string | undefined) => {
    const socket = key === undefined ? undefined : sockets.get(key);
    if (key === undefined || !socket) return;
    sockets.delete(key);
    sockets.set(key, socket);
  };
  server.on('connection', (socket) => {
    const key = connectionKey(socket);
    // Closed before it was looked at.
    if (key === undefined) return void socket.destroy();
    sockets.set(key, socket);
    socket.once('close', () => sockets.get(key) === socket && sockets.delete(key));
    const [longest] = sockets;
    if (sockets.size <= connectionsMax || !longest) return;
    sockets.delete(longest[0]);
    longest[1].destroy();
  });
  server.on('request', (request, response) => {
    const key = connectionKey(request.socket);
    use(key);
    response.once('close', () => use(key));
  });
}
