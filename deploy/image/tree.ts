export type Entry =
  | { type: 'file'; mode: number; content: Buffer }
  | { type: 'symlink'; target: string }
  | { type: 'directory'; mode: number };

/** Files by their path, which has no slash at its begin. Parent directories need not be in it. */
export type Tree = Map<string, Entry>;

export function addFile(tree: Tree, path: string, content: Buffer | string, mode = 0o644): void {
  tree.set(path, { type: 'file', mode, content: Buffer.from(content) });
}

/** The tree with every parent directory, in the order of the paths' bytes. */
export function completeTree(tree: Tree): [path: string, entry: Entry][] {
  const complete: Tree = new Map(tree);
  for (const path of tree.keys()) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = path.slice(0, end);
      if (!complete.has(parent)) complete.set(parent, { type: 'directory', mode: 0o755 });
    }
  }
  return [...complete].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
