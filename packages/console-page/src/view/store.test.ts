import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { settled, standInForFetch } from '../link/fetch.test-fixtures.ts';
import { standInForBrowser } from './browser.test-fixtures.ts';
import { Store } from './store.ts';

/** A store that runs in a browser, and has asked for the list of nodes. */
function running() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const browser = standInForBrowser();
  const asked = standInForFetch();
  const clock = new FakeClock();
  const store = new Store(clock);
  const ending = new AbortController();
  store.run(ending.signal);
  onTestFinished(() => ending.abort());
  const listed = async (...names: string[]) => {
    const nodes = names.map((name) => nodeSummary({ name }));
    asked.at(-1)?.answer(Response.json({ replica: replicaDocument(), nodes, eventId: '5' }));
    await settled();
  };
  return { browser, asked, clock, store, ending, listed };
}

/** The same, with the nodes a and b, and the stream behind them. */
async function live() {
  const found = running();
  await found.listed('a', 'b');
  const stream = found.asked.at(-1)?.stream();
  const send = async (name: string, data: object) => {
    stream?.send(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    await settled();
  };
  await send('replica', replicaDocument());
  found.browser.frame();
  return { ...found, stream, send };
}

test('at first nothing is known, and nothing is sampled', () => {
  const { store, clock } = running();
  expect([store.link.value.state, store.isKnown.value, store.isStale.value]).toEqual(['connecting', false, false]);
  expect(store.replica.value).toBeUndefined();
  clock.standStill(60_000);
  vi.advanceTimersByTime(1000);
  expect(store.history.samples).toEqual([]);
  expect(store.nowMs.value).toBe(clock.now());
});

test('a list is shown at once, with all of its nodes', async () => {
  const { store, listed } = running();
  await listed('a', 'b');
  expect([store.isKnown.value, store.version.value, store.fleet.size]).toEqual([true, 1, 2]);
  expect([...store.changed].sort()).toEqual(['a', 'b']);
  expect(store.replica.value?.name).toBe(replicaDocument().name);
});

test('a list changes the nodes that are gone as well', async () => {
  const { store, send, listed } = await live();
  await send('reset', { eventId: '9' });
  await listed('b', 'c');
  expect([...store.changed].sort()).toEqual(['a', 'b', 'c']);
});

test('what comes within a frame is shown once, with the nodes that changed', async () => {
  const { store, send, browser } = await live();
  const before = store.version.value;
  await send('node', nodeSummary({ name: 'c' }));
  await send('node-gone', { name: 'a' });
  expect(store.version.value).toBe(before);
  expect(store.fleet.size).toBe(2);
  expect(browser.frame()).toBe(1);
  expect(store.version.value).toBe(before + 1);
  expect([...store.changed].sort()).toEqual(['a', 'c']);
  await send('node', nodeSummary({ name: 'd' }));
  expect(browser.frame()).toBe(1);
  expect([...store.changed]).toEqual(['d']);
});

test('in a tab that is not seen, what comes is shown after half a second', async () => {
  const { store, send, browser } = await live();
  browser.document.hidden = true;
  const before = store.version.value;
  await send('node', nodeSummary({ name: 'c' }));
  expect(browser.frame()).toBe(0);
  vi.advanceTimersByTime(499);
  expect(store.version.value).toBe(before);
  vi.advanceTimersByTime(1);
  expect(store.version.value).toBe(before + 1);
});

test('a link is live once the stream speaks, and is the same while it goes on', async () => {
  const { store, send } = await live();
  const link = store.link.value;
  expect(link).toEqual({ state: 'live' });
  await send('replica', replicaDocument({ name: 'other' }));
  expect(store.link.value).toBe(link);
  expect(store.replica.value?.name).toBe('other');
});

test('a link that is lost says why, and what is shown is stale from then on', async () => {
  const { store, stream, clock } = await live();
  await clock.advance(10_000);
  stream?.end();
  await settled();
  expect(store.link.value).toMatchObject({ state: 'lost', reason: 'The coordinator ended the connection' });
  expect(store.isStale.value).toBe(true);
  expect(store.history.samples.at(-1)).toEqual({ atMs: clock.now(), counts: null });
});

test.each(['hurry', 'online'])('the link is tried again at once: %s', async (how) => {
  const { store, stream, asked, browser } = await live();
  stream?.end();
  await settled();
  const before = asked.length;
  if (how === 'hurry') store.hurry();
  else browser.happen('online');
  await settled();
  expect(asked).toHaveLength(before + 1);
});

test('every second goes on, and is sampled while the link is live', async () => {
  const { store, clock } = await live();
  await clock.advance(6000);
  vi.advanceTimersByTime(999);
  expect(store.nowMs.value).not.toBe(clock.now());
  vi.advanceTimersByTime(1);
  expect(store.nowMs.value).toBe(clock.now());
  expect(store.history.samples.at(-1)).toMatchObject({ atMs: clock.now(), counts: { ready: 2 } });
});

test('another address leads to another view, from its beginning', () => {
  const { store, browser } = running();
  expect(store.route.value).toEqual({ view: 'fleet' });
  browser.location.hash = '#/node/a';
  browser.happen('hashchange');
  expect(store.route.value).toEqual({ view: 'node', name: 'a' });
  expect(browser.scrolled).toEqual([[0, 0]]);
});

test('when the page goes, nothing goes on', async () => {
  const { store, ending, browser, clock } = await live();
  ending.abort();
  await settled();
  browser.location.hash = '#/plan';
  browser.happen('hashchange');
  expect(store.route.value).toEqual({ view: 'fleet' });
  expect([vi.getTimerCount(), clock.pendingTimers]).toEqual([0, 0]);
});
