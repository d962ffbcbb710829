import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { hexOf } from './cached-input.ts';
import type { NpmPin } from './npm-packages.ts';
import { writeTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

/** An empty directory, until the test ends. */
export function emptyDirectory(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'rollcall-packed-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** Puts a package of npm with these files into a cache. */
export function cachedPackage(cacheDir: string, name: string, files: Readonly<Record<string, string>>): NpmPin {
  const tree: Tree = new Map();
  for (const [file, text] of Object.entries(files)) addFile(tree, file, text);
  const tarball = gzipSync(writeTar(tree));
  const sha512 = hexOf(tarball, 'sha512');
  writeFileSync(path.join(cacheDir, `sha512-${sha512}`), tarball);
  return { name, version: '1.0.0', sha512 };
}
