import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BASE_FILES } from './base-layer.ts';
import { outputOf } from './cached-input.ts';
import type { DebianPin } from './debian-packages.ts';
import type { DebianLock } from './image.ts';
import { PLATFORMS } from './platforms.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Pins the newest packages in a file, and tells which they are. */
export async function writeNewestLock(
  file: string,
  release: string,
  mirrors: readonly string[],
  nowMs = Date.now(),
): Promise<DebianLock> {
  const packages = await newestPackages(release, mirrors);
  const lock = { release, snapshot: snapshotAfter(nowMs), packages };
  await writeFile(file, `${JSON.stringify(lock, null, 2)}\n`);
  return lock;
}

/** The newest versions of the base packages in a release of Debian, by an apt that has verified their signatures. */
async function newestPackages(release: string, mirrors: readonly string[]): Promise<DebianPin[]> {
  const packages = new Map<string, DebianPin>();
  for (const { architecture } of PLATFORMS) {
    for (const pin of await newestPins(release, architecture, mirrors)) packages.set(pin.path, pin);
  }
  const key = ({ name, architecture }: DebianPin) => `${name} ${architecture}`;
  return [...packages.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** A day later, since the archive takes a new version some hours after the mirrors. */
function snapshotAfter(ms: number): string {
  return new Date(ms + 86_400_000).toISOString().replace(/[-:]|\.\d+/g, '');
}

/** Asks apt, with lists of its own, so that what this machine has and is set up for does not matter. */
async function newestPins(release: string, architecture: string, mirrors: readonly string[]): Promise<DebianPin[]> {
  const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-apt-'));
  try {
    for (const name of ['lists/partial', 'cache/archives/partial', 'parts'])
      await mkdir(path.join(dir, name), { recursive: true });
    await writeFile(path.join(dir, 'sources.list'), mirrors.flatMap((mirror) => sources(mirror, release)).join(''));
    const settings = [
      `APT::Architecture=${architecture}`,
      `APT::Architectures=${architecture}`,
      `Dir::Cache=${dir}/cache`,
      `Dir::Etc::SourceList=${dir}/sources.list`,
      `Dir::Etc::SourceParts=${dir}/parts`,
      `Dir::State::Lists=${dir}/lists`,
      'Dir::State::status=/dev/null',
      'Acquire::Languages=none',
      'APT::Update::Error-Mode=any',
    ].flatMap((setting) => ['-o', setting]);
    await outputOf('apt-get', [...settings, 'update']);
    const lines = await outputOf('apt-get', [...settings, 'download', '--print-uris', ...Object.keys(BASE_FILES)]);
    return parsePrintedUris(lines.toString(), mirrors);
  } finally {
    await rm(dir, { recursive: true });
  }
}

function sources(mirror: string, release: string): string[] {
  const suites = mirror.includes('security') ? [`${release}-security`] : [release, `${release}-updates`];
  return suites.map((suite) => `deb [signed-by=${KEYRING}] ${mirror} ${suite} main\n`);
}

/** Lines such as `'URL' libc6_2.41-12_arm64.deb 2483572 SHA256:8784…`. */
export function parsePrintedUris(lines: string, mirrors: readonly string[]): DebianPin[] {
  return [...lines.matchAll(/^'([^']+)' (\S+)_(\S+)_(\w+)\.deb \d+ SHA256:([0-9a-f]{64})$/gm)].map(
    ([line, url = '', name = '', version = '', architecture = '', sha256 = '']) => {
      const mirror = mirrors.find((root) => url.startsWith(root));
      if (mirror === undefined || !/^(amd64|arm64|all)$/.test(architecture))
        throw new Error(`Unexpected of apt: ${line}`);
      const pinned = architecture as DebianPin['architecture'];
      // A colon, of an epoch, is escaped in the name of a file.
      const decoded = decodeURIComponent(version);
      return {
        name,
        version: decoded,
        architecture: pinned,
        path: url.slice(mirror.length).replace(/^\//, ''),
        sha256,
      };
    },
  );
}
