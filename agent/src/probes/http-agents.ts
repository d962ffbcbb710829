import type { Agent } from 'node:http';
import type { NetConnectOpts, Socket } from 'node:net';
import { limitReads, openKeptSocket, overTls } from './kept-socket.ts';
import type { TlsTrust } from './tls-contexts.ts';

type ConnectOptions = NetConnectOpts & { host: string; port: number; socketPath?: string };

/**
 * An agent of Node.js for the connections of one service; of our own, because the global one may have been given a proxy.
 * With `trust` it speaks TLS.
 */
export function httpAgent(trust?: TlsTrust): Agent {
  // By getBuiltinModule, because the HTTP modules cost memory as soon as they are loaded.
  if (!trust) return withConnections(new (process.getBuiltinModule('node:http').Agent)({ keepAlive: true }), limited);
  const { Agent } = process.getBuiltinModule('node:https');
  return withConnections(new Agent({ keepAlive: true, maxCachedSessions: 0 }), (socket, options) =>
    overTls(socket, trust, options),
  );
}

function limited(socket: Socket): Socket {
  limitReads(socket);
  return socket;
}

function withConnections(agent: Agent, over: (socket: Socket, options: ConnectOptions) => Socket): Agent {
  agent.createConnection = (options) => {
    const { host, port, socketPath } = options as ConnectOptions;
    const address = socketPath === undefined ? { host, port } : { path: socketPath };
    return over(openKeptSocket(address), options as ConnectOptions);
  };
  return agent;
}
