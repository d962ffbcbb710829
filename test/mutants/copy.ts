import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../tidy/sources.ts';
import { KeptVitest } from './kept-vitest.ts';

/** A copy of the repository, and a vitest that runs its tests. */
export type Copy = { directory: string; tests: KeptVitest };

/** Makes a copy of the working tree for as long as `use` takes. */
export async function inCopy<T>(use: (copy: Copy) => Promise<T>): Promise<T> {
  const { directory, remove } = copyRepository();
  const tests = new KeptVitest(directory);
  try {
    return await use({ directory, tests });
  } finally {
    tests.stop();
    remove();
  }
}

/**
 * A copy of the working tree, as it is, in a directory of its own. What is installed is shared: `node_modules` of the
 * root is linked entry by entry, so that caches are the copy's own.
 */
function copyRepository(): { directory: string; remove: () => void } {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'rollcall-mutants-'));
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: ROOT });
  for (const name of listed.toString().split('\0')) {
    const source = path.join(ROOT, name);
    if (name === '' || !existsSync(source)) continue;
    cpSync(source, path.join(directory, name), { verbatimSymlinks: true, recursive: true });
  }
  mkdirSync(path.join(directory, 'node_modules'));
  for (const entry of readdirSync(path.join(ROOT, 'node_modules'))) {
    if (entry.startsWith('.vite')) continue;
    symlinkSync(path.join(ROOT, 'node_modules', entry), path.join(directory, 'node_modules', entry));
  }
  const packages = readdirSync(path.join(ROOT, 'packages')).map((name) => `packages/${name}`);
  for (const workspace of ['agent', 'coordinator', 'deploy/source', 'test', ...packages]) {
    const links = path.join(ROOT, workspace, 'node_modules');
    // They are relative, so that those between the packages of the copy stay in it.
    if (existsSync(links)) cpSync(links, path.join(directory, workspace, 'node_modules'), LINKS);
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

const LINKS = {
  recursive: true,
  verbatimSymlinks: true,
  // What bundlers and vitest cache there.
  filter: (source: string) => !/node_modules\/\.vite/.test(source),
};
