import { gzipSync } from 'node:zlib';
import { hexOf } from './cached-input.ts';
import { writeTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

const OCI = 'application/vnd.oci.image';
/** The byte in which gzip notes the operating system, and its value for none. */
const GZIP_SYSTEM_BYTE = 9;
const NO_SYSTEM = 255;

export type Descriptor = { mediaType: string; digest: string; size: number };

export type Layer = {
  descriptor: Descriptor;
  diffId: string;
  blob: Buffer;
  createdBy: string;
  uncompressedBytes: number;
};

export type ImageSettings = {
  architecture: string;
  created: string;
  config: object;
  annotations: Readonly<Record<string, string>>;
};

export type Image = {
  manifest: Descriptor & { platform: { architecture: string; os: 'linux' } };
  /** The manifest, the configuration and the layers, by digest. */
  blobs: Map<string, Buffer>;
  /** Digests in the order of the layers. */
  layers: string[];
  configDigest: string;
};

/** A layer of the files. `createdBy` is shown in the image's history. */
export async function layerOf(
  tree: Tree,
  createdBy: string,
  compressed: (archive: Buffer) => Buffer | Promise<Buffer> = compress,
): Promise<Layer> {
  const archive = writeTar(tree);
  const blob = await compressed(archive);
  const descriptor = describe(`${OCI}.layer.v1.tar+gzip`, blob);
  return { descriptor, diffId: `sha256:${hexOf(archive)}`, blob, createdBy, uncompressedBytes: archive.length };
}

/** Compresses with gzip; the header has no time and no operating system. */
export function compress(archive: Buffer): Buffer {
  const blob = gzipSync(archive);
  blob[GZIP_SYSTEM_BYTE] = NO_SYSTEM;
  return blob;
}

export function imageOf(
  layers: readonly Layer[],
  { architecture, created, config, annotations }: ImageSettings,
): Image {
  const blob = json({
    created,
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  });
  const { manifest, blobs } = manifestArtifact({ mediaType: `${OCI}.config.v1+json`, blob }, layers, annotations);
  return {
    manifest: { ...manifest, platform: { architecture, os: 'linux' } },
    blobs,
    layers: layers.map(({ descriptor }) => descriptor.digest),
    configDigest: `sha256:${hexOf(blob)}`,
  };
}

/** An image layout whose one entry is an index of all the images. Returns that index's digest, too. */
export function indexLayout(images: readonly Image[], reference: string): { tree: Tree; digest: string } {
  const manifests = images.map(({ manifest }) => manifest);
  const blob = json({ schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests });
  const index = describe(`${OCI}.index.v1+json`, blob);
  const blobs = new Map([[index.digest, blob], ...images.flatMap((image) => [...image.blobs])]);
  return { tree: layout(blobs, index, reference), digest: index.digest };
}

/** An image layout of one image, with what `docker load` reads besides. */
export function archiveLayout(image: Image, reference: string): Tree {
  const tree = layout(image.blobs, image.manifest, reference);
  const docker = { Config: blobPath(image.configDigest), RepoTags: [reference], Layers: image.layers.map(blobPath) };
  addFile(tree, 'manifest.json', json([docker]));
  return tree;
}

/** A manifest of something other than an image, such as a chart, and its blobs. */
export type Artifact = { manifest: Descriptor; blobs: Map<string, Buffer> };

export function manifestArtifact(
  config: { mediaType: string; blob: Buffer },
  layers: readonly { descriptor: Descriptor; blob: Buffer }[],
  annotations: Readonly<Record<string, string>>,
): Artifact {
  const configDescriptor = describe(config.mediaType, config.blob);
  const blob = json({
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: configDescriptor,
    layers: layers.map(({ descriptor }) => descriptor),
    annotations,
  });
  const manifest = describe(`${OCI}.manifest.v1+json`, blob);
  return {
    manifest,
    blobs: new Map([
      [manifest.digest, blob],
      [configDescriptor.digest, config.blob],
      ...layers.map((layer): [string, Buffer] => [layer.descriptor.digest, layer.blob]),
    ]),
  };
}

/** An image layout of one artifact. */
export function artifactLayout({ blobs, manifest }: Artifact, reference: string): Tree {
  return layout(blobs, manifest, reference);
}

function layout(blobs: ReadonlyMap<string, Buffer>, entry: Descriptor, reference: string): Tree {
  const tree: Tree = new Map();
  for (const [digest, blob] of blobs) tree.set(blobPath(digest), { type: 'file', mode: 0o644, content: blob });
  const annotations = {
    'io.containerd.image.name': reference,
    'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
  };
  addFile(tree, 'oci-layout', json({ imageLayoutVersion: '1.0.0' }));
  addFile(tree, 'index.json', json({ schemaVersion: 2, manifests: [{ ...entry, annotations }] }));
  return tree;
}

export function describe(mediaType: string, blob: Buffer): Descriptor {
  return { mediaType, digest: `sha256:${hexOf(blob)}`, size: blob.length };
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

export function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
