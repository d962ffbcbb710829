import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { hexOf } from './cached-input.ts';
import { compress } from './oci.ts';

/**
 * What `compress` gives for the archive, which for the binary of Node.js takes most of a build's time, from `cacheDir`
 * where it was made before. What is kept there is used only if it unpacks to the archive.
 */
export async function compressOnce(archive: Buffer, cacheDir: string): Promise<Buffer> {
  // Another zlib compresses the same into other bytes.
  const file = path.join(cacheDir, `${hexOf(archive)}-zlib-${process.versions.zlib}-${process.arch}.gz`);
  const kept = await readFile(file).catch(() => undefined);
  if (kept && unpacksTo(kept, archive)) return kept;
  const made = compress(archive);
  await mkdir(cacheDir, { recursive: true });
  await writeFile(`${file}.${process.pid}`, made);
  await rename(`${file}.${process.pid}`, file);
  return made;
}

function unpacksTo(compressed: Buffer, archive: Buffer): boolean {
  try {
    return gunzipSync(compressed).equals(archive);
  } catch {
    return false;
  }
}
