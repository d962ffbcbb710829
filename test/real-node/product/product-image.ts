import { buildImages } from '../../../deploy/image/image.ts';
import { writeImages } from '../../../deploy/image/output.ts';
import { parsePlatform } from '../../../deploy/image/platforms.ts';
import { showProgress } from '../../control-plane/progress.ts';

/** The registry in the values of the chart. Nodes have the image already, so they do not contact it. */
export const registry = 'registry.example';
export const repository = `${registry}/rollcall`;

export interface ProductImage {
  /** Compressed, as nodes pull it. */
  readonly pulledBytes: number;
  readonly unpackedBytes: number;
  /** Writes an archive for `ctr images import` into a directory, and returns its path. */
  write(dir: string): Promise<string>;
}

/**
 * Builds the image as `npm run image` does, of this machine's platform only.
 * @throws {MissingInput} when something cannot be had from the cache, npm or Debian.
 */
export async function buildProductImage(cacheDir: string): Promise<ProductImage> {
  const platform = parsePlatform(`linux/${process.arch === 'x64' ? 'amd64' : process.arch}`);
  const progress = showProgress(process.stderr, 'Building the image, which takes some seconds, at first more');
  const built = await buildImages({ platforms: [platform], cacheDir, created: '1970-01-01T00:00:00Z' }).finally(() =>
    progress.end(),
  );
  const layers = built.flatMap((each) => each.layers);
  return {
    pulledBytes: layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0),
    unpackedBytes: layers.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0),
    async write(dir) {
      const { images } = await writeImages(built, `${repository}:built`, dir);
      return images[0]?.archive ?? '';
    },
  };
}
