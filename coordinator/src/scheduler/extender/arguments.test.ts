import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readArguments } from './arguments.ts';
import { JsonCursor } from './json-cursor.ts';

const breathe = () => Promise.resolve();
const read = (text: string | Buffer) => readArguments(Buffer.from(text), breathe);

describe('a question', () => {
  test('with names is read as the scheduler writes it', async () => {
    const text = '{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}\n';
    expect(await read(text)).toEqual({ pod: { metadata: { name: 'p' } }, names: ['a', 'b'], items: undefined });
  });

  test.each([
    ['with brackets, quotes and escapes in them', ['a]', '[b', '"c"', '\\', '\u00e9', '']],
    ['of which there are none', []],
    ['that are long', ['x'.repeat(4000), 'y']],
    ['that take more than is read in one go', Array.from({ length: 6000 }, (_, index) => `${index}`.padEnd(200, 'n'))],
  ])('with names %s is read as any other, and what follows them as well', async (_what, names) => {
    const text = `{"NodeNames": ${JSON.stringify(names)} ,"Pod":{"p":1}}`;
    expect(await read(text)).toEqual({ pod: { p: 1 }, names, items: undefined });
  });

  test('with whole nodes is read with where each of them is', async () => {
    const first = '{"metadata":{"name":"a","labels":{"k":"v"}},"spec":{"s":"]},{\\""}}';
    const second = '{ "metadata" : { "name" : "b\\u00e9" } }';
    const text = `{"Pod":{},"Nodes":{"metadata":{},"items":[${first} ,\n${second}]},"NodeNames":null}`;
    const { items = [], names } = await read(text);
    expect(names).toBeUndefined();
    expect(items.map(({ name, labels }) => [name, labels])).toEqual([
      ['a', { k: 'v' }],
      ['bé', {}],
    ]);
    expect(items.map(({ start, end }) => Buffer.from(text).toString('utf8', start, end))).toEqual([first, second]);
  });

  test('has keys in any case and any order, and unknown keys', async () => {
    const text = '{"nodenames":["a"],"POD":{"x":1},"nodes":null,"More":[{"deep":{}}]}';
    expect(await read(text)).toEqual({ pod: { x: 1 }, names: ['a'], items: undefined });
    const { items } = await read('{"pod":{},"nodes":{"ITEMS":[{"metadata":{"name":"a"}}]}}');
    expect(items?.map(({ name }) => name)).toEqual(['a']);
  });

  test('about nothing is one', async () => {
    expect(await read('{"Pod":{}}')).toEqual({ pod: {}, names: undefined, items: undefined });
    expect((await read('{"Pod":{},"Nodes":{}}')).items).toEqual([]);
    expect((await read('{"Pod":{},"Nodes":{"items":null}}')).items).toEqual([]);
  });

  test('with nodes that lack everything is read all the same', async () => {
    const { items } = await read(
      '{"Pod":{},"Nodes":{"items":[{},{"metadata":null},{"metadata":{"name":3,"labels":[1]}}]}}',
    );
    expect(items?.map(({ name, labels }) => [name, labels])).toEqual([
      ['', {}],
      ['', {}],
      ['', {}],
    ]);
  });

  test('keeps of labels only those that are text', async () => {
    const { items } = await read('{"Pod":{},"Nodes":{"items":[{"metadata":{"labels":{"a":"b","c":{"toString":1}}}}]}}');
    expect(items?.[0]?.labels).toEqual({ a: 'b' });
  });

  test.each([
    ['', /\{ is missing/],
    ['null', /\{ is missing/],
    ['[]', /\{ is missing/],
    ['{', /key/],
    ['{}', /Pod is missing/],
    ['{"Pod":null}', /Pod is missing/],
    ['{"Pod":[]}', /Pod is missing/],
    ['{"Pod":"p"}', /Pod is missing/],
    ['{"Pod":{}} {}', /after the end/],
    ['{"Pod":{}', /\} is missing/],
    ['{"Pod":{},}', /key/],
    ['{"Pod" {}}', /: is missing/],
    ['{"Pod":{"a":tru}}', /./],
    ['{"Pod":{},"Other":nul}', /./],
    ['{"Pod":{},"NodeNames":"a"}', /NodeNames is not/],
    ['{"Pod":{},"NodeNames":["a",1]}', /NodeNames is not/],
    ['{"Pod":{},"NodeNames":["a",["b"]]}', /NodeNames is not/],
    ['{"Pod":{},"NodeNames":["a" "b"]}', /\] is missing/],
    ['{"Pod":{},"NodeNames":["a",]}', /./],
    ['{"Pod":{},"Nodes":[]}', /Nodes is not/],
    ['{"Pod":{},"Nodes":{"items":{}}}', /items is not/],
    ['{"Pod":{},"Nodes":{"items":[null]}}', /not a node/],
    ['{"Pod":{},"Nodes":{"items":[{}{}]}}', /\] is missing/],
    ['{"Pod":{},"Nodes":{"items":[{},]}}', /not a node/],
    ['{"Pod":{},"Nodes":{"items":[{"a":}]}}', /./],
    ['\uFEFF{"Pod":{}}', /\{ is missing/],
  ])('that is wrong is told what is: %s', async (text, problem) => {
    const error = await read(text).catch((err: unknown) => err);
    expect(error).toBeInstanceOf(SyntaxError);
    expect(String(error)).toMatch(problem);
  });

  test('with a name that is too long is told so', async () => {
    await expect(read(`{"Pod":{},"NodeNames":["${'x'.repeat(5000)}"]}`)).rejects.toThrow(/more than 4096 bytes/);
  });

  test('in other bytes than UTF-8 is none', async () => {
    const text = Buffer.from('{"Pod":{"a":"\u00ff"}}', 'latin1');
    await expect(readArguments(text, breathe)).rejects.toThrow(/not UTF-8/);
  });

  test('about more nodes than any cluster has is none', async () => {
    const names = JSON.stringify(Array.from({ length: 100_001 }, () => 'n'));
    await expect(read(`{"Pod":{},"NodeNames":${names}}`)).rejects.toThrow(/more than 100000/);
    await expect(read(`{"Pod":{},"Nodes":{"items":[${'{},'.repeat(100_000)}{}]}}`)).rejects.toThrow(/more than 100000/);
    await expect(read(`{"Pod":{"a":"${'x'.repeat(5_000_000)}"}}`)).rejects.toThrow(/more than 4194304 bytes/);
  });

  test('with the same member twice, or with more than there can be reason for, is none', async () => {
    await expect(read('{"Pod":{},"pod":{}}')).rejects.toThrow(/pod occurs twice/);
    await expect(read('{"Pod":{},"Nodes":{"items":[],"Items":[]}}')).rejects.toThrow(/Items occurs twice/);
    const others = Array.from({ length: 40 }, (_, index) => `"x${index}":0`).join(',');
    await expect(read(`{"Pod":{},${others}}`)).rejects.toThrow(/more than 32 members/);
    await expect(read(`{"Pod":{},"Other":"${'x'.repeat(70_000)}"}`)).rejects.toThrow(/more than 65536 bytes/);
  });

  test('that is endless in depth or in nothing is none', async () => {
    const deep = `${'['.repeat(1_001)}${']'.repeat(1_001)}`;
    await expect(read(`{"Pod":{"a":${deep}}}`)).rejects.toThrow(/deep/);
    await expect(read(`{"Pod":${' '.repeat(70_000)}{}}`)).rejects.toThrow(/too much white space/);
  });

  test('that has more than may be is not read to its end', () => {
    const bytes = Buffer.alloc(64 * 1024 * 1024, 0x61);
    bytes[0] = 0x22;
    const tookMs = Array.from({ length: 20 }, () => {
      const fromMs = performance.now();
      expect(() => new JsonCursor(bytes).value(10)).toThrow(/more than 10 bytes/);
      return performance.now() - fromMs;
    });
    // The quickest of many: what else the machine does can only make it slower.
    expect(Math.min(...tookMs)).toBeLessThan(10);
  });

  test('lets others have their turn after each member, and in a long list of names', async () => {
    let breaths = 0;
    const breathed = async () => {
      breaths += 1;
    };
    await readArguments(Buffer.from('{"Pod":{},"a":1,"b":2,"Nodes":{"kind":"NodeList","metadata":{}}}'), breathed);
    expect(breaths).toBe(6);
    const names = JSON.stringify(Array.from({ length: 50_000 }, () => ''));
    await readArguments(Buffer.from(`{"Pod":{},"NodeNames":${names}}`), breathed);
    expect(breaths).toBeGreaterThanOrEqual(12);
  });

  test('that is long lets others have their turn, and what they throw ends it', async () => {
    const node = JSON.stringify({ metadata: { name: 'n' }, text: 'x'.repeat(100_000) });
    const text = `{"Pod":{},"Nodes":{"items":[${Array.from({ length: 40 }, () => node).join(',')}]}}`;
    let breaths = 0;
    await readArguments(Buffer.from(text), async () => {
      breaths += 1;
    });
    expect(breaths).toBeGreaterThanOrEqual(3);
    const gone = new Error('gone');
    await expect(readArguments(Buffer.from(text), () => Promise.reject(gone))).rejects.toBe(gone);
  });
});

test('any JSON is read as by JSON.parse, and anything else is not, deep as it may be', () => {
  const text = fc.oneof(
    fc.json(),
    fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', ' ', '\n', '1', 'a', 'true', 'é') }),
  );
  fc.assert(
    fc.property(text, fc.nat({ max: 30 }), (json, at) => {
      for (const candidate of [json, json.slice(0, at), json.slice(0, at) + json.slice(at + 1)]) {
        expect(outcome(() => parseWhole(candidate))).toEqual(outcome(() => JSON.parse(candidate)));
      }
    }),
    { numRuns: 3000 },
  );
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(outcome(() => new JsonCursor(Buffer.from(deep)).value(10))).toBe('wrong');
});

function parseWhole(text: string): unknown {
  const cursor = new JsonCursor(Buffer.from(text));
  const value = cursor.value();
  cursor.end();
  return value;
}

function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (err) {
    if (err instanceof SyntaxError) return 'wrong';
    throw err;
  }
}

test('members and elements are walked one by one', () => {
  const cursor = new JsonCursor(Buffer.from(' { "a" : [ 1 , { "b" : 2 } ] , "c" : { } } '));
  const seen: unknown[] = [];
  for (const key of cursor.members()) {
    if (key === 'c') seen.push(key, cursor.isObject(), cursor.value());
    else for (const _element of cursor.elements()) seen.push(cursor.isArray(), cursor.value());
  }
  cursor.end();
  expect(seen).toEqual([false, 1, false, { b: 2 }, 'c', true, {}]);
});
