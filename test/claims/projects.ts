import path from 'node:path';
import config from '../../vitest.config.ts';

type Project = { test: { name: string; include: string[]; exclude?: string[] } };

/** The test files that `vitest run COMMAND` runs, such as `--project unit test/claims`. */
export function testsOf(command: string, files: readonly { path: string }[]): string[] {
  const names = [...command.matchAll(/--project ([a-z0-9-]+)/g)].map(([, name]) => name);
  const part = command.split(' ').at(-1) ?? '';
  const all = (config.test?.projects ?? []) as unknown as Project[];
  const projects = all.filter(({ test }) => names.includes(test.name));
  if (projects.length < names.length) return [];
  const isIn = (file: string, globs: readonly string[] = []) => globs.some((glob) => path.matchesGlob(file, glob));
  return files
    .map((file) => file.path)
    .filter((file) => file.includes(part))
    .filter((file) => projects.some(({ test }) => isIn(file, test.include) && !isIn(file, test.exclude)));
}
