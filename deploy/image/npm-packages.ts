import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { cachedInput, outputOf } from './cached-input.ts';
import { readTar } from './tar.ts';
import type { Tree } from './tree.ts';

export type NpmPin = { name: string; version: string; sha512: string };

/**
 * What the workspace's lock file pins a package to.
 * @throws when the package is not in it, or in more than one version.
 */
export function readPin(lockFile: string, name: string): NpmPin {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const entry = new RegExp(`^  '?${escaped}@([^:'(]+)'?:\\n    resolution: \\{integrity: sha512-([\\w+/=]+)`, 'gm');
  const [found, another] = lockFile.matchAll(entry);
  if (!found || another) throw new Error(`pnpm-lock.yaml pins ${name} to ${found ? 'several versions' : 'nothing'}`);
  const [, version = '', integrity = ''] = found;
  return { name, version, sha512: Buffer.from(integrity, 'base64').toString('hex') };
}

/** The files of a package as published, for whichever platform it is, without the `package/` before their paths. */
export async function npmPackage({ name, version, sha512 }: NpmPin, cacheDir: string): Promise<Tree> {
  const what = `${name}@${version}`;
  const tarball = await cachedInput(cacheDir, { algorithm: 'sha512', hex: sha512 }, what, async (dir) => {
    const said = await outputOf('npm', ['pack', what, '--loglevel=error', '--pack-destination', dir], dir);
    return path.join(dir, path.basename(said.toString().trim().split('\n').at(-1) ?? ''));
  });
  const files = readTar(gunzipSync(tarball), (file) => file.startsWith('package/'));
  return new Map([...files].map(([file, entry]) => [file.slice('package/'.length), entry]));
}
