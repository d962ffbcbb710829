import { expect, test } from 'vitest';
import { selects } from '../model/label-selector.ts';
import type { ObjectChange } from './collection.ts';
import { PodCollection, selectedIn } from './pod-collection.ts';

type Pod = { uid: string; namespace: string; name: string; node: string; labels: Record<string, string> };

const NO_LABELS = {};

function pod(namespace: string, name: string, node = 'n'): Pod {
  return { uid: `${namespace}-${name}`, namespace, name, node, labels: NO_LABELS };
}

function started(lostIsUnknown = false) {
  const told: string[] = [];
  const pods = new PodCollection<Pod>(lostIsUnknown ? { lostIsUnknown } : {});
  const tell = ({ previous, next }: ObjectChange<Pod>) => told.push(`${previous?.name ?? ''} → ${next?.name ?? ''}`);
  pods.onChange({
    changed: (changes) => changes.forEach(tell),
    listed: (changes, isNews) => {
      changes.forEach(tell);
      if (isNews) told.push('known');
    },
  });
  const names = (all: Iterable<Pod>) => [...all].map(({ name }) => name);
  return { pods, told, names };
}

test('pods are known by namespace, once that was listed, and found by node', () => {
  const { pods, told, names } = started();
  const [a, b] = [pods.handlers('a'), pods.handlers('b')];
  expect([pods.isKnown('a'), names(pods.all('a'))]).toEqual([false, []]);
  a.onReplace([pod('a', 'one'), pod('a', 'two', 'm')]);
  expect([pods.isKnown('a'), pods.isKnown('b')]).toEqual([true, false]);
  b.onUpsert(pod('b', 'three'));
  expect([names(pods.on('n')), names(pods.all('a')), names(pods.all('c'))]).toEqual([
    ['one', 'three'],
    ['one', 'two'],
    [],
  ]);
  a.onDelete(pod('a', 'one'));
  expect(names(pods.on('n'))).toEqual(['three']);
  expect(told).toEqual([' → one', ' → two', 'known', ' → three', 'one → ']);
});

test('the list of a node is the very same until something changes there, also where it is of several namespaces', () => {
  const { pods, names } = started();
  const [a, b] = [pods.handlers('a'), pods.handlers('b')];
  a.onReplace([pod('a', 'one')]);
  b.onReplace([pod('b', 'two')]);
  const before = pods.on('n');
  a.onUpsert(pod('a', 'elsewhere', 'm'));
  expect(pods.on('n')).toBe(before);
  b.onUpsert(pod('b', 'three'));
  expect(names(pods.on('n'))).toEqual(['one', 'two', 'three']);
});

test('a watch that takes the place of another goes on with its pods, which are not known until it has listed', () => {
  const { pods, told, names } = started();
  pods.handlers('a').onReplace([pod('a', 'one')]);
  pods.renew('a');
  const next = pods.handlers('a');
  expect([pods.isKnown('a'), names(pods.on('n'))]).toEqual([false, ['one']]);
  next.onReplace([pod('a', 'one')]);
  next.onReplace([pod('a', 'one')]);
  expect([pods.isKnown('a'), told]).toEqual([true, [' → one', 'known', 'known']]);
});

test('pods of a namespace that is no longer asked for are gone', () => {
  const { pods, told, names } = started();
  pods.handlers('a').onReplace([pod('a', 'one')]);
  pods.forget('a');
  pods.forget('b');
  expect([pods.isKnown('a'), names(pods.on('n')), told.slice(-2)]).toEqual([false, [], ['one → ', 'known']]);
});

test('a watch that is lost leaves an old picture, or none where that is better', () => {
  expect(started().pods.handlers('a')).not.toHaveProperty('onLost');
  const { pods, told } = started(true);
  const handlers = pods.handlers('a');
  handlers.onReplace([]);
  handlers.onLost?.();
  expect(pods.isKnown('a')).toBe(false);
  handlers.onReplace([]);
  expect([pods.isKnown('a'), told]).toEqual([true, ['known', 'known']]);
});

test('what a selector selects is as if every pod was looked at, whatever comes and goes on a node with many', () => {
  const pods = new PodCollection<Pod>();
  const handlers = { a: pods.handlers('a'), b: pods.handlers('b') };
  const selectors = [
    { matchLabels: { app: '1' } },
    { matchExpressions: [{ key: 'app', operator: 'NotIn' as const, values: ['1'] }] },
  ];
  let state = 5;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  for (let step = 0; step < 3000; step += 1) {
    const namespace = random(2) === 0 ? 'a' : 'b';
    const one = { ...pod(namespace, `p${random(300)}`, `n${random(2)}`), labels: { app: `${random(3)}` } };
    const next = random(1500) === 0 ? [one] : undefined;
    if (next) handlers[namespace].onReplace(next);
    else if (random(8) === 0) handlers[namespace].onDelete(one);
    else handlers[namespace].onUpsert(one);
    for (const node of ['n0', 'n1']) {
      const there = pods.on(node);
      for (const selector of selectors) {
        const names = (all: readonly Pod[]) => all.map(({ uid }) => uid).sort();
        const plain = there.filter((each) => each.namespace === namespace && selects(selector, each.labels));
        expect(names(selectedIn(there, { namespace, selector }))).toEqual(names(plain));
      }
    }
  }
});

test('a list is told at once, after all of it is there', () => {
  const pods = new PodCollection<Pod>();
  const told: number[][] = [];
  const nodes = (changes: readonly ObjectChange<Pod>[]) => told.push([changes.length, pods.countOn('n')]);
  pods.onChange({ changed: nodes, listed: nodes });
  pods.handlers('a').onReplace([pod('a', 'one'), pod('a', 'two'), pod('a', 'three', 'm')]);
  expect(told).toEqual([[3, 2]]);
});
