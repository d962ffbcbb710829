import { get } from 'node:http';
import { systemClock } from '@rollcall/common/clock.ts';
import type { NodesDocument } from '@rollcall/common/console.ts';
import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stage } from '../controller/node-controller.test-fixtures.ts';
import { nodeSummary } from './console/fleet-documents.ts';
import { FleetNews } from './console/fleet-news.ts';
import { type ConsoleOptions, openConsole } from './open-console.ts';

const NODES = 5000;

let life: Lifecycle;
beforeEach(() => {
  life = new Lifecycle(silentLogger());
});
afterEach(() => life.stop());

/** The longest that the loop was held meanwhile, in milliseconds of this thread: others may take the machine. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  let longestUs = 0;
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  let before = process.threadCpuUsage();
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.threadCpuUsage(before);
    longestUs = Math.max(longestUs, user + system);
    before = process.threadCpuUsage();
  }
  return longestUs / 1000;
}

test('no document about 5,000 nodes holds the loop for 20 ms', async () => {
  const { queries, evaluator, addNode } = stage();
  for (let n = 0; n < NODES; n += 1) addNode(`node-${n}`);
  const replica = () => ({ leading: true });
  const summary = (name: string) => nodeSummary(queries, name);
  const news = new FleetNews({ clock: systemClock, summary, replica: replica as never });
  const options = {
    nodes: queries,
    evaluator,
    services: () => [],
    refusedObjects: () => [],
    servicesNowhere: () => [],
    replica,
    clock: systemClock,
    leadershipState: { leads: () => true },
    news,
  } as unknown as ConsoleOptions;
  const bound = await openConsole('127.0.0.1:0', options, life);
  const ask = (path: string) =>
    new Promise<string>((resolve, reject) => {
      get(`http://127.0.0.1:${bound?.port}${path}`, { agent: false }, (response) => {
        response.toArray().then((chunks) => resolve(Buffer.concat(chunks).toString()), reject);
      }).on('error', reject);
    });
  for (const path of ['/v1/nodes', '/v1/plan']) {
    // Once to warm up: a program that has run for a while is what is asked.
    await ask(path);
    const longest: number[] = [];
    // What holds it by itself does so each time; a collection of garbage, or a core that others use, does not.
    for (let round = 0; round < 10; round += 1) {
      // Nothing is known of any node.
      news.restart();
      const answer = ask(path);
      longest.push(await longestTurn(answer));
      const { nodes } = JSON.parse(await answer) as NodesDocument;
      if (path === '/v1/nodes') expect(nodes).toHaveLength(NODES);
    }
    expect(Math.min(...longest)).toBeLessThan(20);
  }
});
