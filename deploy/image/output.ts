import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../packages/common/src/version.ts';
import type { BuiltImage } from './image.ts';
import { archiveLayout, indexLayout } from './oci.ts';
import { writeTar } from './tar.ts';
import { completeTree, type Tree } from './tree.ts';

export type WrittenImage = { platform: string; digest: string; archive: string; sbom: string };

/**
 * Writes an image layout of all platforms into `oci`, and for each platform an archive, which `ctr images import` and
 * `docker load` take, and the SBOM. `reference` is the name that they give the image.
 */
export async function writeImages(
  built: readonly BuiltImage[],
  reference: string,
  dir: string,
): Promise<{ digest: string; images: WrittenImage[] }> {
  const index = indexLayout(
    built.map(({ image }) => image),
    reference,
  );
  await writeTree(index.tree, path.join(dir, 'oci'));
  const images: WrittenImage[] = [];
  for (const { platform, image, sbom } of built) {
    const stem = path.join(dir, `rollcall-${VERSION}-linux-${platform.architecture}`);
    const written = { archive: `${stem}.tar`, sbom: `${stem}.spdx.json` };
    await writeFile(written.archive, writeTar(archiveLayout(image, reference)));
    await writeFile(written.sbom, sbom);
    images.push({ platform: `linux/${platform.architecture}`, digest: image.manifest.digest, ...written });
  }
  return { digest: index.digest, images };
}

/** Makes `dir` hold the tree and nothing else. */
export async function writeTree(tree: Tree, dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  for (const [name, entry] of completeTree(tree)) {
    const file = path.join(dir, name);
    if (entry.type === 'directory') await mkdir(file);
    else if (entry.type === 'symlink') await symlink(entry.target, file);
    else await writeFile(file, entry.content);
    if (entry.type !== 'symlink') await chmod(file, entry.mode);
  }
}
