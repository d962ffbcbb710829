import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, onTestFinished, test } from 'vitest';
import { Connection, type Loss } from './connection.ts';
import { type Asked, type EventStream, settled, standInForFetch } from './fetch.test-fixtures.ts';

const REPLICA = replicaDocument();
const NODE = nodeSummary();

/** A connection that runs, with what it told, in words, and what it asked for. */
function connected() {
  const clock = new FakeClock();
  const asked = standInForFetch();
  const told: string[] = [];
  const losses: Loss[] = [];
  const ending = new AbortController();
  const connection = new Connection(clock, {
    replica: ({ name }) => told.push(`replica ${name}`),
    nodes: (nodes) => told.push(`nodes ${nodes.map(({ name }) => name).join()}`),
    node: ({ name }) => told.push(`node ${name}`),
    gone: (name) => told.push(`gone ${name}`),
    live: () => told.push('live'),
    lost: (loss) => {
      told.push(`lost: ${loss.reason}`);
      losses.push(loss);
    },
  });
  const ended = connection.run(ending.signal);
  onTestFinished(() => ending.abort());
  const latest = (): Asked => {
    const last = asked.at(-1);
    if (!last) throw new Error('Nothing was asked');
    return last;
  };
  const delayMs = () => Math.ceil((losses.at(-1)?.nextTryMs ?? 0) - clock.now());
  const paths = () => asked.map(({ path }) => path);
  return { clock, connection, told, losses, ending, ended, latest, delayMs, paths };
}

async function listed(latest: () => Asked, eventId?: string): Promise<void> {
  latest().answer(Response.json({ replica: REPLICA, nodes: [NODE], ...(eventId ? { eventId } : {}) }));
  await settled();
}

async function sent(stream: EventStream, name: string, data: object, id?: string): Promise<void> {
  stream.send(`event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`);
  await settled();
}

/** One that follows a stream from after event 5. */
async function following() {
  const found = connected();
  await listed(found.latest, '5');
  const stream = found.latest().stream();
  await settled();
  found.told.length = 0;
  return { ...found, stream };
}

test('the list is read first, then the stream from there on', async () => {
  const { told, latest, paths } = connected();
  expect(paths()).toEqual(['v1/nodes']);
  await listed(latest, '5');
  expect(told).toEqual([`replica ${REPLICA.name}`, 'nodes node-1']);
  expect(paths()).toEqual(['v1/nodes', 'v1/stream?after=5']);
});

test('what the stream says is told, and then that everything is known', async () => {
  const { told, stream } = await following();
  await sent(stream, 'replica', { name: 'r' });
  await sent(stream, 'node', { name: 'a' }, '6');
  await sent(stream, 'node-gone', { name: 'b' }, '7');
  expect(told).toEqual(['replica r', 'live', 'node a', 'live', 'gone b', 'live']);
});

test('a stream that ends is followed again from the last event that had an id', async () => {
  const { told, stream, clock, delayMs, paths } = await following();
  await sent(stream, 'node', { name: 'a' }, '6');
  await sent(stream, 'replica', { name: 'r' });
  stream.end();
  await settled();
  expect(told.at(-1)).toBe('lost: The coordinator ended the connection');
  await clock.advance(delayMs() - 1);
  expect(paths()).toHaveLength(2);
  await clock.advance(1);
  await settled();
  expect(paths().slice(2)).toEqual(['v1/stream?after=6']);
});

test('the list is read again at once where the stream cannot go on from there', async () => {
  const { told, stream, paths, latest } = await following();
  const before = latest();
  stream.send('event: node\ndata: {"name":"a"}\n\nevent: reset\ndata: {"eventId":"9"}\n\n');
  await settled();
  expect(told).toEqual([]);
  expect(paths().slice(2)).toEqual(['v1/nodes']);
  expect(before.isAborted()).toBe(true);
});

test('a replica that does not lead is asked again every three seconds', async () => {
  const { told, latest, clock, paths } = connected();
  await listed(latest);
  expect(told.at(-1)).toBe('live');
  await clock.advance(2999);
  expect(paths()).toHaveLength(1);
  await clock.advance(1);
  expect(paths()).toEqual(['v1/nodes', 'v1/nodes']);
});

test('a stream that is silent for 35 seconds is lost', async () => {
  const { told, losses, clock, stream } = await following();
  const began = clock.now();
  await clock.advance(34_999);
  await settled();
  expect(told).toEqual([]);
  await clock.advance(1);
  await settled();
  expect(told).toEqual(['lost: Nothing was heard any more']);
  expect(losses[0]).toMatchObject({ heardMs: began });
  stream.end();
});

test('every sign of life is waited for as long again', async () => {
  const { told, losses, clock, stream } = await following();
  await clock.advance(30_000);
  stream.send(':\n\n');
  await settled();
  const heardMs = clock.now();
  await clock.advance(34_999);
  await settled();
  expect(told).toEqual(['live']);
  await clock.advance(1);
  await settled();
  expect(told.at(-1)).toBe('lost: Nothing was heard any more');
  expect(losses[0]).toMatchObject({ heardMs });
});

test('a connection that breaks is lost for its own reason', async () => {
  const { told, stream, paths, clock, delayMs } = await following();
  stream.fail(new TypeError('network error'));
  await settled();
  expect(told).toEqual(['lost: The coordinator cannot be reached']);
  await clock.advance(delayMs());
  await settled();
  expect(paths().slice(2)).toEqual(['v1/stream?after=5']);
});

test('a coordinator that was never reached has never been heard', async () => {
  const { told, losses, latest } = connected();
  latest().fail(new TypeError('Failed to fetch'));
  await settled();
  expect(told).toEqual(['lost: The coordinator cannot be reached']);
  expect(losses[0]?.heardMs).toBeUndefined();
});

test('the next try waits for up to half a second, then for longer and longer, up to ten seconds', async () => {
  const { latest, clock, delayMs } = connected();
  for (const wholeMs of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
    latest().fail(new TypeError('Failed to fetch'));
    await settled();
    expect(delayMs()).toBeGreaterThanOrEqual(wholeMs / 2);
    expect(delayMs()).toBeLessThanOrEqual(wholeMs);
    await clock.advance(delayMs());
    await settled();
  }
});

test.each(['the stream', 'a replica that does not lead'])(
  'after %s was heard, the next try comes soon',
  async (who) => {
    const { latest, clock, delayMs } = connected();
    for (let tries = 0; tries < 5; tries += 1) {
      latest().fail(new TypeError('Failed to fetch'));
      await settled();
      await clock.advance(delayMs());
      await settled();
    }
    if (who === 'the stream') {
      await listed(latest, '5');
      const stream = latest().stream();
      await sent(stream, 'node', NODE, '6');
      stream.end();
    } else {
      await listed(latest);
      await clock.advance(3000);
      latest().fail(new TypeError('Failed to fetch'));
    }
    await settled();
    expect(delayMs()).toBeLessThanOrEqual(500);
  },
);

test('the next try comes at once when the user asks for it, and only once', async () => {
  const { latest, connection, paths } = connected();
  latest().fail(new TypeError('Failed to fetch'));
  await settled();
  connection.hurry();
  await settled();
  expect(paths()).toHaveLength(2);
  latest().fail(new TypeError('Failed to fetch'));
  await settled();
  expect(paths()).toHaveLength(2);
});

test('when the page goes, nothing is waited for and nothing is told', async () => {
  const { told, ending, ended, clock } = await following();
  ending.abort();
  await ended;
  await settled();
  expect(told).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test('when the page goes while a try is waited for, no more are made', async () => {
  const { ending, ended, latest, paths, clock } = connected();
  latest().fail(new TypeError('Failed to fetch'));
  await settled();
  ending.abort();
  await ended;
  expect(paths()).toHaveLength(1);
  expect(clock.pendingTimers).toBe(0);
});
