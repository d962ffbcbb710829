import { describe, expect, test } from 'vitest';
import { readArguments } from './arguments.ts';

const read = (text: string) => readArguments(Buffer.from(text), 10);
const NOTHING = { names: undefined, nodes: undefined, victims: undefined };

describe('a request', () => {
  test('with names is read as kube-scheduler writes it', () => {
    const text = '{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}\n';
    expect(read(text)).toEqual({ ...NOTHING, pod: { metadata: { name: 'p' } }, names: ['a', 'b'] });
  });

  test('with whole nodes is read with their names and labels, and with what came', () => {
    const first = { metadata: { name: 'a', labels: { k: 'v', odd: { toString: 1 } } }, spec: {} };
    const others = [{}, { metadata: null }, { metadata: { name: 3, labels: [1] } }];
    const { nodes } = read(JSON.stringify({ Pod: {}, Nodes: { items: [first, ...others] }, NodeNames: null }));
    expect(nodes).toEqual([
      { name: 'a', labels: { k: 'v' }, object: first },
      ...others.map((object) => ({ name: '', labels: {}, object })),
    ]);
  });

  test('about a preemption is read with the uids of the victims, and with what came', () => {
    const a = { Pods: [{ UID: 'u' }, { UID: 'v' }, null, { UID: 7 }], NumPDBViolations: 2 };
    const { victims } = read(JSON.stringify({ Pod: {}, NodeNameToMetaVictims: { a, b: null } }));
    expect([...(victims ?? [])]).toEqual([
      ['a', { uids: new Set(['u', 'v', '']), object: a }],
      ['b', { uids: new Set(), object: null }],
    ]);
  });

  test('has keys in any case and any order, and unknown keys', () => {
    const text = '{"nodenames":["a"],"POD":{"x":1},"nodes":null,"More":[{"deep":{}}]}';
    expect(read(text)).toEqual({ ...NOTHING, pod: { x: 1 }, names: ['a'] });
  });

  test('about nothing is one', () => {
    expect(read('{"Pod":{}}')).toEqual({ ...NOTHING, pod: {} });
    expect(read('{"Pod":{},"Nodes":{}}').nodes).toEqual([]);
    expect(read('{"Pod":{},"Nodes":{"items":null}}').nodes).toEqual([]);
  });

  test.each([
    ['', /JSON/],
    ['null', /not an object/],
    ['[]', /not an object/],
    ['{}', /Pod is missing/],
    ['{"Pod":null}', /Pod is missing/],
    ['{"Pod":[]}', /Pod is missing/],
    ['{"Pod":"p"}', /Pod is missing/],
    ['{"Pod":{}} {}', /JSON/],
    ['{"Pod":{},"NodeNames":"a"}', /NodeNames is not/],
    ['{"Pod":{},"NodeNames":["a",1]}', /NodeNames is not/],
    ['{"Pod":{},"Nodes":[]}', /Nodes is not/],
    ['{"Pod":{},"Nodes":{"items":{}}}', /Nodes is not/],
    ['{"Pod":{},"Nodes":{"items":[null]}}', /Nodes is not/],
    ['{"Pod":{},"NodeNameToMetaVictims":[]}', /NodeNameToMetaVictims is not/],
    ['\uFEFF{"Pod":{}}', /JSON/],
  ])('that is wrong is told what is: %s', (text, problem) => {
    expect(() => read(text)).toThrow(SyntaxError);
    expect(() => read(text)).toThrow(problem);
  });

  test('in other bytes than UTF-8 is none', () => {
    expect(() => readArguments(Buffer.from('{"Pod":{"a":"\u00ff"}}', 'latin1'), 10)).toThrow(/not UTF-8/);
  });
});
