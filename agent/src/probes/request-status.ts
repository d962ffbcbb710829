import type { Agent } from 'node:http';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { codedError, isConnectedToItself } from './exchange.ts';

export type StatusRequest = {
  protocol: 'http' | 'https';
  /** Made for the protocol. */
  agent: Agent;
  path: string;
  headers?: Readonly<Record<string, string>>;
};

/**
 * Sends a GET and resolves to the status of the response, whose body is not read. Redirects are not followed. The
 * connection is closed in any case. Rejects with the socket's error, or with the signal's reason.
 */
export function requestStatus(target: ProbeTarget, signal: AbortSignal, asked: StatusRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const { protocol, agent, path, headers } = asked;
    // By getBuiltinModule, because the HTTP modules cost memory as soon as they are loaded.
    const { request: send } =
      protocol === 'https' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http');
    const request = send({
      agent,
      host: target.host,
      port: target.port,
      path,
      headers: { ...headers, 'user-agent': 'rollcall-agent' },
    });
    const onAbort = () => fail(signal.reason);
    const close = () => {
      signal.removeEventListener('abort', onAbort);
      request.destroy();
    };
    const fail = (error: unknown) => {
      close();
      reject(error);
    };
    signal.addEventListener('abort', onAbort);
    request.on('socket', (socket) => {
      socket.on('connect', () => {
        if (isConnectedToItself(socket)) fail(codedError('ECONNREFUSED'));
      });
    });
    // Stays on after the end: destroying the request may report an error of its own.
    request.on('error', fail);
    request.on('response', (response) => {
      response.on('error', () => {});
      close();
      resolve(response.statusCode ?? 0);
    });
    request.end();
  });
}
