import { expect, test, vi } from 'vitest';
import type { OnNode } from './node-indexer.ts';
import { OnDemandObjects } from './on-demand-objects.ts';

type Told = OnNode & { told: Record<string, string> };

const object = (name: string, node: string, value = '1'): Told => {
  return { uid: name, namespace: 'nfd', name, node, told: { x: value } };
};

function start() {
  const onChange = vi.fn();
  const onKnown = vi.fn();
  return { objects: new OnDemandObjects<Told>(onChange, onKnown), onChange, onKnown };
}

test('nothing is known of them until they were listed, and after they are no longer asked for', () => {
  const { objects, onChange, onKnown } = start();
  objects.upsert(object('a', 'n'));
  expect(objects.on('n')).toBeUndefined();
  objects.replace([]);
  expect(objects.on('n')).toEqual([]);
  objects.upsert(object('a', 'n'));
  expect(objects.on('n')).toHaveLength(1);
  onChange.mockClear();
  objects.forget();
  objects.forget();
  expect(objects.on('n')).toBeUndefined();
  objects.replace([]);
  objects.replace([]);
  expect(objects.on('n')).toEqual([]);
  expect(onChange).not.toHaveBeenCalled();
  expect(onKnown).toHaveBeenCalledTimes(3);
});

test('a node is reported once, where what is kept of its objects differs', () => {
  const { objects, onChange } = start();
  objects.replace([object('a', 'n'), object('b', 'm')]);
  onChange.mockClear();
  objects.replace([object('a', 'n'), object('b', 'm')]);
  objects.upsert(object('a', 'n'));
  expect(onChange).not.toHaveBeenCalled();
  objects.upsert(object('a', 'n', '2'));
  objects.remove(object('b', 'm'));
  expect(onChange.mock.calls.flat()).toEqual(['n', 'm']);
  objects.upsert(object('a', 'm'));
  expect(onChange.mock.calls.flat()).toEqual(['n', 'm', 'n', 'm']);
});
