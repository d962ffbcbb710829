import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commit } from './commit.ts';

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return undefined;
  }
}

test('the source is of its commit, or of none at the begin of time', async () => {
  const head = git('rev-parse', 'HEAD');
  const { created, revision } = await commit();
  const seconds = Number(git('log', '-1', '--format=%ct') ?? 0);
  expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(Date.parse(created)).toBe(seconds * 1000);
  expect(revision?.replace(/-dirty$/, '')).toBe(head);
});
