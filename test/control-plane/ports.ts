import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/*
 * Below the range from which systems take the source ports of outgoing connections (32768 on Linux, 49152 on macOS), so
 * that a component that is down for a moment finds its port free again; and below the NodePort range.
 */
const firstPort = 15_000;
const lastPort = 29_999;
const handedOut = new Set<number>();

/** A loopback port that nobody listens on now and that this process has not been given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(firstPort, lastPort + 1);
    if (handedOut.has(port)) continue;
    if (!(await canListen(port))) continue;
    handedOut.add(port);
    return port;
  }
  throw new Error(`no free port found between ${firstPort} and ${lastPort}`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
