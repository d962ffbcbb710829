import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { killChild, spawnChild } from './child.ts';
import { freePort, loopbackNetwork } from './ports.ts';
import { waitFor } from './wait-for.ts';

const PORTS = path.join(import.meta.dirname, 'ports.ts');
/** More than one block has. */
const WANTED = 150;

const children: ChildProcess[] = [];
afterEach(async () => {
  await Promise.all(children.splice(0).map(killChild));
});

/** A process that takes ports and a network, tells them, and lives on without listening on any of the ports. */
async function taker(): Promise<{ ports: number[]; network: string }> {
  const script = `
    import { freePort, loopbackNetwork } from ${JSON.stringify(PORTS)};
    const ports = await Promise.all(Array.from({ length: ${WANTED} }, freePort));
    process.stdout.write(JSON.stringify({ ports, network: await loopbackNetwork() }) + String.fromCharCode(10));
    setInterval(() => {}, 1000);`;
  const child = spawnChild(process.execPath, { args: ['--input-type=module', '--eval', script] });
  children.push(child);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await waitFor('the ports to be taken', () => text.endsWith('\n'), { timeoutMs: 30_000 });
  return JSON.parse(text);
}

test('a port that is free for a moment is given to no other process and to no other caller in this one', async () => {
  const takers = await Promise.all([taker(), taker(), taker()]);
  const ports = takers.flatMap((each) => each.ports);
  ports.push(...(await Promise.all(Array.from({ length: WANTED }, freePort))));
  expect(new Set(ports).size).toBe(4 * WANTED);
  const networks = [...takers.map(({ network }) => network), await loopbackNetwork(), await loopbackNetwork()];
  expect(new Set(networks).size).toBe(5);
  for (const network of networks) expect(network).toMatch(/^127\.\d+\.\d+$/);
});
