import { describe, expect, test } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import type { Taint } from '../kube/objects.ts';
import { podsCheck, serviceOf } from '../model/services.test-fixtures.ts';
import { stage } from './node-controller.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE = serviceOf('a', {
  checks: [podsCheck('a')],
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});
const NAMES = Array.from({ length: 20 }, (_, index) => `n${index}`);
const nodeOf = (path: string) => path.split('/').at(-1) ?? '';

/** Nodes on which a service with a taint is not ready, and an API server that refuses some of them taints. */
function tainted(isRefused: (node: string) => boolean) {
  const taints = new Map<string, Taint[]>();
  const most = { nodes: 0 };
  let tries = 0;
  const metadataOf = (name: string) => ({ name, uid: `uid-${name}`, resourceVersion: `${1000 + tries}` });
  const client: KubeClient = {
    async request<T>({ path, body }: KubeRequest): Promise<T> {
      const name = nodeOf(path);
      tries += 1;
      await new Promise<void>((resolve) => staged.clock.after(10, resolve));
      if (isRefused(name)) throw new KubeStatusError(403, { kind: 'Status', code: 403 }, undefined, {});
      const added = (body as { op: string; path: string; value: Taint[] }[]).find(
        (each) => each.op === 'add' && each.path === '/spec/taints',
      );
      if (added) taints.set(name, added.value);
      most.nodes = Math.max(most.nodes, taints.size);
      return { metadata: metadataOf(name), spec: { taints: taints.get(name) ?? [] }, status: {} } as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const staged = stage({ services: () => [SERVICE], client, fence: { remainingMs: () => 10_000 } });
  for (const name of NAMES) {
    const metadata = { name, uid: `uid-${name}`, resourceVersion: '1' };
    staged.fleet.nodeHandlers.onUpsert(staged.fleet.observe({ metadata, spec: {}, status: {} }));
  }
  return { ...staged, taints, most };
}

describe('a taint whose budget is used up', () => {
  test('is tried on other nodes where a policy refuses it to some', async () => {
    const { pass, taints, most } = tainted((name) => NAMES.indexOf(name) < 10);
    await pass(30);
    expect(taints.size).toBe(4);
    expect([...taints.keys()].every((name) => NAMES.indexOf(name) >= 10)).toBe(true);
    expect(most.nodes).toBe(4);
  });

  test('is on no more nodes, however many writes are in flight', async () => {
    const { pass, most } = tainted(() => false);
    await pass(30);
    expect(most.nodes).toBe(4);
  });
});

test('to ask for plans changes nothing', () => {
  const { controller, evaluator } = stage({ services: () => [SERVICE] });
  const staged = tainted(() => false);
  const ask = () => NAMES.map((name) => staged.controller.prepare(name)?.taints?.add.length);
  expect([ask(), ask(), ask()]).toEqual(Array(3).fill(NAMES.map(() => 1)));
  expect([controller.prepare('unknown'), evaluator.decide('unknown')]).toEqual([undefined, undefined]);
});

test.each([
  { version: '9', isBack: true },
  { version: '10', isBack: false },
  { version: '11', isBack: false },
])(
  'an answer at version $version to a write of a Node at 10 shows that the history went back: $isBack',
  ({ version, isBack }) => {
    let times = 0;
    const { controller, fleet } = stage({
      historyWentBack: () => {
        times += 1;
      },
    });
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata: { name: 'n', uid: 'u', resourceVersion: '10' } }));
    const plan = controller.prepare('n');
    if (plan) controller.written({ metadata: { name: 'n', uid: 'u', resourceVersion: version } }, plan);
    expect(times).toBe(isBack ? 1 : 0);
  },
);
