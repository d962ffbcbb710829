import { keyDocument, nodeServiceDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { KeyDocument, NodeServiceDocument } from '@rollcall/common/console.ts';
import { expect, test } from 'vitest';
import { chainOf, stateOfDocument } from './chain.ts';

const CAUSE = { isWell: false, headline: 'It is so', next: 'This would help.' };
const KEY = keyDocument({ key: 'k', service: 's', cause: CAUSE });
const SERVICE = nodeServiceDocument({ name: 's', steps: [{ title: 'verdict', speaks: 'for', text: 'ready' }] });
const steps = (keys: readonly KeyDocument[], service = SERVICE) =>
  chainOf(service, { keys }).map(({ title, verdict, text }) => `${title} ${verdict}: ${text}`);

test('the chain has the steps of the document, and then each key of the service', () => {
  const kinds = ['label', 'taint', 'annotation', 'condition'] as const;
  const keys = [...kinds.map((kind) => ({ ...KEY, kind })), { ...KEY, service: 'other' }];
  const words = 'It is so. This would help.';
  expect(steps(keys)).toEqual(['verdict good: ready', ...kinds.map((kind) => `${kind} good: ${words}`)]);
});

test.each([
  ['for', 'good'],
  ['against', 'bad'],
  ['neither', 'open'],
] as const)('a step that speaks %s ready is %s', (speaks, verdict) => {
  expect(steps([], { ...SERVICE, steps: [{ title: 'check', speaks, text: 'a' }] })).toEqual([`check ${verdict}: a`]);
});

test.each([
  ['yes', 'good'],
  ['no', 'bad'],
  ['open', 'open'],
] as const)('a key that agrees with what is wanted (%s) is %s', (agrees, verdict) => {
  expect(chainOf(SERVICE, { keys: [{ ...KEY, agrees }] }).at(-1)?.verdict).toBe(verdict);
});

test('a key that is not watched is no step', () => {
  expect(steps([{ ...KEY, kind: 'taint', stance: 'absent', onNode: undefined }])).toHaveLength(1);
});

test('a service is shown as held back while it is, and as none where the node is not for it', () => {
  const heldBack = { until: '2026-01-01T00:01:00Z', falls: 4 };
  const of = (change: Partial<NodeServiceDocument>) => stateOfDocument({ ...SERVICE, ...change });
  expect(of({ state: 'not-ready', heldBack })).toBe('held-back');
  expect(of({ state: 'not-ready' })).toBe('not-ready');
  expect(of({ state: 'ready', heldBack })).toBe('ready');
  expect(of({ state: undefined })).toBe('none');
});
