import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { hexOf } from './cached-input.ts';
import { archiveLayout, artifactLayout, compress, imageOf, indexLayout, layerOf, manifestArtifact } from './oci.ts';
import { writeTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

const CREATED = '2026-01-02T03:04:05Z';

function treeOf(name: string): Tree {
  const tree: Tree = new Map();
  addFile(tree, name, 'content');
  return tree;
}

async function image(architecture = 'amd64') {
  const layers = [await layerOf(treeOf('a'), 'the first'), await layerOf(treeOf('b'), 'the second')];
  const settings = { architecture, created: CREATED, config: { User: '1' }, annotations: { title: 'rollcall' } };
  return { layers, image: imageOf(layers, settings) };
}

const parsed = (blob: Buffer | undefined) => JSON.parse(`${blob}`);
const digestOf = (blob: Buffer) => `sha256:${hexOf(blob)}`;

/** A file of a layout. */
function fileOf(tree: Tree, name: string): Buffer {
  const entry = tree.get(name);
  if (entry?.type !== 'file') throw new Error(`There is no ${name}`);
  expect(entry.mode).toBe(0o644);
  return entry.content;
}

test('a layer is described by its packed and its unpacked content', async () => {
  const archive = writeTar(treeOf('a'));
  const layer = await layerOf(treeOf('a'), 'how');
  expect(gunzipSync(layer.blob).equals(archive)).toBe(true);
  expect(layer).toMatchObject({
    descriptor: {
      mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
      digest: digestOf(layer.blob),
      size: layer.blob.length,
    },
    diffId: digestOf(archive),
    createdBy: 'how',
    uncompressedBytes: archive.length,
  });
});

test('a layer may be packed in another way', async () => {
  const { blob, descriptor } = await layerOf(treeOf('a'), 'how', async () => Buffer.from('packed'));
  expect(`${blob}`).toBe('packed');
  expect(descriptor.size).toBe(6);
});

test('what is packed tells neither when nor on which system', () => {
  const packed = compress(Buffer.from('x'));
  expect([...packed.subarray(4, 8), packed[9]]).toEqual([0, 0, 0, 0, 255]);
});

test('an image names its layers in their order, and how each was made', async () => {
  const { layers, image: made } = await image('arm64');
  const config = parsed(made.blobs.get(made.configDigest));
  expect(config).toEqual({
    created: CREATED,
    architecture: 'arm64',
    os: 'linux',
    config: { User: '1' },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: [
      { created: CREATED, created_by: 'the first' },
      { created: CREATED, created_by: 'the second' },
    ],
  });
  expect(made.layers).toEqual(layers.map(({ descriptor }) => descriptor.digest));
  expect(made.manifest.platform).toEqual({ architecture: 'arm64', os: 'linux' });
  expect(parsed(made.blobs.get(made.manifest.digest))).toMatchObject({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: made.configDigest },
    layers: layers.map(({ descriptor }) => descriptor),
    annotations: { title: 'rollcall' },
  });
});

test('every blob is found by its own digest', async () => {
  const { image: made } = await image();
  expect(made.blobs.size).toBe(4);
  for (const [digest, blob] of made.blobs) expect(digestOf(blob)).toBe(digest);
});

test('a layout of several platforms has one entry, which is their index', async () => {
  const images = [(await image('amd64')).image, (await image('arm64')).image];
  const { tree, digest } = indexLayout(images, 'registry.example:5000/rollcall:1.2');
  expect(parsed(fileOf(tree, 'oci-layout'))).toEqual({ imageLayoutVersion: '1.0.0' });
  const index = fileOf(tree, `blobs/${digest.replace(':', '/')}`);
  expect(digestOf(index)).toBe(digest);
  expect(parsed(index)).toEqual({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: images.map(({ manifest }) => manifest),
  });
  expect(parsed(fileOf(tree, 'index.json'))).toEqual({
    schemaVersion: 2,
    manifests: [
      {
        mediaType: 'application/vnd.oci.image.index.v1+json',
        digest,
        size: index.length,
        annotations: {
          'io.containerd.image.name': 'registry.example:5000/rollcall:1.2',
          'org.opencontainers.image.ref.name': '1.2',
        },
      },
    ],
  });
  for (const { blobs } of images)
    for (const [each, blob] of blobs) expect(fileOf(tree, `blobs/${each.replace(':', '/')}`)).toEqual(blob);
});

test('an archive of one platform is for docker as well', async () => {
  const { image: made } = await image();
  const tree = archiveLayout(made, 'rollcall:1');
  expect(parsed(fileOf(tree, 'manifest.json'))).toEqual([
    {
      Config: `blobs/${made.configDigest.replace(':', '/')}`,
      RepoTags: ['rollcall:1'],
      Layers: made.layers.map((digest) => `blobs/${digest.replace(':', '/')}`),
    },
  ]);
  expect(parsed(fileOf(tree, 'index.json')).manifests[0].digest).toBe(made.manifest.digest);
});

test('what is no image has a layout without anything for docker', async () => {
  const config = { mediaType: 'x', blob: Buffer.from('{}') };
  const artifact = manifestArtifact(config, [], {});
  const tree = artifactLayout(artifact, 'charts/rollcall:1');
  expect([...tree.keys()].filter((name) => !name.startsWith('blobs/')).sort()).toEqual(['index.json', 'oci-layout']);
  expect(parsed(artifact.blobs.get(artifact.manifest.digest)).config).toEqual({
    mediaType: 'x',
    digest: digestOf(config.blob),
    size: 2,
  });
});
