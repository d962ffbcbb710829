import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { createIntern } from './intern.ts';
import { ListedOrigins } from './listed-origins.ts';
import { isOfRule } from './node-keys.ts';
import { type ObservedNode, observeNode } from './observed-node.ts';

const LABEL = 'example.com/tier';

function nodeWith(keys: object | undefined, other = ''): ObservedNode {
  const annotations = { other, ...(keys ? { [KEYS_ANNOTATION]: JSON.stringify(keys) } : {}) };
  return observeNode(
    { metadata: { name: 'n', uid: 'n', resourceVersion: '1', annotations } },
    createIntern(),
    new Set([KEYS_ANNOTATION]),
  );
}

const DEVICE = { [`label:${LABEL}`]: 'device' };
const RULE = { [`label:${LABEL}`]: 'rule' };

test('a key is listed for an origin as long as one Node lists it', () => {
  const origins = new ListedOrigins();
  const has = () => [
    origins.has('label', LABEL, (origin) => origin === 'device'),
    origins.has('label', LABEL, isOfRule),
  ];
  const [first, second] = [nodeWith(DEVICE), nodeWith(DEVICE)];
  origins.changed(undefined, first);
  origins.changed(undefined, second);
  expect(has()).toEqual([true, false]);
  origins.changed(first, nodeWith(RULE));
  expect(has()).toEqual([true, true]);
  origins.changed(second, undefined);
  expect(has()).toEqual([false, true]);
  expect(origins.has('taint', LABEL, () => true)).toBe(false);
  origins.changed(nodeWith(RULE), nodeWith(undefined));
  expect(has()).toEqual([false, false]);
});

test('the revision grows with the first and the last Node of an origin, and with nothing else', () => {
  const origins = new ListedOrigins();
  const grew = (previous: ObservedNode | undefined, next: ObservedNode | undefined) => {
    const before = origins.revision;
    origins.changed(previous, next);
    return origins.revision > before;
  };
  expect(grew(undefined, nodeWith(DEVICE))).toBe(true);
  expect(grew(undefined, nodeWith(DEVICE))).toBe(false);
  expect(grew(nodeWith(DEVICE), nodeWith(DEVICE, 'changed'))).toBe(false);
  expect(grew(nodeWith(DEVICE), nodeWith(DEVICE))).toBe(false);
  expect(grew(nodeWith(DEVICE), nodeWith(undefined))).toBe(false);
  expect(grew(nodeWith(DEVICE), nodeWith(undefined))).toBe(true);
});
