import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../packages/common/src/version.ts';
import { hexOf } from '../image/cached-input.ts';
import { buildImages } from '../image/image.ts';
import { artifactLayout } from '../image/oci.ts';
import { writeImages, writeTree } from '../image/output.ts';
import { PLATFORMS } from '../image/platforms.ts';
import { type ChartPackage, chartMetadata, packChart, packCrdChart } from './chart-package.ts';
import { releaseManifests } from './manifests.ts';
import { notesOf } from './notes.ts';
import { krewManifest, packPlugin } from './plugin.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** Something in the registry, and the image layout that it is pushed from. */
type Pushed = { name: string; digest: string; layout: string };

export type Release = {
  version: string;
  /** The registry that the image and the charts are pushed to, such as `registry.example.com/rollcall`. */
  registry: string;
  dir: string;
  image: Pushed & { platforms: { platform: string; digest: string; sbom: string }[] };
  chart: Pushed;
  crdChart: Pushed;
  /** Files for download. */
  files: string[];
  /** Path of the checksums of the other files, in the format of `sha256sum --check`. */
  checksums: string;
};

export type ReleaseOptions = {
  registry: string;
  /** Everything in it is replaced. */
  dir: string;
  cacheDir: string;
  /** RFC 3339, in UTC: when the commit was made. */
  created: string;
  revision: string | undefined;
  source: string | undefined;
  /** The section of CHANGELOG.md. */
  section: string;
  /** The directory with one executable of kubectl rollcall for each platform. */
  pluginDir: string;
};

/**
 * Makes everything that a release consists of, without a registry: digests are known before anything is pushed. The same
 * commit and registry give the same bytes.
 * @throws {MissingInput} when something for the image cannot be had, and an error when an executable is missing.
 */
export async function makeRelease(options: ReleaseOptions, build = buildImages): Promise<Release> {
  const { registry, dir, created } = options;
  const notes = notesOf(await readFile(path.join(ROOT, 'CHANGELOG.md'), 'utf8'), options.section);
  await rm(dir, { recursive: true, force: true });

  const name = `${registry}/rollcall`;
  const built = await build({ ...options, platforms: PLATFORMS });
  const { digest, images } = await writeImages(built, `${name}:${VERSION}`, dir);
  const image = { registry, digest };

  const chart = await writeChart(await packChart(image, created), options, 'rollcall', 'chart');
  const crdChart = await writeChart(await packCrdChart(created), options, 'rollcall-crds', 'chart-crds');

  const files = [chart.archive, crdChart.archive, ...images.flatMap((each) => [each.archive, each.sbom])];
  for (const [file, text] of await releaseManifests(image)) {
    files.push(path.join(dir, file));
    await writeFile(path.join(dir, file), text);
  }
  const plugin = await packPlugin(options.pluginDir, dir);
  const { home, sources } = await chartMetadata();
  const manifest = path.join(dir, 'krew.yaml');
  await writeFile(manifest, krewManifest(plugin, { home, source: options.source ?? sources[0] }));
  files.push(...plugin.map(({ file }) => file), manifest);
  const checksums = path.join(dir, 'SHA256SUMS');
  await writeFile(checksums, await checksumsOf(files));
  await writeFile(path.join(dir, 'NOTES.md'), notes);
  return {
    version: VERSION,
    registry,
    dir,
    image: { name, digest, layout: path.join(dir, 'oci'), platforms: images },
    chart: chart.pushed,
    crdChart: crdChart.pushed,
    files: [...files, checksums],
    checksums,
  };
}

/** Writes the archive for download, and the layout that is pushed. */
async function writeChart(
  { archive, artifact }: ChartPackage,
  { registry, dir }: ReleaseOptions,
  chart: string,
  folder: string,
): Promise<{ archive: string; pushed: Pushed }> {
  const file = path.join(dir, `${chart}-${VERSION}.tgz`);
  await writeFile(file, archive);
  const name = `${registry}/charts/${chart}`;
  const layout = path.join(dir, folder);
  await writeTree(artifactLayout(artifact, `${name}:${VERSION}`), layout);
  return { archive: file, pushed: { name, digest: artifact.manifest.digest, layout } };
}

async function checksumsOf(files: readonly string[]): Promise<string> {
  const lines = files.map(async (file) => `${hexOf(await readFile(file))}  ${path.basename(file)}\n`);
  return (await Promise.all(lines)).join('');
}
