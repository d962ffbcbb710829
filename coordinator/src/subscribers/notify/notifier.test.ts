import { createServer } from 'node:http';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { notifyUrl } from '../../model/urls.ts';
import type { NodeMetadata } from './node-change.ts';
import { createNotifiers, type Notifier } from './notifier.ts';
import { applyChange, fastClock, type Handler, listenAt, nodeOf, ok, until } from './notify.test-fixtures.ts';

const stops: (() => Promise<void> | void)[] = [];
const SECRET = /token|hook/;

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function receiving(answer?: Handler, port?: number) {
  const receiver = await listenAt(createServer(), answer, port);
  stops.push(() => receiver.close());
  return receiver;
}

function urlOf(address: string): URL {
  const parsed = notifyUrl(address);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.url;
}

/** Of a clock on which an answer may take a second. */
const SLOWER = 5;

/** Notifiers for ports of this machine by default, for which a second is 50 ms. */
function notifying(
  ports: readonly number[],
  { nodes = [], factor = 20, ended = false }: { nodes?: string[]; factor?: number; ended?: boolean } = {},
) {
  const controller = new AbortController();
  if (ended) controller.abort();
  stops.push(() => controller.abort());
  const registry = new Registry();
  const logger = silentLogger();
  const lines: { level: string; text: string; fields: Record<string, unknown> }[] = [];
  for (const level of ['warn', 'info'] as const) {
    logger[level] = ((fields: Record<string, unknown>, text: string) => {
      lines.push({ level, text, fields });
    }) as typeof logger.warn;
  }
  const failures: string[] = [];
  const notifiers = createNotifiers({
    urls: ports.map((port) => urlOf(`127.0.0.1:${port}/hook?token=t`)),
    nodes,
    clock: fastClock(factor),
    random: () => 0.5,
    logger,
    registry,
    onFailing: (message) => failures.push(message),
    signal: controller.signal,
  });
  const offer: Notifier['offer'] = (node) => {
    for (const notifier of notifiers) notifier.offer(node);
  };
  const idle = () => until(() => notifiers.every(({ pending }) => pending === 0));
  async function counted(name: string): Promise<Record<string, number>> {
    const metric = (await registry.getMetricsAsJSON()).find((each) => each.name.endsWith(name));
    return Object.fromEntries(
      (metric?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value]),
    );
  }
  return { notifiers, offer, idle, lines, failures, counted, end: () => controller.abort() };
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

describe('a notifier', () => {
  test('sends what k8s-node-label-monitor sends, to an address without a scheme too (M-1, M-2, M-4)', async () => {
    const receiver = await receiving();
    const { offer, idle } = notifying([receiver.port], { factor: SLOWER });
    offer(nodeOf('n', { a: '1', b: '1', c: '1' }, { annotations: { x: 'y' } }));
    await idle();
    offer(nodeOf('n', { a: '1', b: '2', d: '1' }));
    await idle();
    const none = { labelsAdded: {}, labelsDeleted: [], labelsUpdated: {} };
    const noAnnotations = { annotationsAdded: {}, annotationsDeleted: [], annotationsUpdated: {} };
    expect(receiver.messages).toEqual([
      { node: 'n', ...none, labelsAdded: { a: '1', b: '1', c: '1' }, ...noAnnotations, annotationsAdded: { x: 'y' } },
      {
        node: 'n',
        labelsAdded: { d: '1' },
        labelsDeleted: ['c'],
        labelsUpdated: { b: '2' },
        ...noAnnotations,
        annotationsDeleted: ['x'],
      },
    ]);
    expect(receiver.requests.map(({ url }) => url)).toEqual(times(2, '/hook?token=t'));
  });

  test('says nothing while nothing differs, nor of a node that has nothing (M-3)', async () => {
    const receiver = await receiving();
    const { offer, idle } = notifying([receiver.port]);
    offer(nodeOf('n', { a: '1' }));
    await idle();
    offer(nodeOf('n', { a: '1' }));
    offer(nodeOf('bare', {}));
    offer(nodeOf('last', { z: '1' }));
    await idle();
    expect(receiver.messages.map(({ node }) => node)).toEqual(['n', 'last']);
  });

  test.each<[string, Handler]>([
    ['500', (response) => response.writeHead(500).end()],
    ['429', (response) => response.writeHead(429, { 'retry-after': '2' }).end()],
    ['a redirect to itself', (response) => response.writeHead(307, { location: '/' }).end()],
    ['a closed connection', (response) => response.socket?.destroy()],
    ['silence', () => {}],
  ])('tries again after %s until it is taken, and then no more (M-6)', async (_name, failing) => {
    const receiver = await receiving(failing);
    const { offer, idle, counted } = notifying([receiver.port]);
    offer(nodeOf('n', { a: '1' }));
    await until(() => receiver.messages.length === 2);
    receiver.answer = ok;
    await idle();
    expect(receiver.messages.map(({ labelsAdded }) => labelsAdded)).toEqual(times(3, { a: '1' }));
    expect(await counted('_total')).toEqual({ '0 failed': 2, '0 delivered': 1 });
  });

  test('tries again until a receiver listens (M-6)', async () => {
    const first = await receiving();
    await first.close();
    const { offer, idle, counted, notifiers } = notifying([first.port]);
    offer(nodeOf('n', { a: '1' }));
    for (let failures = 0; failures < 2; failures = (await counted('_total'))['0 failed'] ?? 0) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    for (const a of ['2', '3']) offer(nodeOf('n', { a }));
    expect([notifiers[0]?.pending, await counted('_pending')]).toEqual([1, { '0': 1 }]);
    const second = await receiving(ok, first.port);
    await idle();
    expect(second.messages.map(({ labelsAdded }) => labelsAdded)).toEqual([{ a: '3' }]);
    expect(await counted('_pending')).toEqual({ '0': 0 });
  });

  test('comes again no sooner than it was asked to (M-6)', async () => {
    const answeredAt: number[] = [];
    const receiver = await receiving((response) => {
      answeredAt.push(performance.now());
      response.writeHead(answeredAt.length === 1 ? 503 : 204, { 'retry-after': '10' }).end();
    });
    const { offer, idle } = notifying([receiver.port]);
    offer(nodeOf('n', { a: '1' }));
    await idle();
    const [first = 0, second = 0] = answeredAt;
    expect(second - first).toBeGreaterThanOrEqual(490);
  });

  test('tells nothing twice to one receiver because another fails (M-7)', async () => {
    const good = await receiving();
    const bad = await receiving((response) => response.writeHead(500).end());
    const gone = await receiving();
    await gone.close();
    const { offer, lines, notifiers } = notifying([bad.port, good.port, gone.port], { factor: SLOWER });
    for (let index = 0; index < 20; index += 1) offer(nodeOf(`n${index}`, { a: '1' }));
    await until(() => bad.messages.length > 2 && notifiers[1]?.pending === 0);
    expect(good.messages.map(({ node }) => node).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, index) => `n${index}`).toSorted(),
    );
    expect(notifiers.map(({ pending }) => pending)).toEqual([20, 0, 20]);
    expect(new Set(lines.map(({ fields }) => fields['notifier']))).toEqual(new Set([0, 2]));
  });

  test('notifies about the configured nodes, and about no other (M-8)', async () => {
    const receiver = await receiving();
    const { offer, idle } = notifying([receiver.port], { nodes: ['mine'] });
    for (const name of ['other', 'mine', 'mine-too']) offer(nodeOf(name, { a: '1' }));
    await idle();
    offer(nodeOf('other', { a: '2' }));
    offer(nodeOf('mine', { a: '2' }));
    await idle();
    expect(receiver.messages.map(({ node }) => node)).toEqual(['mine', 'mine']);
  });

  test('has four requests under way at most, and one for a node', async () => {
    const receiver = await receiving((response) => setTimeout(() => ok(response), 10));
    const { offer, idle } = notifying([receiver.port]);
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 12; index += 1) offer(nodeOf(`n${index}`, { a: String(round) }));
      await until(() => receiver.messages.length > round * 6);
    }
    await idle();
    expect(receiver.underWay).toEqual({ now: 0, most: 4, mostOfOneNode: 1 });
  });

  test('warns once when it begins to fail, tells once that it is over, and shows no more than the origin', async () => {
    const receiver = await receiving((response) => response.writeHead(500).end());
    const { offer, idle, lines, failures } = notifying([receiver.port]);
    for (let index = 0; index < 5; index += 1) offer(nodeOf(`n${index}`, { a: '1' }));
    await until(() => receiver.messages.length > 5);
    receiver.answer = ok;
    await idle();
    offer(nodeOf('n1', { a: '2' }));
    await idle();
    expect(lines.map(({ level, text }) => `${level} ${text}`)).toEqual([
      'warn Failed to deliver a notification',
      'info Delivered notifications again',
    ]);
    expect(lines[0]?.fields).toMatchObject({ notifier: 0, url: `http://127.0.0.1:${receiver.port}` });
    expect(lines.map(({ fields }) => `${JSON.stringify(fields)} ${fields['err']}`).join()).not.toMatch(SECRET);
    const origin = `http://127.0.0.1:${receiver.port}`;
    expect(failures).toEqual([`${origin} does not accept notifications: The receiver answered 500`]);
  });
});

describe('a notifier that is cleared', () => {
  test('drops what is under way, sends nothing more, and begins anew with what is offered then', async () => {
    const receiver = await receiving();
    const { offer, idle, notifiers, counted } = notifying([receiver.port]);
    offer(nodeOf('n', { a: '1' }));
    await idle();
    receiver.answer = () => {};
    let closed = 0;
    offer(nodeOf('n', { a: '2' }));
    for (let index = 0; index < 10; index += 1) offer(nodeOf(`n${index}`, { a: '1' }));
    await until(() => receiver.messages.length === 5);
    for (const { socket } of receiver.requests) socket.once('close', () => (closed += 1));
    notifiers[0]?.clear();
    expect(notifiers[0]?.pending).toBe(0);
    await until(() => closed >= 4);
    receiver.answer = ok;
    offer(nodeOf('n', { a: '2' }));
    await idle();
    expect(receiver.messages).toHaveLength(6);
    expect(receiver.messages.at(-1)).toMatchObject({ labelsAdded: { a: '2' }, labelsUpdated: {} });
    expect(await counted('_total')).toEqual({ '0 delivered': 2 });
  });

  test('reports in each term that its URL fails', async () => {
    const receiver = await receiving((response) => response.writeHead(500).end());
    const { offer, notifiers, failures } = notifying([receiver.port]);
    for (const term of [1, 2]) {
      offer(nodeOf('n', { a: '1' }));
      await until(() => failures.length === term);
      notifiers[0]?.clear();
    }
  });

  test('closes the connection that it kept, at once', async () => {
    const receiver = await receiving();
    const { offer, idle, notifiers } = notifying([receiver.port]);
    offer(nodeOf('n', { a: '1' }));
    await idle();
    const socket = receiver.requests[0]?.socket;
    expect(socket?.destroyed).toBe(false);
    const startMs = performance.now();
    notifiers[0]?.clear();
    await until(() => socket?.destroyed === true);
    expect(performance.now() - startMs).toBeLessThan(3000);
  });

  test('by the end of the program begins no more', async () => {
    const receiver = await receiving();
    const { offer, notifiers, end } = notifying([receiver.port]);
    end();
    offer(nodeOf('n', { a: '1' }));
    notifiers[0]?.clear();
    offer(nodeOf('n', { a: '2' }));
    notifiers[0]?.gone('n');
    expect(notifiers[0]?.pending).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(receiver.messages).toEqual([]);
  });
});

test('a notifier that is made when the program has ended already sends nothing', async () => {
  const receiver = await receiving();
  const { offer, notifiers } = notifying([receiver.port], { ended: true });
  offer(nodeOf('n', { a: '1' }));
  expect(notifiers[0]?.pending).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(receiver.messages).toEqual([]);
});

describe('a receiver that fails now and then', () => {
  const values = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'), { noNullPrototype: true });
  const step = fc.record({
    node: fc.constantFrom('n1', 'n2'),
    labels: values,
    annotations: values,
    wait: fc.boolean(),
  });
  const fate = fc.constantFrom('taken', 'taken', '500', '504', 'heard and closed', 'closed', 'cut short', 'redirect');

  test('ends with what is, when it applies what it hears', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 8 }),
        fc.array(fate, { maxLength: 6 }),
        async (steps, fates) => {
          const state = new Map<string, NodeMetadata>();
          const receiver = await receiving((response, message) => {
            const kind = fates[receiver.messages.length - 1] ?? 'taken';
            if (/taken|heard|cut|504/.test(kind)) {
              state.set(message.node, applyChange(state.get(message.node) ?? { labels: {}, annotations: {} }, message));
            }
            if (kind.endsWith('closed')) response.socket?.resetAndDestroy();
            else if (kind === 'cut short')
              response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy());
            else response.writeHead(kind === 'taken' ? 200 : kind === 'redirect' ? 302 : Number(kind)).end();
          });
          const { offer, idle, end } = notifying([receiver.port], { factor: 200 });
          const final = new Map<string, NodeMetadata>();
          for (const { node, labels, annotations, wait } of steps) {
            final.set(node, { labels, annotations });
            offer(nodeOf(node, labels, { annotations }));
            if (wait) await new Promise((resolve) => setTimeout(resolve, 3));
          }
          await idle();
          end();
          await receiver.close();
          for (const [name, now] of final) expect(state.get(name) ?? { labels: {}, annotations: {} }).toEqual(now);
        },
      ),
      { numRuns: 20 },
    );
  }, 30_000);
});
