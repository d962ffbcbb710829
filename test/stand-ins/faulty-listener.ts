import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './faults.ts';

const idleMs = 200;
const idleCheckMs = 25;

export interface FaultyListenerOptions {
  readonly host: string;
  /** 0 takes any free one, and the same again after `refuse`. */
  readonly port: number;
  /** Speaks the protocol on a connection; the socket is paused. */
  readonly serve: (socket: Socket) => void;
  /** Whether `serve` answers requests, and itself sees to `slow` and `status` for each of them. */
  readonly answersRequests: boolean;
}

interface Connection {
  readonly socket: Socket;
  bytes: number;
  lastActive: number;
}

/** Accepts TCP connections, does to them what the present fault says, and has the rest served. */
export class FaultyListener {
  readonly #options: FaultyListenerOptions;
  readonly #server: Server;
  readonly #connections = new Map<Socket, Connection>();
  readonly #held: (() => void)[] = [];
  #port: number;
  #fault: Fault = { kind: 'none' };
  #idleTimer: NodeJS.Timeout | undefined;
  #accepted = 0;

  constructor(options: FaultyListenerOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#accept(socket));
  }

  get fault(): Fault {
    return this.#fault;
  }

  /** Connections accepted since the start, and those that are open now. */
  get counts(): { accepted: number; open: number } {
    return { accepted: this.#accepted, open: this.#connections.size };
  }

  /** Returns the port. */
  async listen(): Promise<number> {
    if (this.#server.listening) return this.#port;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: this.#options.host, port: this.#port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    const address = this.#server.address();
    if (address !== null && typeof address === 'object') this.#port = address.port;
    return this.#port;
  }

  /**
   * Switches to another fault; resolves when it is in force, also for the connections that are open.
   * @throws for `status` where no requests are answered.
   */
  async apply(fault: Fault): Promise<void> {
    if (fault.kind === 'status' && !this.#options.answersRequests) throw new Error('no HTTP is spoken here');
    this.#fault = fault;
    clearInterval(this.#idleTimer);
    if (fault.kind !== 'hang') for (const goOn of this.#held.splice(0)) goOn();
    if (fault.kind === 'refuse') return this.close();
    await this.listen();
    for (const { socket } of this.#connections.values()) this.#strike(socket);
    if (fault.kind === 'close-idle') this.#idleTimer = setInterval(() => this.#closeIdle(), idleCheckMs);
  }

  /** Resolves when no `hang` is in force (any more). Await it before a delayed answer. */
  async untilNotHanging(): Promise<void> {
    if (this.#fault.kind === 'hang') await new Promise<void>((resolve) => this.#held.push(resolve));
  }

  /** Stops listening and hangs up on every client. */
  async close(): Promise<void> {
    clearInterval(this.#idleTimer);
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const { socket } of this.#connections.values()) socket.destroy();
    await closed;
  }

  async #accept(socket: Socket): Promise<void> {
    this.#accepted++;
    this.#connections.set(socket, { socket, bytes: 0, lastActive: Date.now() });
    socket.on('error', () => {});
    socket.once('close', () => this.#connections.delete(socket));
    if (this.#strike(socket)) return;
    await this.untilNotHanging();
    if (this.#fault.kind === 'slow' && !this.#options.answersRequests) await sleep(this.#fault.delayMs);
    if (!socket.destroyed) this.#options.serve(socket);
  }

  /** Applies the fault to a new connection. Returns whether the connection is done. */
  #strike(socket: Socket): boolean {
    if (this.#fault.kind === 'reset') {
      socket.resetAndDestroy();
      return true;
    }
    if (this.#fault.kind === 'half-open') {
      socket.end();
      socket.resume();
      return true;
    }
    return false;
  }

  #closeIdle(): void {
    const now = Date.now();
    for (const connection of this.#connections.values()) {
      const bytes = connection.socket.bytesRead + connection.socket.bytesWritten;
      if (bytes !== connection.bytes) {
        connection.bytes = bytes;
        connection.lastActive = now;
      } else if (now - connection.lastActive >= idleMs) {
        connection.socket.destroy();
      }
    }
  }
}
