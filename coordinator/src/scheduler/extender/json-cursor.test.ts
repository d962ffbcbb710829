import { describe, expect, test } from 'vitest';
import { JsonCursor } from './json-cursor.ts';

const cursor = (text: string | Buffer) => new JsonCursor(Buffer.from(text));

/** Everything, read piece by piece. */
function read(text: string | Buffer): unknown {
  const json = cursor(text);
  const value = any(json);
  json.end();
  return value;
}

function any(json: JsonCursor): unknown {
  if (json.isObject()) {
    const members: [string, unknown][] = [];
    for (const key of json.members()) members.push([key, any(json)]);
    return Object.fromEntries(members);
  }
  if (json.isArray()) {
    const elements: unknown[] = [];
    for (const _ of json.elements()) elements.push(any(json));
    return elements;
  }
  return json.value();
}

describe('a walk', () => {
  test.each([
    '{}',
    '[]',
    ' { "a" : 1 , "b" : [ true , null , "x" , { } ] } ',
    '[[],[[1]],{"a":{"b":[]}}]',
    '"a \\"quoted\\" text, with \\u00e9 and é"',
    '-1.5e3',
    '\t\r\n"x"\n',
    `"${'x'.repeat(600)}"`,
    '["a}","]b","{",","]',
  ])('of %s reads what JSON.parse reads', (text) => {
    expect(read(text)).toEqual(JSON.parse(text));
  });

  test.each([
    '',
    '{',
    '[',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '[1,]',
    '[1 2]',
    '{"a":1 "b":2}',
    '1 2',
    '"a',
    '{a:1}',
    '{1:2}',
    'nul',
    '\u00a01',
    ']',
    '}',
  ])('of %j is refused', (text) => {
    expect(() => read(text)).toThrow(SyntaxError);
  });

  test('refuses what is not UTF-8', () => {
    expect(() => read(Buffer.from([0x22, 0xff, 0x22]))).toThrow('The value at byte 0 is not UTF-8');
  });

  test.each([
    [64 * 1024, true],
    [64 * 1024 + 1, false],
  ])('bears %i spaces in a row: %s', (spaces, isBorne) => {
    const text = `${' '.repeat(spaces)}1`;
    if (isBorne) expect(read(text)).toBe(1);
    else expect(() => read(text)).toThrow('There is too much white space after byte 0');
  });

  test.each([
    [1000, true],
    [1001, false],
  ])('bears a value that is %i deep: %s', (depth, isBorne) => {
    const json = cursor('['.repeat(depth) + ']'.repeat(depth));
    if (isBorne) expect(json.value()).toHaveLength(1);
    else expect(() => json.value()).toThrow('more than 1000 levels deep');
  });
});

describe('a value', () => {
  test.each([
    ['"abc"', 5],
    ['"\\n-"', 5],
    ['[1,2]', 5],
    ['12345', 5],
  ])('%s has five bytes, and no more than may be', (text, bytes) => {
    expect(cursor(text).value(bytes)).toEqual(JSON.parse(text));
    expect(() => cursor(text).value(bytes - 1)).toThrow(SyntaxError);
  });

  test('ends where the next thing begins', () => {
    const json = cursor('[1 , "b" ]');
    const ends: number[] = [];
    for (const _ of json.elements()) {
      json.value();
      ends.push(json.at);
    }
    expect(ends).toEqual([2, 8]);
    expect(json.position()).toBe(10);
  });

  test('that is a name reads the same whether it is plain or not', () => {
    for (const name of ['node-1', 'é', 'tab\tbed', '\u007f', 'x'.repeat(509), 'x'.repeat(510), 'x'.repeat(511)]) {
      expect(cursor(JSON.stringify(name)).value()).toBe(name);
    }
    expect(() => cursor('"a\u0001"').value()).toThrow(SyntaxError);
  });
});

describe('a list of plain strings', () => {
  const max = { bytes: 12, count: 2, characters: 4 };
  const taken = (text: string) => {
    const json = cursor(text);
    return { strings: json.plainStrings(max), at: json.at };
  };

  test('is taken at once up to each limit, and the walk goes on behind it', () => {
    expect(taken('["ab","abc"]')).toEqual({ strings: ['ab', 'abc'], at: 12 });
    expect(taken('["abcd"],1')).toEqual({ strings: ['abcd'], at: 8 });
  });

  test.each(['["abc","abc"]', '["","",""]', '["abcde"]', '["a",1]', '{"a":[]}', '["a"', '["a]"]'])(
    'is not %s, of which nothing is taken',
    (text) => {
      expect(taken(text)).toEqual({ strings: undefined, at: 0 });
    },
  );
});
