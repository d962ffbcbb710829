import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { surroundings } from './change-handlers.test-fixtures.ts';
import { type ChangeHandlersOptions, createChangeHandlers } from './change-handlers.ts';
import { type Handler, listenAt, ok, until } from './notify/notify.test-fixtures.ts';

const stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

function changeHandlers(config: Partial<ChangeHandlersOptions['config']> = {}, podCount = 1) {
  const around = surroundings(config, podCount);
  stops.push(() => around.stop.abort());
  return { ...around, changeHandlers: createChangeHandlers(around.options) };
}

/** Follow-ups that tell a receiver on loopback. */
async function notified(answer: Handler = ok, config: Partial<ChangeHandlersOptions['config']> = {}) {
  const receiver = await listenAt(createServer(), answer);
  stops.push(() => receiver.close());
  const all = changeHandlers({ notifyUrl: [`127.0.0.1:${receiver.port}/hook`], evict: false, ...config });
  /** What waits to be told, by receiver. */
  const pending = async () => {
    const text = await all.options.registry.getSingleMetricAsString('rollcall_coordinator_notifications_pending');
    return text.split('\n').filter((line) => !line.startsWith('#') && line !== '');
  };
  return { ...all, receiver, pending };
}

test('with --evict a pod that lost its place goes when its label was away for as long as is told', async () => {
  const { changeHandlers: all, clock, setNode, evicted } = changeHandlers();
  setNode({});
  all.look('n');
  await clock.advance(29_999);
  expect(evicted()).toEqual([]);
  await clock.advance(1);
  expect(evicted()).toEqual(['p1']);
});

test('as many pods go in a minute as is told, after the first ten', async () => {
  const {
    changeHandlers: all,
    clock,
    setNode,
    evicted,
  } = changeHandlers({ evictionDelaySeconds: 0, evictionsPerMinute: 30 }, 12);
  setNode({});
  all.look('n');
  await clock.advance(1000);
  expect(evicted()).toHaveLength(10);
  await clock.advance(1000);
  expect(evicted()).toHaveLength(1);
  await clock.advance(1999);
  expect(evicted()).toHaveLength(0);
  await clock.advance(1);
  expect(evicted()).toHaveLength(1);
});

test('no pod goes while its label is there', async () => {
  const { changeHandlers: all, clock, setNode, evicted } = changeHandlers({ evictionDelaySeconds: 0 });
  setNode({ gpu: 'true' });
  all.look('n');
  await clock.advance(60_000);
  expect(evicted()).toEqual([]);
});

test('without --evict no pod goes', async () => {
  const { changeHandlers: all, clock, setNode, evicted } = changeHandlers({ evict: false, evictionDelaySeconds: 0 });
  setNode({});
  all.look('n');
  await clock.advance(60_000);
  expect(evicted()).toEqual([]);
  await expect(all.settled()).resolves.toBeUndefined();
});

test('in a dry run no pod goes', async () => {
  const { changeHandlers: all, clock, setNode, requests } = changeHandlers({ evictionDelaySeconds: 0, dryRun: true });
  setNode({});
  all.look('n');
  await clock.advance(60_000);
  expect(requests).toEqual([]);
});

test('no pod goes because of a node that is not known any more', async () => {
  const { changeHandlers: all, clock, fleet, setNode, evicted } = changeHandlers();
  setNode({});
  all.look('n');
  await clock.advance(20_000);
  fleet.nodeHandlers.onReplace([]);
  all.forget('n');
  await clock.advance(10_000);
  expect(evicted()).toEqual([]);
  setNode({});
  all.look('n');
  await clock.advance(29_999);
  expect(evicted()).toEqual([]);
});

test('for a new leader a label is away from then on', async () => {
  const { changeHandlers: all, clock, setNode, evicted } = changeHandlers();
  setNode({});
  all.look('n');
  await clock.advance(20_000);
  all.restart();
  all.look('n');
  await clock.advance(29_999);
  expect(evicted()).toEqual([]);
  await clock.advance(1);
  expect(evicted()).toEqual(['p1']);
});

test('others hear of every look, also at what is gone, and of every beginning', () => {
  const { changeHandlers: all, calls } = changeHandlers();
  all.look('n');
  all.forget('n');
  all.restart();
  expect(calls).toEqual(['look n', 'look n', 'restart']);
});

test('a receiver is told how a node is, and nothing of one that is not known', async () => {
  const { changeHandlers: all, receiver, setNode } = await notified();
  all.look('n');
  setNode({ tier: 'a' });
  all.look('n');
  await until(() => receiver.messages.length === 1);
  expect(receiver.messages).toMatchObject([{ node: 'n', labelsAdded: { tier: 'a' } }]);
});

test.each(['restart', 'forget'] as const)('after a %s the receiver is told all of a node again', async (how) => {
  const { changeHandlers: all, clock, receiver, setNode } = await notified();
  setNode({ tier: 'a' });
  all.look('n');
  await until(() => receiver.messages.length === 1);
  await clock.advance(5000);
  all[how]('n');
  all.look('n');
  await until(() => receiver.messages.length === 2);
  expect(receiver.messages[1]).toMatchObject({ node: 'n', labelsAdded: { tier: 'a' } });
});

test('only the configured nodes are notified about', async () => {
  const { changeHandlers: all, setNode, pending } = await notified(ok, { notifyNodes: ['m'] });
  setNode({ tier: 'a' });
  all.look('n');
  expect(await pending()).toEqual(['rollcall_coordinator_notifications_pending{notifier="0"} 0']);
});

test('in a dry run no receiver is notified: the leader beside it does that', async () => {
  const { changeHandlers: all, setNode, pending } = await notified(ok, { dryRun: true });
  setNode({ tier: 'a' });
  all.look('n');
  expect(await pending()).toEqual([]);
});

test('that a receiver does not take what it is told becomes an Event of the Lease', async () => {
  const {
    changeHandlers: all,
    receiver,
    events,
    setNode,
  } = await notified((response) => response.writeHead(500).end());
  setNode({ tier: 'a' });
  all.look('n');
  await until(() => events.length === 1);
  expect(events).toMatchObject([
    {
      subject: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'lease', namespace: 'rollcall' },
      type: 'Warning',
      reason: 'NotificationFailed',
      message: expect.stringContaining(`http://127.0.0.1:${receiver.port} does not accept notifications`),
    },
  ]);
});
