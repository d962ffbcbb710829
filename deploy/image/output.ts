import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../packages/common/src/version.ts';
import type { BuiltImage } from './image.ts';
import { archiveLayout, indexLayout } from './oci.ts';
import type { Platform } from './platforms.ts';
import { writeTar } from './tar.ts';
import { completeTree, type Tree } from './tree.ts';

type WrittenImage = { platform: string; digest: string; archive: string; sbom: string };

export type Written = { digest: string; images: WrittenImage[] };

/** What the archives call the image, so that a chart with `image.registry=localhost` asks for it. */
export const DEFAULT_REFERENCE = `localhost/rollcall:${VERSION}`;

/** Name of the archive of a platform. */
export function archiveName(architecture: string): string {
  return `rollcall-${VERSION}-linux-${architecture}.tar`;
}

/**
 * Writes an image layout of all platforms into `oci`, and for each platform an archive, which `ctr images import` and
 * `docker load` take, and the SBOM. `reference` is the name that they give the image.
 */
export async function writeImages(built: readonly BuiltImage[], reference: string, dir: string): Promise<Written> {
  const index = indexLayout(
    built.map(({ image }) => image),
    reference,
  );
  await writeTree(index.tree, path.join(dir, 'oci'));
  const images: WrittenImage[] = [];
  for (const { platform, image, sbom } of built) {
    const archive = path.join(dir, archiveName(platform.architecture));
    const written = { archive, sbom: archive.replace(/tar$/, 'spdx.json') };
    await writeFile(written.archive, writeTar(archiveLayout(image, reference)));
    await writeFile(written.sbom, sbom);
    images.push({ platform: `linux/${platform.architecture}`, digest: image.manifest.digest, ...written });
  }
  return { digest: index.digest, images };
}

/** For people: what each platform has to pull, and the digest of all of them. */
export function summaryOf(built: readonly BuiltImage[], { digest, images }: Written, reference: string): string {
  const lines = images.map(({ platform, digest: imageDigest, archive }, index) => {
    const layers = built[index]?.layers ?? [];
    const compressed = layers.reduce((sum, layer) => sum + layer.descriptor.size, 0);
    const unpacked = layers.reduce((sum, layer) => sum + layer.uncompressedBytes, 0);
    return `${platform} ${imageDigest} ${megabytes(compressed)} to pull, ${megabytes(unpacked)} unpacked\n  ${archive}\n`;
  });
  return `${lines.join('')}${reference} ${digest}\n`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Writes the directory /app of each platform, and tells where each is. */
export async function writeApps(apps: readonly { platform: Platform; tree: Tree }[], dir: string): Promise<string[]> {
  const written: string[] = [];
  for (const { platform, tree } of apps) {
    const app = path.join(dir, 'app', `linux-${platform.architecture}`);
    await writeTree(new Map([...tree].map(([name, entry]) => [name.replace(/^app\//, ''), entry])), app);
    written.push(app);
  }
  return written;
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
