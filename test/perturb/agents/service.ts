import { createServer, type Server, type Socket } from 'node:net';

/** A service that takes connections at an address, and may die and return. */
export class Service {
  readonly #host: string;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
  }

  async start(): Promise<void> {
    const server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
      socket.resume();
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, this.#host, resolve);
    });
  }

  /** Closes the sockets, as the kernel does when a process is killed. */
  stop(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
