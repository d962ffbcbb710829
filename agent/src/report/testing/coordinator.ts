import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import type { TestIdentity } from './certificates.ts';

export type TakenReport = {
  report: FullReport | Heartbeat;
  authorization: string | undefined;
  path: string | undefined;
  /** When it came, by the monotonic clock. */
  atMs: number;
};

export type TestAnswer = { status?: number; headers?: Record<string, string>; body?: unknown };

/** A coordinator of a few lines behind a real socket, which does as it is told. */
export class TestCoordinator {
  readonly taken: TakenReport[] = [];
  /** `undefined` leaves the request without an answer. */
  answer: (report: FullReport | Heartbeat) => TestAnswer | undefined = () => ({ body: { nextReportSeconds: 600 } });
  readonly #identity: TestIdentity | undefined;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  /** Connections so far. */
  connections = 0;

  /** Without an identity it speaks plain HTTP. */
  constructor(identity?: TestIdentity) {
    this.#identity = identity;
  }

  get origin(): string {
    return `${this.#identity ? 'https' : 'http'}://127.0.0.1:${this.#port}`;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  get last(): TakenReport | undefined {
    return this.taken.at(-1);
  }

  /** Listens on a free port, and on the same one when started again. */
  async start(): Promise<this> {
    const server = this.#identity ? createHttpsServer(this.#identity) : createHttpServer();
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const report = JSON.parse(Buffer.concat(chunks).toString()) as FullReport | Heartbeat;
        const { authorization } = request.headers;
        this.taken.push({ report, authorization, path: request.url, atMs: performance.now() });
        const answer = this.answer(report);
        if (!answer) return;
        const { status = 200, headers = {}, body = {} } = answer;
        response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
      });
    });
    server.on('connection', (socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    const bound = server.address();
    this.#port = typeof bound === 'object' && bound ? bound.port : 0;
    return this;
  }

  /** Cuts what is connected and frees the port. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.dropConnections();
    await closed;
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** An answer of a standby. */
export function redirectTo(location: string): TestAnswer {
  return { status: 307, headers: { location } };
}
