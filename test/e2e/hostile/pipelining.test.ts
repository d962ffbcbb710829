import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGENT_V8_FLAGS } from '../../../deploy/source/chart/agent-values.ts';
import { COORDINATOR_V8_FLAGS } from '../../../deploy/source/chart/coordinator-values.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import { METRICS_REQUEST, oneRead, pour, pourAgain, TINY_CHUNKS, UNKNOWN_PATH_REQUEST } from '../../rig/pipelining.ts';
import type { Rig } from '../../rig/rig.ts';
import { processUsage } from '../../scale/process-usage.ts';

const GROWTH_MIB_MAX = 80;
const HEALTH_MS_MAX = 500;
const ATTACK_MS = 5_000;
/** Refusals on one connection to the listener for reports. */
const REFUSALS_MAX = 3;
/** Time limit of a whole request, after which its connection ends in any case. */
const REQUEST_MS = 10_000;
/** What a connection still takes after a refusal, with what the buffers of the kernel hold. */
const LINGER_MIB_MAX = 16;

let embedded: EmbeddedRig;
let rig: Rig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 0,
    coordinatorProcess: { nodeArgs: COORDINATOR_V8_FLAGS },
  });
  rig = embedded.rig;
  await rig.addNode({ agentProcess: { nodeArgs: AGENT_V8_FLAGS } });
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

describe('an agent with the memory that the chart gives it', () => {
  const alive = async () => {
    const node = rig.node(0);
    expect((await httpGet(`${node.healthUrl}/healthz`)).status).toBe(200);
    expect(node.agent?.running).toBe(true);
  };

  test('survives three times as many requests as fit into one read', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { closed } = await pour(rig.node(0).healthUrl, { head: oneRead(METRICS_REQUEST), forMs: 20_000 });
      expect(closed).toBe(true);
      await alive();
    }
  });

  test.each([
    ['the metrics', METRICS_REQUEST],
    ['a path that does not exist', UNKNOWN_PATH_REQUEST],
    ['anything without a Host', 'GET / HTTP/1.1\r\n\r\n'],
  ])('survives a stream of requests for %s on sixteen connections', async (_what, request) => {
    const body = oneRead(request);
    await pourAgain(rig.node(0).healthUrl, { body }, { connections: 16, forMs: ATTACK_MS });
    await alive();
  });
});

test('sixteen connections that do not wait for answers cost the leader little, and delay neither /healthz nor the Lease', async () => {
  const leader = await rig.leader();
  const before = (await processUsage(leader.pid)).rssMiB;
  let peakMiB = before;
  const healthMs: number[] = [];
  let over = false;
  const attack = pourAgain(leader.healthUrl, { body: oneRead(METRICS_REQUEST) }, { connections: 16, forMs: ATTACK_MS });
  const ended = attack.then(() => {
    over = true;
  });
  while (!over) {
    const startMs = performance.now();
    expect((await leader.get('/healthz')).status).toBe(200);
    healthMs.push(performance.now() - startMs);
    peakMiB = Math.max(peakMiB, (await processUsage(leader.pid)).rssMiB);
    await sleep(50);
  }
  await ended;
  expect(peakMiB - before).toBeLessThan(GROWTH_MIB_MAX);
  // The median: single answers wait for the other processes of a busy machine.
  expect(healthMs.toSorted((a, b) => a - b)[Math.floor(healthMs.length / 2)]).toBeLessThan(HEALTH_MS_MAX);
  expect(await leader.leads()).toBe(true);
  expect(leader.logs.filter(({ msg }) => msg === 'Started leading')).toHaveLength(1);
});

describe('the listener for reports', () => {
  test('gives no more answers than the budget for refusals to requests that were sent at once', async () => {
    const { reportsUrl } = await rig.leader();
    const head = 'GET /x HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(606);
    const { answers, closed } = await pour(reportsUrl, { head, forMs: 20_000 });
    expect(closed).toBe(true);
    expect(answers).toBeLessThanOrEqual(REFUSALS_MAX);
  });

  test('ends the connection of a refused request instead of reading its body', async () => {
    const { reportsUrl } = await rig.leader();
    const { answers, bytesSent, closed } = await pour(reportsUrl, { ...TINY_CHUNKS, forMs: REQUEST_MS / 2 });
    // Who goes on sending may find the connection closed, and not the answer.
    expect(answers).toBeLessThanOrEqual(1);
    expect(closed).toBe(true);
    expect(bytesSent).toBeLessThan(LINGER_MIB_MAX * 2 ** 20);
  });

  test('closes a connection after three requests for a path that does not exist', async () => {
    const { reportsUrl } = await rig.leader();
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    const connections: unknown[] = [];
    for (let index = 0; index < REFUSALS_MAX; index += 1) {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(`${reportsUrl}/x`, { agent }, resolve).on('error', reject);
      });
      response.resume();
      await once(response, 'end');
      expect(response.statusCode).toBe(404);
      connections.push(response.headers.connection);
    }
    agent.destroy();
    expect(connections).toEqual(['keep-alive', 'keep-alive', 'close']);
  });
});
