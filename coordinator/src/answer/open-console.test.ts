import { get } from 'node:http';
import { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConsoleOptions, openConsole } from './open-console.ts';

let life: Lifecycle;
beforeEach(() => {
  life = new Lifecycle(silentLogger());
});
afterEach(() => life.stop());

test('a pod that is named like none is not there, and nobody is asked for it', async () => {
  const asked: unknown[] = [];
  const client = {
    request: async (request: unknown) => {
      asked.push(request);
      return { items: [] };
    },
  };
  const options = {
    client,
    decider: { fleet: { nodeNames: () => [] } },
    standing: { leads: () => true },
    replica: () => ({}),
  } as unknown as ConsoleOptions;
  const bound = await openConsole('127.0.0.1:0', options, life);
  const status = (pod: string) =>
    new Promise((resolve, reject) => {
      get(
        `http://127.0.0.1:${bound?.port}/v1/schedule?pod=${encodeURIComponent(pod)}`,
        { agent: false },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      ).on('error', reject);
    });
  for (const pod of ['a/b,status.phase=Pending', 'a/b=c', '../b', 'a/..', '\0/x', 'A/b', `a/${'b'.repeat(300)}`]) {
    expect(await status(pod)).toBe(404);
  }
  expect(asked).toEqual([]);
  expect(await status('default/ws-1.x')).toBe(404);
  expect(asked).toHaveLength(1);
});
