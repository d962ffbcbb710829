import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOM_IMPORTS } from '../tidy/rooms.ts';
import { ROOT } from '../tidy/sources.ts';
import { EQUIVALENTS, isEquivalent } from './equivalents.ts';
import FLOORS from './floors.json' with { type: 'json' };
import { mutated, mutationsOf } from './mutations.ts';
import { mutantOf, NAMED } from './named.ts';
import { patchOf, SHIPPED } from './shipped.ts';

function mutantsOf(code: string): string[] {
  return mutationsOf(code).map((mutation) => mutated(code, mutation));
}

describe('a mutant', () => {
  test.each([
    ['a === b', '((a) !== (b))'],
    ['a < b', '((a) <= (b))'],
    ['a && b', '((a) || (b))'],
    ['f(!a)', 'f((a))', ';'],
    ['f(true)', 'f(false)', ';'],
    ['f(0, 30_000)', 'f(1, 30_000)', 'f(0, 60000)', ';'],
    ['if (a) f()', 'if (false) f()', 'if (a) ;'],
    ['const x = a ? b : c', 'const x = !(a) ? b : c'],
    ['function f() { return false; }', 'function f() { return true; }'],
    ['function f() { return a; }', 'function f() { return undefined; }'],
    ['const x = Math.max(a, b)', 'const x = Math.min(a, b)'],
    ['async () => { await a.b?.(c); }', 'async () => { ; }'],
    ['this.a = b', ';'],
  ])('of `%s` has one place changed', (code, ...expected) => {
    expect(mutantsOf(code).toSorted()).toEqual(expected.toSorted());
  });

  test.each([
    "import { a } from 'b';",
    'type A = 1 | true;',
    'const a: 0 = b as 0;',
    "logger.warn({ n: a }, 'text');",
    "const a = 'text';",
    'class A extends B { constructor() { super(); } }',
    'function f() { return; }',
  ])('is not made of types, texts and logs: `%s`', (code) => {
    expect(mutantsOf(code)).toEqual([]);
  });

  test('names the line of its place', () => {
    expect(mutationsOf('f(a);\n\nconst x = a > 2;').map(({ line, what }) => [line, what])).toEqual([
      [1, 'the statement removed'],
      [3, '> becomes >='],
      [3, '2 becomes 4'],
    ]);
  });
});

test('every floor belongs to a room', () => {
  const { default: _, ...rooms } = FLOORS as Record<string, number>;
  expect(Object.keys(rooms).filter((room) => !(room in ROOM_IMPORTS))).toEqual([]);
});

describe.each(SHIPPED)('the shipped defect $name', (defect) => {
  test('can still be planted', () => {
    const stdio = ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'];
    expect(() => execFileSync('git', ['apply', '--check', patchOf(defect)], { cwd: ROOT, stdio })).not.toThrow();
  });

  test('names a test that exists', () => {
    const [file, name] = defect.caughtBy;
    expect(existsSync(path.join(ROOT, file))).toBe(true);
    // A name that is made of a table stands there with its placeholder.
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    expect(text.includes(name) || text.includes(name.replace('there is no pod', '%s'))).toBe(true);
  });
});

test.each(NAMED)('the named mutant can still be made: $name', (named) => {
  const text = readFileSync(path.join(ROOT, named.file), 'utf8');
  expect(mutated(text, mutantOf(named, text))).not.toBe(text);
});

test.each(EQUIVALENTS)('$file still has the equivalent mutant of `$line`: $what', ({ file, line, what }) => {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const there = mutationsOf(text).map((mutation) => ({ ...mutation, file }));
  const alike = there.filter((mutant) => isEquivalent(mutant, text) && mutant.what === what);
  expect(alike.some((mutant) => text.split('\n')[mutant.line - 1]?.trim() === line)).toBe(true);
});
