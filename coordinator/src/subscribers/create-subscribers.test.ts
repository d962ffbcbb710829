import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { snapshot } from '../decide/readiness/readiness.test-fixtures.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { subscribersRig } from './create-subscribers.test-fixtures.ts';
import { type Handler, listenAt, ok, until } from './notify/notify.test-fixtures.ts';

const EVENTS = 'POST /api/v1/namespaces/default/events';
const stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

function started(config: Partial<CoordinatorConfig> = {}, podCount = 1) {
  const rig = subscribersRig(config, podCount);
  stops.push(() => rig.stop.abort());
  return rig;
}

/** Subscribers that notify a receiver on loopback. */
async function notified(answer: Handler = ok, config: Partial<CoordinatorConfig> = {}) {
  const receiver = await listenAt(createServer(), answer);
  stops.push(() => receiver.close());
  const rig = started({ notifyUrl: [`127.0.0.1:${receiver.port}/hook`], evict: false, ...config });
  /** What waits to be told, by receiver. */
  const pending = async () => {
    const text = await rig.registry.getSingleMetricAsString('rollcall_coordinator_notifications_pending');
    return text.split('\n').filter((line) => !line.startsWith('#') && line !== '');
  };
  return { ...rig, receiver, pending };
}

test('what happened becomes an Event', async () => {
  const { subscribers, clock, requests } = started();
  subscribers.happened([{ kind: 'gate-opened', node: snapshot(), missing: ['gpu'] }]);
  await clock.advance(100);
  expect(requests).toEqual([EVENTS]);
});

test('in a dry run nothing becomes an Event', async () => {
  const { subscribers, clock, requests } = started({ dryRun: true });
  subscribers.happened([{ kind: 'gate-opened', node: snapshot(), missing: ['gpu'] }]);
  await clock.advance(100);
  expect(requests).toEqual([]);
});

test('pods that lost their place are evicted, with an Event', async () => {
  const { subscribers, clock, requests, setNode } = started({ evictionDelaySeconds: 0 });
  setNode({});
  subscribers.changed('n');
  await clock.advance(1000);
  expect(requests).toEqual(['POST /api/v1/namespaces/default/pods/p1/eviction', EVENTS]);
});

test('with --evict a pod that lost its place goes when its label was away for as long as is told', async () => {
  const { subscribers, clock, setNode, evicted } = started();
  setNode({});
  subscribers.changed('n');
  await clock.advance(29_999);
  expect(evicted()).toEqual([]);
  await clock.advance(1);
  expect(evicted()).toEqual(['p1']);
});

test('as many pods go in a minute as is told, after the first ten', async () => {
  const { subscribers, clock, setNode, evicted } = started({ evictionDelaySeconds: 0, evictionsPerMinute: 30 }, 12);
  setNode({});
  subscribers.changed('n');
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
  const { subscribers, clock, setNode, evicted } = started({ evictionDelaySeconds: 0 });
  setNode({ gpu: 'true' });
  subscribers.changed('n');
  await clock.advance(60_000);
  expect(evicted()).toEqual([]);
});

test('without --evict no pod goes', async () => {
  const { subscribers, clock, setNode, evicted } = started({ evict: false, evictionDelaySeconds: 0 });
  setNode({});
  subscribers.changed('n');
  await clock.advance(60_000);
  expect(evicted()).toEqual([]);
});

test('in a dry run no pod goes', async () => {
  const { subscribers, clock, setNode, requests } = started({ evictionDelaySeconds: 0, dryRun: true });
  setNode({});
  subscribers.changed('n');
  await clock.advance(60_000);
  expect(requests).toEqual([]);
});

test('no pod goes because of a node that is not known any more', async () => {
  const { subscribers, clock, fleet, setNode, evicted } = started();
  setNode({});
  subscribers.changed('n');
  await clock.advance(20_000);
  fleet.nodeHandlers.onReplace([]);
  subscribers.gone('n');
  await clock.advance(10_000);
  expect(evicted()).toEqual([]);
  setNode({});
  subscribers.changed('n');
  await clock.advance(29_999);
  expect(evicted()).toEqual([]);
});

test('for a new leader a label is away from then on', async () => {
  const { subscribers, clock, setNode, evicted } = started();
  setNode({});
  subscribers.changed('n');
  await clock.advance(20_000);
  subscribers.restart();
  subscribers.changed('n');
  await clock.advance(29_999);
  expect(evicted()).toEqual([]);
  await clock.advance(1);
  expect(evicted()).toEqual(['p1']);
});

test('others hear of every look, also at what is gone, and of every beginning', () => {
  const { subscribers, calls } = started();
  subscribers.changed('n');
  subscribers.gone('n');
  subscribers.restart();
  expect(calls).toEqual(['changed n', 'changed n', 'restart']);
});

test('a receiver is told how a node is, and nothing of one that is not known', async () => {
  const { subscribers, receiver, setNode } = await notified();
  subscribers.changed('n');
  setNode({ tier: 'a' });
  subscribers.changed('n');
  await until(() => receiver.messages.length === 1);
  expect(receiver.messages).toMatchObject([{ node: 'n', labelsAdded: { tier: 'a' } }]);
});

test.each(['restart', 'gone'] as const)('after a %s the receiver is told all of a node again', async (how) => {
  const { subscribers, clock, receiver, setNode } = await notified();
  setNode({ tier: 'a' });
  subscribers.changed('n');
  await until(() => receiver.messages.length === 1);
  await clock.advance(5000);
  subscribers[how]('n');
  subscribers.changed('n');
  await until(() => receiver.messages.length === 2);
  expect(receiver.messages[1]).toMatchObject({ node: 'n', labelsAdded: { tier: 'a' } });
});

test('only the configured nodes are notified about', async () => {
  const { subscribers, setNode, pending } = await notified(ok, { notifyNodes: ['m'] });
  setNode({ tier: 'a' });
  subscribers.changed('n');
  expect(await pending()).toEqual(['rollcall_coordinator_notifications_pending{notifier="0"} 0']);
});

test('in a dry run no receiver is notified: the leader beside it does that', async () => {
  const { subscribers, setNode, pending } = await notified(ok, { dryRun: true });
  setNode({ tier: 'a' });
  subscribers.changed('n');
  expect(await pending()).toEqual([]);
});

test('that a receiver does not take what it is told becomes an Event of the Lease', async () => {
  const { subscribers, receiver, events, setNode } = await notified((response) => response.writeHead(500).end());
  setNode({ tier: 'a' });
  subscribers.changed('n');
  await until(() => events.length === 1);
  expect(events).toMatchObject([
    {
      involvedObject: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'lease', namespace: 'rollcall' },
      type: 'Warning',
      reason: 'NotificationFailed',
      message: expect.stringContaining(`http://127.0.0.1:${receiver.port} does not accept notifications`),
    },
  ]);
});
