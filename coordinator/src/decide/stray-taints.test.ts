import { silentLogger } from '@rollcall/common/logging.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import type { KubeClient, KubeRequest } from '../kube/client.ts';
import type { Node } from '../kube/objects.ts';
import { registryOf } from '../setup/keys/key-registry.test-fixtures.ts';
import { stage } from './decider.test-fixtures.ts';
import { findStrayTaints } from './stray-taints.ts';

const LIST = '/api/v1/nodes';
const STARTUP = { key: STARTUP_TAINT, effect: 'NoSchedule' as const };

/** Nodes as the API server has them, a watch for metadata alone, and the search beside it. */
function searched() {
  const { clock, decider } = stage();
  const { fleet } = decider;
  const nodes = new Map<string, Node>();
  const paths: string[] = [];
  const stop = new AbortController();
  /** Called between a request's answer and its arrival. */
  let underway = (_path: string) => {};
  const client: KubeClient = {
    async request<T>({ path }: KubeRequest): Promise<T> {
      paths.push(path);
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
  /** Somebody changes a Node, and the watch tells. */
  const change = (name: string, taints = nodes.get(name)?.spec?.taints) => {
    version += 1;
    const metadata = { name, uid: `uid-${name}`, resourceVersion: `${version}` };
    nodes.set(name, { metadata, spec: taints ? { taints } : {}, status: {} });
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
  };
  const start = () => {
    const keys = registryOf({ watchedServices: [], poolLabels: [] });
    const base = { client, fleet, keys, clock, logger: silentLogger(), dryRun: false, signal: stop.signal };
    const ended = findStrayTaints(base);
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
  return { clock, change, start, during, taintsOf, paths };
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

test('a Node that somebody cleared while it was listed is known to be clear, and each is looked at once', async () => {
  const { clock, change, start, during, taintsOf, paths } = searched();
  change('n', [STARTUP]);
  const end = start();
  await clock.advance(4000);
  expect(taintsOf('n')).toEqual([STARTUP_TAINT]);
  change('n', []);
  during([LIST], () => change('n'));
  await clock.advance(3_600_000);
  expect(taintsOf('n')).toEqual([]);
  expect(paths).toEqual([LIST, LIST, `${LIST}/n`]);
  await end();
});
