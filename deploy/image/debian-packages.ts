import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cachedInput, MissingInput, outputOf, UnreachableInput } from './cached-input.ts';
import { readTar } from './tar.ts';
import type { Tree } from './tree.ts';

const APT_HELPER = '/usr/lib/apt/apt-helper';

/** Ubuntu and others call their repositories something else, and do not have these versions. */
const ORIGIN = 'Debian';

export type DebianPin = {
  name: string;
  version: string;
  architecture: 'amd64' | 'arm64' | 'all';
  /** Below the root of a repository, as in a URL. */
  path: string;
  sha256: string;
};

/** Asked for only when something is not in the cache. */
type Mirrors = () => Promise<readonly string[]>;

export type DebianPackage = {
  files: Tree;
  /** The package's paragraph, as dpkg keeps it. */
  control: string;
};

/**
 * Roots of the Debian repositories that apt on this machine is set up for. All releases of Debian share one pool, so
 * that it does not matter which of them the machine runs.
 * @throws {MissingInput} when there is no apt, or no Debian in its sources.
 */
export async function debianMirrors(): Promise<string[]> {
  const format = ['--format', '$(ORIGIN) $(REPO_URI)', 'Created-By: Packages'];
  const lines = (await outputOf('apt-get', ['indextargets', ...format])).toString().split('\n');
  const roots = lines.filter((line) => line.startsWith(`${ORIGIN} `)).map((line) => line.slice(ORIGIN.length + 1));
  if (roots.length === 0)
    throw new MissingInput('apt has no Debian repository on this machine: name one by --debian-mirror');
  return [...new Set(roots)];
}

/**
 * Roots of the archives that keep every version of Debian, as they were at a time such as `20261126T000000Z`. apt knows
 * their addresses from version 3 on; before, there are none.
 */
export async function debianSnapshots(snapshot: string): Promise<string[]> {
  const settings = (await outputOf('apt-config', ['dump'])).toString();
  const archive = /^Acquire::Snapshots::URI::(?:Origin::Debian|Override::Label::Debian-Security) "(.+)";$/gm;
  return [...settings.matchAll(archive)].map(([, root = '']) => root.replace('@SNAPSHOTID@', snapshot));
}

/** A package from the first mirror that has it; `wanted` says which of its files. */
export async function debianPackage(
  pin: DebianPin,
  cacheDir: string,
  mirrors: Mirrors,
  wanted: (path: string) => boolean,
): Promise<DebianPackage> {
  const what = `${pin.name} ${pin.version}`;
  const hash = { algorithm: 'sha256', hex: pin.sha256 } as const;
  await cachedInput(cacheDir, hash, what, async (dir) => download(pin, await mirrors(), path.join(dir, 'package.deb')));
  const file = path.join(cacheDir, `sha256-${pin.sha256}`);
  const [archive, control] = await Promise.all([
    outputOf('dpkg-deb', ['--fsys-tarfile', file]),
    outputOf('dpkg-deb', ['--field', file]),
  ]);
  return { files: readTar(archive, wanted), control: control.toString() };
}

async function download(pin: DebianPin, mirrors: readonly string[], file: string): Promise<string> {
  if (!existsSync(APT_HELPER)) throw new MissingInput('apt: not installed on this machine');
  const failures: string[] = [];
  for (const mirror of mirrors) {
    const url = `${mirror.replace(/\/?$/, '/')}${pin.path}`;
    try {
      // Created here, or apt complains that its own user cannot do it.
      await writeFile(file, '');
      await outputOf(APT_HELPER, ['download-file', url, file, `SHA256:${pin.sha256}`]);
      return file;
    } catch (error) {
      failures.push(`  ${url}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const advice =
    'Old versions leave the mirrors, and only apt 3 knows the archive: node deploy/image/main.ts --relock takes the newest.';
  throw new UnreachableInput(
    `${pin.name} ${pin.version} is on none of the mirrors.\n${failures.join('\n')}\n${advice}`,
  );
}
