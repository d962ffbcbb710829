import path from 'node:path';
import { expect, test } from 'vitest';
import { fileWith } from '../testing/run.test-fixtures.ts';
import { labelOf, readFiles } from './read-files.ts';

const read = (text: string) => {
  const file = fileWith('file', text);
  const { objects, rules } = readFiles([file]);
  return { objects, isRule: Object.values(rules)[0] === text };
};

test('a file whose documents all have a kind holds objects', () => {
  expect(read('kind: A\n---\nkind: B\n---\n')).toEqual({ objects: [{ kind: 'A' }, { kind: 'B' }], isRule: false });
});

test('a list stands for its items, and an object of a kind that only ends so for itself', () => {
  expect(read('kind: AList\nitems: [{n: 1}, {n: 2}]').objects).toEqual([{ n: 1 }, { n: 2 }]);
  expect(read('kind: AList').objects).toEqual([{ kind: 'AList' }]);
  expect(read('kind: A\nitems: [{n: 1}]').objects).toEqual([{ kind: 'A', items: [{ n: 1 }] }]);
});

test.each([
  ['nothing', ''],
  ['a comment', '# comment\n'],
  ['a text', 'key=value\n'],
  ['a list', '- kind: A\n'],
  ['an object without a kind', 'name: a\n'],
  ['an object whose kind is no text', 'kind: 3\n'],
  ['an object beside something else', 'kind: A\n---\nname: a\n'],
  ['YAML with an error', 'kind: A\nkind: [\n'],
  ['a name that refers to nothing', 'kind: A\nb: *c\n'],
])('a file with %s is a rule file', (_what, text) => {
  expect(read(text)).toEqual({ objects: [], isRule: true });
});

test('a file that cannot be read is named with the reason', () => {
  expect(() => readFiles(['/nonexistent/a'])).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^Cannot read \/nonexistent\/a: ENOENT/),
      cure: 'pass a readable file after each -f',
      exitCode: 2,
    }),
  );
});

test('the label of a rule file is its name, with the folder where that can begin a label', () => {
  const labels = ['a', './a', 'dir/a', '../a', 'x/Upper/a', 'x/-a/a', 'x/a-/a', 'x/a.b-c/a', 'x/b/a', '/a'].map(
    labelOf,
  );
  expect(labels).toEqual(['a', 'a', 'dir/a', 'a', 'a', 'a', 'a', 'a.b-c/a', 'b/a', 'a']);
  expect(labelOf(path.join('accelerators', 'edgetpu'))).toBe('accelerators/edgetpu');
});
