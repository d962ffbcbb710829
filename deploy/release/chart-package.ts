import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from '../../packages/common/src/config/yaml.ts';
import { type Artifact, compress, type Descriptor, describe, json, manifestArtifact } from '../image/oci.ts';
import { writeTar } from '../image/tar.ts';
import { addFile, type Tree } from '../image/tree.ts';

const DEPLOY = path.resolve(import.meta.dirname, '..');
const HELM = 'application/vnd.cncf.helm';

export type ImageName = {
  /** The registry that it is pulled from, such as `registry.example.com/rollcall`. */
  registry: string;
  /** `sha256:…`, of the index of all platforms. */
  digest: string;
};

type ChartMetadata = {
  name: string;
  version: string;
  description: string;
  home: string;
  sources: [string, ...string[]];
};

export type ChartPackage = {
  /** What `helm package` would write (gzipped tar). */
  archive: Buffer;
  /** What `helm push` would push. */
  artifact: Artifact;
};

/** Packs the chart `rollcall` so that it installs this image, by digest, without any value. */
export function packChart(image: ImageName, created: string): Promise<ChartPackage> {
  return pack('chart', created, (values) => withImage(values, image));
}

/** Packs the chart `rollcall-crds`. */
export function packCrdChart(created: string): Promise<ChartPackage> {
  return pack('chart-crds', created, (values) => values);
}

/** Packs a folder of `deploy`. The same source gives the same bytes, which `helm package` does not promise. */
async function pack(folder: string, created: string, change: (values: string) => string): Promise<ChartPackage> {
  const chart = path.join(DEPLOY, folder);
  const metadata = await chartMetadata(folder);
  const tree: Tree = new Map();
  for (const file of await readdir(chart, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const name = path.relative(chart, path.join(file.parentPath, file.name));
    const content = await readFile(path.join(chart, name), 'utf8');
    addFile(tree, `${metadata.name}/${name}`, name === 'values.yaml' ? change(content) : content);
  }
  const archive = compress(writeTar(tree));
  const layer: Descriptor = describe(`${HELM}.chart.content.v1.tar+gzip`, archive);
  const about = {
    title: metadata.name,
    description: metadata.description,
    version: metadata.version,
    created,
  };
  const annotations = Object.entries(about).map(([key, value]) => [`org.opencontainers.image.${key}`, String(value)]);
  return {
    archive,
    artifact: manifestArtifact(
      { mediaType: `${HELM}.config.v1+json`, blob: json(metadata) },
      [{ descriptor: layer, blob: archive }],
      Object.fromEntries(annotations),
    ),
  };
}

/** Reads Chart.yaml. */
export async function chartMetadata(folder = 'chart'): Promise<ChartMetadata> {
  return parse(await readFile(path.join(DEPLOY, folder, 'Chart.yaml'), 'utf8')) as ChartMetadata;
}

/** The values.yaml of the chart with the image. @throws where it is not as this function expects it. */
export function withImage(values: string, { registry, digest }: ImageName): string {
  const section = /^image:\n(?:(?: {2}.*)?\n)+/m;
  if (!section.test(values)) throw new Error('values.yaml has no section image');
  return values.replace(section, (before) =>
    replaceOnce(
      replaceOnce(before, '  registry: ""', `  registry: ${registry}`),
      '  digest: ""',
      `  digest: ${digest}`,
    ),
  );
}

function replaceOnce(text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`values.yaml has ${parts.length - 1} times ${from}, not once`);
  return parts.join(to);
}
