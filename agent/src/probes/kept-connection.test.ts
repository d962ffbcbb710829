import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { KeptConnection } from './kept-connection.ts';
import { eventually } from './testing/limits.ts';
import { createRawServer, listenOnLoopback } from './testing/servers.ts';
import type { ProbeResult } from './types.ts';

const ANSWER: ProbeResult = { verdict: 'healthy', evidence: 'answered' };

let closed: string[];
let lost: number;
let kept: KeptConnection<string>;

beforeEach(() => {
  closed = [];
  lost = 0;
  kept = new KeptConnection(
    (each) => closed.push(each),
    () => {
      lost += 1;
    },
  );
  onTestFinished(() => kept.release());
});

async function serve() {
  const server = await listenOnLoopback(createRawServer((socket) => socket.resume()));
  onTestFinished(server.close);
  return server;
}

it('reports a loss once, and not for a connection that is no longer kept', () => {
  kept.keep('first');
  kept.keep('second');
  kept.lost('first');
  expect([lost, kept.current]).toEqual([0, 'second']);
  kept.lost('second');
  kept.lost('second');
  expect([lost, kept.current]).toEqual([1, undefined]);
  expect(closed).toEqual([]);
});

it('leaves a loss to the question under way, and does not report it afterwards', async () => {
  kept.keep('first');
  const losing = async () => {
    kept.lost('first');
    return ANSWER;
  };
  expect(await kept.ask(false, losing)).toBe(ANSWER);
  expect([lost, kept.current]).toEqual([0, undefined]);
  kept.keep('second');
  await expect(kept.ask(false, () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
  kept.lost('second');
  expect(lost).toBe(1);
});

it('closes the kept one before a question that has to go over a new one', async () => {
  kept.keep('first');
  await kept.ask(false, async () => ANSWER);
  expect([closed, kept.current]).toEqual([[], 'first']);
  await kept.ask(true, async () => {
    expect([closed, kept.current]).toEqual([['first'], undefined]);
    return ANSWER;
  });
  expect(lost).toBe(0);
});

it('holds an idle one only while there is no other', async () => {
  const server = await serve();
  kept.hold(undefined);
  kept.hold(server);
  await eventually(() => expect(server.connections.size).toBe(1));
  kept.keep('first');
  kept.hold(server);
  await eventually(() => expect(server.connections.size).toBe(0));
  kept.lost('first');
  kept.hold(server);
  await eventually(() => expect(server.connections.size).toBe(1));
  kept.keep('second');
  kept.release();
  await eventually(() => expect(server.connections.size).toBe(0));
  expect([closed, kept.current]).toEqual([['second'], undefined]);
  // Only the loss of the first connection.
  expect(lost).toBe(1);
});
