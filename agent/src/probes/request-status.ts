import type { Agent, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { socketAddress } from './exchange.ts';
import { readLimitOf } from './kept-socket.ts';
import { BadAnswer } from './probe.ts';
import type { ProbeAddress } from './types.ts';

export type StatusRequest = {
  protocol: 'http' | 'https';
  /** Made for the protocol. */
  agent: Agent;
  path: string;
  headers?: Readonly<Record<string, string>>;
};

export type StatusAnswer = {
  status: number;
  /** The connection, where the server keeps it. */
  socket: Socket | undefined;
  /** When the whole answer is there, and the connection is free to be used again. */
  ended: Promise<void>;
};

/** Of an answer that is read to its end, for the sake of the connection. */
const BODY_BYTES_MAX = 64 * 1024;

/** Answers such as 103 before the one that counts. */
const INTERIMS_MAX = 8;

/**
 * Sends a GET and resolves to the status of the response as soon as that is there; its body is thrown away. Redirects
 * are not followed. Rejects with the socket's error, or with the signal's reason, and has closed the connection then.
 */
export function requestStatus(target: ProbeAddress, signal: AbortSignal, asked: StatusRequest): Promise<StatusAnswer> {
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
      ...('path' in target ? { socketPath: target.path } : socketAddress(target)),
      path,
      headers: withAgent(headers),
    });
    const stopListening = () => signal.removeEventListener('abort', onAbort);
    const fail = (error: unknown) => {
      stopListening();
      request.destroy();
      reject(error);
    };
    const onAbort = () => fail(signal.reason);
    signal.addEventListener('abort', onAbort);
    request.on('socket', (socket) => {
      readLimitOf(socket)?.ask();
    });
    let interims = 0;
    request.on('information', () => {
      interims += 1;
      if (interims > INTERIMS_MAX) fail(new BadAnswer(`sent more than ${INTERIMS_MAX} interim answers`));
    });
    // Stays on after the end: destroying the request may report an error of its own.
    request.on('error', fail);
    request.on('response', (response) => {
      stopListening();
      const { socket } = response;
      const ended = drain(response);
      const isKept = keepsConnection(response);
      if (!isKept) request.destroy();
      resolve({ status: response.statusCode ?? 0, socket: isKept ? socket : undefined, ended });
    });
    request.end();
  });
}

/** Who asks, unless the service is to see another name. */
function withAgent(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === 'user-agent');
  return isNamed ? headers : { ...headers, 'user-agent': 'rollcall-agent' };
}

/** RFC 9112, section 9.3. */
function keepsConnection({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && !/\bclose\b/i.test(headers.connection ?? '');
}

/** Resolves at the end of the answer; never for one that is cut short. */
function drain(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  return new Promise((resolve) => {
    response.on('error', () => {});
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) response.destroy();
    });
    response.on('end', () => resolve());
  });
}
