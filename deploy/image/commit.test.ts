import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { commit } from './commit.ts';
import { emptyDirectory } from './packed.test-fixtures.ts';

const AUTHOR = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };

function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, ...AUTHOR, GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z' };
  return execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

test('the source is of its commit, as old as that; one with changes is not quite', async () => {
  const dir = emptyDirectory();
  git(dir, 'init');
  writeFileSync(path.join(dir, 'file'), '1');
  git(dir, 'add', '.');
  git(dir, 'commit', '-m', 'first');
  const revision = git(dir, 'rev-parse', 'HEAD');
  expect(await commit(dir)).toEqual({ created: '2026-01-02T03:04:05Z', revision });
  writeFileSync(path.join(dir, 'file'), '2');
  expect(await commit(dir)).toEqual({ created: '2026-01-02T03:04:05Z', revision: `${revision}-dirty` });
});

test('without a repository the source is of no commit, from the begin of time', async () => {
  expect(await commit(emptyDirectory())).toEqual({ created: '1970-01-01T00:00:00Z', revision: undefined });
});
