import { silentLogger } from '@rollcall/common/logging.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { stage } from '../controller/node-controller.test-fixtures.ts';
import type { KubeClient, KubeRequest } from '../kube/client.ts';
import type { Node } from '../kube/objects.ts';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { findStrayTaints } from './stray-taints.ts';

const LIST = '/api/v1/nodes';
const CONDITION = 'example.com/A';
const STARTUP = { key: STARTUP_TAINT, effect: 'NoSchedule' as const };

/** Nodes as the API server has them, a watch for metadata alone, and the search beside it. */
function searched({ dryRun = false } = {}) {
  const { clock, fleet } = stage();
  const nodes = new Map<string, Node>();
  const paths: string[] = [];
  const stop = new AbortController();
  /** Called between a request's answer and its arrival. */
  let underway = (_path: string) => {};
  const state = { isDown: false, hasEnded: false };
  const client: KubeClient = {
    async request<T>({ path }: KubeRequest): Promise<T> {
      paths.push(path);
      if (state.isDown) throw new Error('on purpose');
      const all = structuredClone([...nodes.values()]);
      const [one] = all.filter(({ metadata }) => path === `${LIST}/${metadata.name}`);
      underway(path);
      if (path !== LIST) return one as T;
      return { metadata: { resourceVersion: '1000', continue: '' }, items: all } as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  let version = 0;
  /** Another client changes a Node, and the watch delivers the change. */
  const change = (name: string, taints = nodes.get(name)?.spec?.taints, more: Partial<Node['metadata']> = {}) => {
    version += 1;
    const metadata = { name, uid: `uid-${name}`, resourceVersion: `${version}`, ...more };
    const conditions = [{ type: CONDITION, status: 'False', reason: 'r', message: '', lastTransitionTime: '' }];
    nodes.set(name, { metadata, spec: taints ? { taints } : {}, status: { conditions } as never });
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
  };
  const start = () => {
    const keys = registryOf({ watchedServices: [], poolLabels: [] });
    const base = { client, fleet, keys, clock, logger: silentLogger(), dryRun, signal: stop.signal };
    const ended = findStrayTaints(base);
    void ended.then(() => {
      state.hasEnded = true;
    });
    return async () => {
      stop.abort();
      await clock.advance(0);
      await ended;
    };
  };
  /** Lets something happen once during each of these requests, which come in this order. */
  const during = ([path, ...others]: string[], happen: () => void) => {
    underway = (asked) => {
      if (asked !== path) return;
      happen();
      during(others, happen);
    };
  };
  const taintsOf = (name: string) => fleet.node(name)?.taints?.map(({ key }) => key);
  const remove = (name: string) => {
    nodes.delete(name);
    const known = fleet.node(name);
    if (known) fleet.nodeHandlers.onDelete(known);
  };
  return { clock, change, remove, start, during, taintsOf, paths, state, fleet };
}

test('a Node that changed while it was listed is looked at again within 5 s, each time', async () => {
  const { clock, change, start, during, taintsOf } = searched();
  change('n', [STARTUP]);
  during([LIST, `${LIST}/n`, LIST], () => change('n'));
  const end = start();
  await clock.advance(9900);
  expect(taintsOf('n')).toBeUndefined();
  await clock.advance(200);
  expect(taintsOf('n')).toEqual([STARTUP_TAINT]);
  await end();
});

test('a new Node that changed while it was looked at is looked at again', async () => {
  const { clock, change, start, during, taintsOf } = searched();
  const end = start();
  await clock.advance(100);
  change('n', [STARTUP]);
  during([`${LIST}/n`], () => change('n'));
  await clock.advance(5000);
  expect(taintsOf('n')).toBeUndefined();
  await clock.advance(5000);
  expect(taintsOf('n')).toEqual([STARTUP_TAINT]);
  await end();
});

test('the taints of a Node that changed since it was read are not known, and it is read again only while it has one of ours', async () => {
  const { clock, change, start, during, taintsOf, paths } = searched();
  change('n', [STARTUP]);
  const end = start();
  await clock.advance(4000);
  expect(taintsOf('n')).toEqual([STARTUP_TAINT]);
  change('n', []);
  during([LIST], () => change('n'));
  await clock.advance(3_600_000);
  expect(taintsOf('n')).toBeUndefined();
  expect(paths).toEqual([LIST, LIST]);
  await end();
});

const fieldsV1 = { 'f:status': { 'f:conditions': { [`k:{"type":"${CONDITION}"}`]: { '.': {}, 'f:type': {} } } } };
const APPLIED = { manager: 'rollcall', operation: 'Apply', subresource: 'status', fieldsV1 };

test.each<[string, Partial<Node['metadata']>]>([
  ['rollcall applied', { managedFields: [APPLIED as never] }],
  ['the Node lists', { annotations: { 'rollcall.dev/service-keys': JSON.stringify({ conditions: [CONDITION] }) } }],
])('a single condition that %s is looked for again, until it is not any more', async (_what, metadata) => {
  const { clock, change, start, paths } = searched();
  change('n', undefined, metadata);
  const end = start();
  await clock.advance(5000);
  expect(paths).toEqual([LIST, LIST]);
  change('n');
  await clock.advance(600_000);
  expect(paths.filter((path) => path === LIST)).toHaveLength(3);
  await end();
});

test('a condition is ours that the Node lists as one of a service, or that rollcall applied, and no other', async () => {
  const { clock, change, start, fleet } = searched();
  const annotations = { 'rollcall.dev/service-keys': JSON.stringify({ conditions: [CONDITION] }) };
  change('listed', undefined, { annotations });
  change('applied', undefined, { managedFields: [APPLIED as never] });
  change('other');
  const end = start();
  await clock.advance(100);
  const shown = ['listed', 'applied', 'other'].map((name) => fleet.node(name)?.conditions?.map(({ type }) => type));
  expect(shown).toEqual([[CONDITION], [CONDITION], undefined]);
  await end();
});

test('a taint is ours if the Node lists it for a service, and a taint of another owner is not', async () => {
  const { clock, change, start, taintsOf } = searched();
  const annotations = { 'rollcall.dev/service-keys': JSON.stringify({ taints: ['example.com/a'] }) };
  const taints = [{ key: 'example.com/a', effect: 'NoSchedule' as const }];
  change('listed', taints, { annotations });
  change('other', taints);
  const end = start();
  await clock.advance(100);
  expect([taintsOf('listed'), taintsOf('other')]).toEqual([['example.com/a'], undefined]);
  await end();
});

test('the removal of a listed taint by another client is noticed', async () => {
  const { clock, change, start, taintsOf } = searched();
  change('listed', [], { annotations: { 'rollcall.dev/service-keys': JSON.stringify({ taints: ['example.com/a'] }) } });
  change('other', []);
  const end = start();
  await clock.advance(100);
  expect([taintsOf('listed'), taintsOf('other')]).toEqual([[], undefined]);
  await end();
});

test('as long as some are found all is looked at again, after 5 s, 10 s and so on', async () => {
  const { clock, change, start, paths } = searched();
  change('n', [STARTUP]);
  const end = start();
  const listsAfter = async (ms: number) => {
    await clock.advance(ms);
    return paths.filter((path) => path === LIST).length;
  };
  expect([await listsAfter(4999), await listsAfter(1), await listsAfter(9999), await listsAfter(1)]).toEqual([
    1, 2, 2, 3,
  ]);
  // Ten minutes at last, which the first pauses come to as well.
  expect(await listsAfter(86_400_000)).toBe(Math.floor(86_400 / 600) + 6);
  await end();
});

test('what could not be listed is listed again, and until then no node is looked at by itself', async () => {
  const { clock, change, start, paths, state, taintsOf } = searched();
  change('n', [STARTUP]);
  state.isDown = true;
  const end = start();
  await clock.advance(5000);
  expect(paths).toEqual([LIST, LIST]);
  state.isDown = false;
  await clock.advance(10_000);
  expect(paths).toEqual([LIST, LIST, LIST]);
  expect(taintsOf('n')).toEqual([STARTUP_TAINT]);
  await end();
});

test('a new Node that could not be read is read again, and one that was made anew as well', async () => {
  const { clock, change, remove, start, paths, state, taintsOf } = searched();
  const end = start();
  await clock.advance(100);
  change('n', [STARTUP]);
  state.isDown = true;
  await clock.advance(5000);
  expect(taintsOf('n')).toBeUndefined();
  state.isDown = false;
  await clock.advance(5000);
  expect(taintsOf('n')).toEqual([STARTUP_TAINT]);
  remove('n');
  await clock.advance(5000);
  change('n', [STARTUP]);
  await clock.advance(5000);
  expect(paths).toEqual([LIST, `${LIST}/n`, `${LIST}/n`, `${LIST}/n`]);
  await end();
});

test('one list is enough for a dry run', async () => {
  const { clock, change, start, paths, state } = searched({ dryRun: true });
  change('n', [STARTUP]);
  state.isDown = true;
  start();
  await clock.advance(1000);
  expect(state.hasEnded).toBe(false);
  state.isDown = false;
  await clock.advance(60_000);
  expect([paths, state.hasEnded]).toEqual([[LIST, LIST], true]);
});

test('it ends when this replica no longer leads, and says nothing of what fails for that', async () => {
  const { clock, start, state } = searched();
  const end = start();
  await clock.advance(100);
  await end();
  expect([state.hasEnded, clock.pendingTimers]).toEqual([true, 0]);
});
