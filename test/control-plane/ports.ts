import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/*
 * Below the range from which systems take the source ports of outgoing connections (32768 on Linux, 49152 on macOS), so
 * that a component that is down for a moment finds its port free again; and below the NodePort range.
 */
const firstPort = 15_000;
const portsPerBlock = 100;
const blocks = 150;

type Block = { readonly index: number; readonly ports: number[] };

let claimed: Promise<Block> | undefined;
let networks = 0;

/**
 * A loopback port that no process listens on now, and that no other process and no later call is given while this process
 * lives: a program that is down for a moment finds its port free again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    claimed ??= claimBlock();
    const current = claimed;
    const port = (await current).ports.shift();
    if (port === undefined) {
      // The ports of the block that is used up stay with this process.
      if (claimed === current) claimed = undefined;
    } else if (await canListen(port)) return port;
  }
}

/** The first three numbers of loopback addresses that no other process and no later call is given. Linux only. */
export async function loopbackNetwork(): Promise<string> {
  claimed ??= claimBlock();
  const { index } = await claimed;
  return `127.${64 + index}.${networks++}`;
}

/** The first port of a block is its lock: who listens there has the block, and the kernel takes it back at the end. */
async function claimBlock(): Promise<Block> {
  const start = randomInt(blocks);
  for (let offset = 0; offset < blocks; offset++) {
    const index = (start + offset) % blocks;
    const lock = firstPort + index * portsPerBlock;
    const server = await listen(lock);
    server?.unref();
    if (server) return { index, ports: Array.from({ length: portsPerBlock - 1 }, (_, nth) => lock + 1 + nth) };
  }
  throw new Error(`no free ports found from ${firstPort} on`);
}

async function canListen(port: number): Promise<boolean> {
  const server = await listen(port);
  if (!server) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(server));
  });
}
