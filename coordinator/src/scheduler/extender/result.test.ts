import { expect, test } from 'vitest';
import type { ExtenderArguments } from './arguments.ts';
import { filterError, filterResult, nodeNames, priorityResult } from './responder.ts';

const REFUSED = { rule: 'full', message: 'it is full' } as never;
const textOf = ({ body }: { body: unknown }) =>
  (Array.isArray(body) ? body : [body]).map((piece) => piece.toString()).join('');
const question = (more: Partial<ExtenderArguments>) => ({ pod: {}, ...more }) as ExtenderArguments;

/** Whole nodes with what stands between them. */
const BODY = Buffer.from('[{"a":1}, {"b":2},{"c":3} ,{"d":4}]');
const ITEMS = ['a', 'b', 'c', 'd'].map((name) => {
  const start = BODY.indexOf(`{"${name}"`);
  return { name, start, end: BODY.indexOf('}', start) + 1, labels: {} };
}) as unknown as NonNullable<ExtenderArguments['items']>;

test('a question is about the names that it gives, or the names of the nodes in it, or about none', () => {
  expect(nodeNames(question({ names: ['x'], items: ITEMS }))).toEqual(['x']);
  expect(nodeNames(question({ items: ITEMS }))).toEqual(['a', 'b', 'c', 'd']);
  expect(nodeNames(question({}))).toEqual([]);
});

test('names that pass come back as names, and the others with their reasons', () => {
  const answer = filterResult(question({ names: ['x', 'y', '__proto__'] }), [undefined, REFUSED, REFUSED], BODY);
  expect(answer).toMatchObject({ status: 200, type: 'application/json' });
  expect(textOf(answer)).toBe(
    '{"Nodes":null,"NodeNames":["x"],"FailedNodes":null,"FailedAndUnresolvableNodes":{"y":"it is full","__proto__":"it is full"},"Error":""}',
  );
});

test('where all pass there are no reasons, and without nodes there is nothing', () => {
  expect(JSON.parse(textOf(filterResult(question({ names: ['x'] }), [undefined], BODY)))).toEqual({
    Nodes: null,
    NodeNames: ['x'],
    FailedNodes: null,
    FailedAndUnresolvableNodes: null,
    Error: '',
  });
  expect(JSON.parse(textOf(filterResult(question({}), [], BODY)))).toMatchObject({ Nodes: null, NodeNames: null });
});

test.each([
  [[], '{"a":1}, {"b":2},{"c":3} ,{"d":4}'],
  [[0], '{"b":2},{"c":3} ,{"d":4}'],
  [[1], '{"a":1},{"c":3} ,{"d":4}'],
  [[1, 2], '{"a":1},{"d":4}'],
  [[3], '{"a":1}, {"b":2},{"c":3}'],
  [[0, 1, 2, 3], ''],
])('whole nodes that pass come back byte for byte: without %j', (refused, items) => {
  const verdicts = ITEMS.map((_, index) => ((refused as number[]).includes(index) ? REFUSED : undefined));
  const text = textOf(filterResult(question({ items: ITEMS }), verdicts, BODY));
  expect(text.startsWith(`{"Nodes":{"metadata":{},"items":[${items}]},"NodeNames":null,`)).toBe(true);
  expect(() => JSON.parse(text)).not.toThrow();
});

test('scores come with their names, and 0 where there is none', () => {
  expect(JSON.parse(textOf(priorityResult(['x', 'y'], [7])))).toEqual([
    { Host: 'x', Score: 7 },
    { Host: 'y', Score: 0 },
  ]);
});

test('what could not be made sense of is an error without a verdict', () => {
  expect(JSON.parse(textOf(filterError('why')))).toEqual({
    Nodes: null,
    NodeNames: null,
    FailedNodes: null,
    FailedAndUnresolvableNodes: null,
    Error: 'why',
  });
});
