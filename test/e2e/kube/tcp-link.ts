import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A stretch of network between a client and the API server, which a test breaks. */
export type TcpLink = {
  /** `https://127.0.0.1:<port>`. */
  readonly url: string;
  /** Ends every connection with a reset; new ones are let through. */
  cut(): void;
  /** Drops all data from now on. Connections stay open, and new ones are accepted. */
  block(): void;
  /** Ends the connections that were blocked, as their time-out would, and lets new ones through. */
  unblock(): void;
  close(): Promise<void>;
};

export async function openTcpLink(serverUrl: string): Promise<TcpLink> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let blocked = false;

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  }
  const server = createServer((near) => {
    track(near);
    if (blocked) return;
    const far = connect(Number(port), hostname);
    track(far);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => {
        if (!blocked) to.write(chunk);
      });
      from.on('close', () => {
        if (!blocked) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  function cut(): void {
    for (const socket of sockets) socket.resetAndDestroy();
  }
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    block() {
      blocked = true;
    },
    unblock() {
      blocked = false;
      cut();
    },
    close() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
