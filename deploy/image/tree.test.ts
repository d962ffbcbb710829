import { expect, test } from 'vitest';
import { addFile, completeTree, type Tree } from './tree.ts';

test('every parent directory is there, before what is in it', () => {
  const tree: Tree = new Map();
  addFile(tree, 'a/b/c', 'x', 0o600);
  tree.set('a', { type: 'directory', mode: 0o700 });
  expect(completeTree(tree)).toEqual([
    ['a', { type: 'directory', mode: 0o700 }],
    ['a/b', { type: 'directory', mode: 0o755 }],
    ['a/b/c', { type: 'file', mode: 0o600, content: Buffer.from('x') }],
  ]);
  expect([...tree.keys()]).toEqual(['a/b/c', 'a']);
});

test('paths are in the order of their bytes', () => {
  const tree: Tree = new Map();
  for (const path of ['é', 'b', 'a-b', 'a/b', 'Z']) addFile(tree, path, '');
  expect(completeTree(tree).map(([path]) => path)).toEqual(['Z', 'a', 'a-b', 'a/b', 'b', 'é']);
});

test('a file can be read by all, and written by its owner, unless it is told otherwise', () => {
  const tree: Tree = new Map();
  addFile(tree, 'a', 'x');
  expect(tree.get('a')).toEqual({ type: 'file', mode: 0o644, content: Buffer.from('x') });
});
