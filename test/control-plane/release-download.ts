import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BinaryName } from './binaries.ts';
import { download } from './download.ts';
import type { ReleaseArchive } from './release-archives.ts';

const run = promisify(execFile);

/**
 * Downloads a release archive and moves every binary of it that is in `wanted` into `dir`, each at once.
 * @throws when fetching, verifying or unpacking fails.
 */
export async function downloadRelease(
  archive: ReleaseArchive,
  wanted: readonly BinaryName[],
  dir: string,
  variables: NodeJS.ProcessEnv,
  onProgress: (text: string) => void,
): Promise<void> {
  const temporary = await mkdtemp(join(dir, 'tmp-'));
  try {
    const file = join(temporary, 'archive.tar.gz');
    await download(archive.url, file, {
      sha512: archive.sha512,
      variables,
      onProgress: (bytes, total) =>
        onProgress(`${megabytes(bytes)}${total === undefined ? '' : ` of ${megabytes(total)}`} MB`),
    });
    for (const each of wanted) {
      const member = archive.members[each];
      if (member === undefined) continue;
      await run('tar', ['-xzf', file, '-C', temporary, member]);
      await chmod(join(temporary, member), 0o755);
      await rename(join(temporary, member), join(dir, each));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
