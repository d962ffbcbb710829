import { expect, test } from 'vitest';
import type { ExtenderArguments } from './arguments.ts';
import { filterError, filterResult } from './responder.ts';

const REFUSED = { rule: 'full', message: 'it is full' };
const NOTHING = { FailedNodes: null, FailedAndUnresolvableNodes: null, Error: '' };
const nodes = ['a', 'b', 'c'].map((name) => ({ name, labels: {}, object: { metadata: { name } } }));

function result(asked: Partial<ExtenderArguments>, verdicts: Parameters<typeof filterResult>[1]) {
  const question = { pod: {}, names: undefined, nodes: undefined, victims: undefined, ...asked };
  const { body, ...rest } = filterResult(question, verdicts);
  expect(rest).toEqual({ status: 200, type: 'application/json' });
  return String(body);
}

test('names that pass come back as names, and the others with their reasons', () => {
  expect(result({ names: ['x', 'y', '__proto__'], nodes }, [undefined, REFUSED, REFUSED])).toBe(
    '{"Nodes":null,"NodeNames":["x"],"FailedNodes":null,"FailedAndUnresolvableNodes":{"y":"it is full","__proto__":"it is full"},"Error":""}',
  );
});

test('where all pass there are no reasons, and without nodes there is nothing', () => {
  expect(JSON.parse(result({ names: ['x'] }, [undefined]))).toEqual({ Nodes: null, NodeNames: ['x'], ...NOTHING });
  expect(JSON.parse(result({}, []))).toEqual({ Nodes: null, NodeNames: null, ...NOTHING });
});

test('whole nodes that pass come back whole', () => {
  const { Nodes, FailedAndUnresolvableNodes } = JSON.parse(result({ nodes }, [undefined, REFUSED, undefined]));
  expect(Nodes).toEqual({ metadata: {}, items: [{ metadata: { name: 'a' } }, { metadata: { name: 'c' } }] });
  expect(FailedAndUnresolvableNodes).toEqual({ b: 'it is full' });
});

test('what could not be made sense of is an error without a verdict', () => {
  const { body } = filterError('why');
  expect(JSON.parse(String(body))).toEqual({ Nodes: null, NodeNames: null, ...NOTHING, Error: 'why' });
});
