import { EventEmitter } from 'node:events';
import type { NetConnectOpts, Socket } from 'node:net';
import type { FakeProcess } from '@rollcall/common/testing/fake-process.ts';

/** `hangs`: the kernel accepts connections, and the process does not answer. */
export type ServiceState = 'up' | 'hangs' | 'down';

/** TLS 1.2, a handshake record that begins with a ServerHello. */
const SERVER_HELLO = Buffer.from([22, 3, 3, 0, 64, 2]);

/** What listens on one node, and the connections to it: sockets, as far as the agent's probes use them. */
export class NodeSockets {
  readonly #states = new Map<number, ServiceState>();
  readonly #open = new Map<number, Set<FakeSocket>>();

  stateOf(port: number): ServiceState {
    return this.#states.get(port) ?? 'down';
  }

  /** A process that ends has its connections reset by its kernel, at once. */
  set(port: number, state: ServiceState): void {
    this.#states.set(port, state);
    if (state !== 'down') return;
    const sockets = this.#open.get(port) ?? [];
    this.#open.delete(port);
    for (const socket of sockets) socket.reset();
  }

  /** Every connection of a process, which is no more. */
  forget(owner: FakeProcess): void {
    for (const sockets of this.#open.values())
      for (const socket of sockets) if (socket.owner === owner) sockets.delete(socket);
  }

  /** How many connections are held. */
  get size(): number {
    return [...this.#open.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Returns a stand-in for `connect` of `node:net`, for one process. */
  connectFor(owner: FakeProcess): (options: NetConnectOpts) => Socket {
    return (options) => {
      const port = 'port' in options ? options.port : Number.NaN;
      const sockets = this.#open.get(port) ?? new Set();
      this.#open.set(port, sockets);
      const socket = new FakeSocket(owner, () => this.stateOf(port), sockets);
      return socket as unknown as Socket;
    };
  }
}

/** Everything happens at once: on one node, a connection takes less than a millisecond. */
class FakeSocket extends EventEmitter {
  readonly owner: FakeProcess;
  readonly #state: () => ServiceState;
  readonly #siblings: Set<FakeSocket>;
  destroyed = false;
  readyState: 'opening' | 'open' | 'closed' = 'opening';
  bytesRead = 0;

  constructor(owner: FakeProcess, state: () => ServiceState, siblings: Set<FakeSocket>) {
    super();
    this.owner = owner;
    this.#state = state;
    this.#siblings = siblings;
    this.#soon(() => (state() === 'down' ? this.#fail('ECONNREFUSED', 'connect') : this.#connected()));
  }

  write(_bytes: Uint8Array): boolean {
    this.#soon(() => {
      if (this.#state() !== 'up') return;
      this.bytesRead += SERVER_HELLO.length;
      this.emit('data', SERVER_HELLO);
    });
    return true;
  }

  destroy(): this {
    this.#close();
    return this;
  }

  /** Resets the connection from the other end. */
  reset(): void {
    this.owner.step(() => this.#fail('ECONNRESET', 'read'));
  }

  #connected(): void {
    this.readyState = 'open';
    this.#siblings.add(this);
    this.emit('connect');
  }

  #fail(code: string, syscall: string): void {
    if (this.destroyed) return;
    this.#close();
    this.emit('error', Object.assign(new Error(code), { code, syscall }));
    this.emit('close');
  }

  #close(): void {
    this.destroyed = true;
    this.readyState = 'closed';
    this.#siblings.delete(this);
  }

  #soon(act: () => void): void {
    queueMicrotask(() =>
      this.owner.step(() => {
        if (!this.destroyed) act();
      }),
    );
  }
}
