import { imageCacheDir } from '../../../deploy/image/cached-input.ts';
import { buildImages } from '../../../deploy/image/image.ts';
import { writeImages } from '../../../deploy/image/output.ts';
import { parsePlatform } from '../../../deploy/image/platforms.ts';

/** Where the chart is told to get the image from. Nodes have it already, so that nobody is asked. */
export const registry = 'registry.example';
export const repository = `${registry}/rollcall`;

export interface ProductImage {
  /** For `ctr images import`. */
  readonly archive: string;
  /** Compressed, as nodes pull it. */
  readonly pulledBytes: number;
  readonly unpackedBytes: number;
}

/**
 * Builds the image as `npm run image` does, of this machine's platform only, and writes it into `dir`.
 * @throws {MissingInput} when something cannot be had from the cache, npm or Debian.
 */
export async function buildProductImage(dir: string): Promise<ProductImage> {
  const platform = parsePlatform(`linux/${process.arch === 'x64' ? 'amd64' : process.arch}`);
  const options = { platforms: [platform], cacheDir: imageCacheDir(process.env), created: '1970-01-01T00:00:00Z' };
  const built = await buildImages(options);
  const { images } = await writeImages(built, `${repository}:built`, dir);
  const layers = built.flatMap((each) => each.layers);
  return {
    archive: images[0]?.archive ?? '',
    pulledBytes: layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0),
    unpackedBytes: layers.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0),
  };
}
