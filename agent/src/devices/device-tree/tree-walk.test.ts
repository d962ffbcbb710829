import { describe, expect, test } from 'vitest';
import { type HostFiles, openHostFiles } from '../host-files.ts';
import { walkTree } from './tree-walk.ts';

/** A tree whose root has so many nodes, each with two below it. */
function walkWide(nodes: number) {
  let looks = 0;
  const files: HostFiles = {
    ...openHostFiles(),
    list: () => [],
    directories(directory) {
      if (directory === '/t') return Array.from({ length: nodes }, (_, index) => `n${index}`);
      return directory.split('/').length === 3 ? ['a', 'b'] : [];
    },
    text(file) {
      if (file.endsWith('/compatible')) looks += 1;
      return undefined;
    },
  };
  const { leftOut } = walkTree(files, '/t', () => false);
  return { looks, leftOut };
}

describe('the walk through a tree', () => {
  test('looks at every node of a tree as boards have it', () => {
    // The root twice: once to look, and once for the signature.
    expect(walkWide(1000)).toEqual({ looks: 3002, leftOut: 0 });
  });

  test('ends after so many nodes, and says that there are more', () => {
    const { looks, leftOut } = walkWide(6000);
    expect(leftOut).toBe(1);
    expect(looks).toBeGreaterThanOrEqual(8192);
    expect(looks).toBeLessThan(8200);
  });
});
