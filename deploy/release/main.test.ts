import path from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../../packages/common/src/version.ts';
import { standInFor } from '../image/packed.test-fixtures.ts';
import { run } from '../image/program.test-fixtures.ts';

function release(args: readonly string[], registry?: string) {
  const { REGISTRY: _, ...env } = process.env;
  const file = path.join(import.meta.dirname, 'main.ts');
  return run(file, args, registry === undefined ? env : { ...env, REGISTRY: registry });
}

/** Makes git report a commit with these uncommitted changes. */
function committed(changes: string): void {
  standInFor(
    process.env,
    'git',
    `case "$1" in rev-parse) echo abc;; log) echo 0;; status) printf '%s' '${changes}';; esac`,
  );
}

test('names its options, and the version that it releases', () => {
  const { status, stdout } = release(['--help']);
  expect(status).toBe(0);
  expect(stdout).toContain(`Makes the files of a release of version ${VERSION},`);
});

test.each([
  ['no registry', [], undefined, '--registry: for which registry?'],
  ['no tag', [], 'registry.example', `--tag: is not given, and the version is ${VERSION}`],
  ['no tag', ['--registry', 'registry.example'], undefined, `--tag: is not given, and the version is ${VERSION}`],
  ['another tag', ['--tag', 'v0.0.0'], 'registry.example', `--tag: is v0.0.0, and the version is ${VERSION}`],
  ['an option that there is not', ['--tags', 'v0.0.0'], 'registry.example', "Unknown option '--tags'"],
] as const)('makes no release with %s', (_what, args, registry, message) => {
  committed('');
  const { status, stdout, stderr } = release(args, registry);
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toContain(message);
});

test('makes no release of what is not exactly a commit', () => {
  committed(' M README.md');
  const { status, stderr } = release(['--tag', `v${VERSION}`], 'registry.example');
  expect([status, stderr]).toEqual([1, 'the source is not exactly the source of a commit']);
});
