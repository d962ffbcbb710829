import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { h, options, render } from 'preact';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { settled, standInForFetch } from '../link/fetch.test-fixtures.ts';
import type { State } from '../model/node-state.ts';
import { standInForBrowser } from './browser.test-fixtures.ts';
import { Store } from './store.ts';
import { type Loaded, useDocument } from './use-document.ts';
import { useNodeState } from './use-node-state.ts';
import { StoreContext, useStore } from './use-store.ts';

type Document = { replica: ReturnType<typeof replicaDocument>; n: number };

/** An element that nothing is drawn in. */
function emptyElement(): Element {
  return { nodeType: 1, childNodes: [], firstChild: null, namespaceURI: '' } as unknown as Element;
}

/** What a component makes of its properties, each time that it is drawn. */
function drawn<Props extends object, Result>(use: (props: Props) => Result, store?: Store) {
  const root = emptyElement();
  const results: Result[] = [];
  const Probe = (props: Props) => {
    results.push(use(props));
    return null;
  };
  const draw = (props: Props) =>
    render(h(StoreContext.Provider, { value: store, children: h(Probe as never, props) } as never), root);
  const leave = () => render(null, root);
  onTestFinished(leave);
  return { draw, leave, results, last: () => results.at(-1) };
}

// Effects run after a frame: here, at once.
const before = options.requestAnimationFrame;
beforeAll(() => {
  options.requestAnimationFrame = (callback) => void setImmediate(callback);
});
afterAll(() => {
  if (before) options.requestAnimationFrame = before;
  else delete options.requestAnimationFrame;
});

function newStore(): { store: Store; clock: FakeClock } {
  standInForBrowser();
  const clock = new FakeClock();
  return { store: new Store(clock), clock };
}

test('a component without a store above it is an error', () => {
  const { draw } = drawn(() => useStore());
  expect(() => draw({})).toThrow('There is no store above this component');
});

test('the state of a node, or of one service on it, is known by its name', () => {
  const { store } = newStore();
  store.fleet.set(nodeSummary({ name: 'a', services: { s: 'not-ready', t: 'ready' } }));
  const { draw, results } = drawn(({ service }: { service?: string }): ((name: string) => State) =>
    useNodeState(store, service),
  );
  for (const props of [{}, {}, { service: 't' }, { service: 'u' }]) draw(props);
  const [whole, again, ofT, ofU] = results;
  expect([whole?.('a'), whole?.('none')]).toEqual(['not-ready', 'none']);
  expect(again).toBe(whole);
  expect([ofT?.('a'), ofT?.('none'), ofU?.('a')]).toEqual(['ready', 'none', 'none']);
});

/** A component that reads a document, again after a minute. */
function reading() {
  const { store, clock } = newStore();
  const asked = standInForFetch();
  const {
    draw,
    leave: remove,
    last,
  } = drawn(
    ({ path, trigger }: { path: string; trigger?: number }): Loaded<Document> =>
      useDocument<Document>(path, 60_000, trigger),
    store,
  );
  const show = async (path: string, trigger?: number) => {
    draw({ path, ...(trigger === undefined ? {} : { trigger }) });
    await settled();
  };
  const leave = async () => {
    remove();
    await settled();
  };
  const answer = async (n: number) => {
    const now = new Date(clock.now() + 5000).toISOString();
    asked.at(-1)?.answer(Response.json({ replica: replicaDocument({ now }), n }));
    await settled();
  };
  const fail = async () => {
    asked.at(-1)?.fail(new TypeError('Failed to fetch'));
    await settled();
  };
  return { store, clock, asked, show, answer, fail, leave, last, paths: () => asked.map(({ path }) => path) };
}

test('a document is read at once, and is shown with the time of who answered', async () => {
  const { show, answer, last, paths, store } = reading();
  await show('a');
  expect(paths()).toEqual(['a']);
  expect(last()).toEqual({ document: undefined, problem: undefined, nowMs: store.nowMs.value });
  await answer(1);
  await show('a');
  expect(last()).toMatchObject({ document: { n: 1 }, problem: undefined, nowMs: store.nowMs.value + 5000 });
});

test('a document is read again after its time', async () => {
  const { show, answer, clock, paths } = reading();
  await show('a');
  await answer(1);
  await clock.advance(59_999);
  expect(paths()).toHaveLength(1);
  await clock.advance(1);
  expect(paths()).toHaveLength(2);
});

test('a document is read again soon after something changed', async () => {
  const { show, answer, clock, paths } = reading();
  await show('a', 1);
  await answer(1);
  await show('a', 2);
  await clock.advance(299);
  expect(paths()).toHaveLength(1);
  await clock.advance(1);
  expect(paths()).toHaveLength(2);
});

test('what was read stays while it cannot be read, with the problem', async () => {
  const { show, answer, fail, clock, last, paths } = reading();
  await show('a');
  await answer(1);
  await clock.advance(60_000);
  await fail();
  await show('a');
  expect(last()).toMatchObject({ document: { n: 1 }, problem: 'The coordinator cannot be reached' });
  await clock.advance(60_000);
  expect(paths()).toHaveLength(3);
  await answer(2);
  await show('a');
  expect(last()).toMatchObject({ document: { n: 2 }, problem: undefined });
});

test('what was read at another path is not shown, and the new one is read at once', async () => {
  const { show, answer, last, paths } = reading();
  await show('a');
  await answer(1);
  await show('b');
  expect(last()).toMatchObject({ document: undefined, problem: undefined });
  expect(paths()).toEqual(['a', 'b']);
  await answer(2);
  await show('b');
  expect(last()).toMatchObject({ document: { n: 2 } });
});

test('a view that was left asks no more, and shows no problem', async () => {
  const { show, leave, asked, clock } = reading();
  await show('a');
  await leave();
  expect(asked[0]?.isAborted()).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test('who leaves between two readings asks no more', async () => {
  const { show, answer, leave, clock, paths } = reading();
  await show('a');
  await answer(1);
  await leave();
  await clock.advance(60_000);
  expect([paths().length, clock.pendingTimers]).toEqual([1, 0]);
});
