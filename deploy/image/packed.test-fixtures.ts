import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { hexOf } from './cached-input.ts';
import type { DebianPin } from './debian-packages.ts';
import type { NpmPin } from './npm-packages.ts';
import { writeTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

/** An empty directory, until the test ends. */
export function emptyDirectory(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'rollcall-packed-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** Puts a shell script in place of a command in `env` until the test ends. It finds its own directory as $HERE. */
export function standInFor(env: NodeJS.ProcessEnv, command: string, script: string): string {
  const dir = emptyDirectory();
  writeFileSync(path.join(dir, command), `#!/bin/sh\nHERE='${dir}'\n${script}\n`);
  chmodSync(path.join(dir, command), 0o755);
  const before = env['PATH'];
  env['PATH'] = `${dir}:${before}`;
  onTestFinished(() => {
    env['PATH'] = before;
  });
  return dir;
}

type Files = Readonly<Record<string, string | Buffer>>;

function archiveOf(files: Files): Buffer {
  const tree: Tree = new Map();
  for (const [file, content] of Object.entries(files)) addFile(tree, file, content);
  return writeTar(tree);
}

/** Puts a package of npm with these files into a cache. */
export function cachedPackage(cacheDir: string, name: string, files: Files): NpmPin {
  const tarball = gzipSync(archiveOf(files));
  const sha512 = hexOf(tarball, 'sha512');
  mkdirSync(cacheDir, { recursive: true });
  writeFileSync(path.join(cacheDir, `sha512-${sha512}`), tarball);
  return { name, version: '1.0.0', sha512 };
}

/** Puts what stands in for a package of Debian into a cache: its files as `dpkg-deb` would unpack them. */
export function cachedDebian(cacheDir: string, pin: Pick<DebianPin, 'name' | 'architecture'>, files: Files): DebianPin {
  const archive = archiveOf(files);
  const sha256 = hexOf(archive);
  mkdirSync(cacheDir, { recursive: true });
  writeFileSync(path.join(cacheDir, `sha256-${sha256}`), archive);
  return { ...pin, version: '1', path: `pool/${pin.name}.deb`, sha256 };
}

/** Reads what `cachedDebian` has put there. */
export function standInForDpkg(env: NodeJS.ProcessEnv): void {
  standInFor(
    env,
    'dpkg-deb',
    `case "$1" in --fsys-tarfile) cat "$2";; --field) printf 'Package: a\\nSource: b (2)\\n';; esac`,
  );
}
