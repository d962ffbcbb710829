import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { VERSION } from '../../packages/common/src/version.ts';
import { imageOf, layerOf } from './oci.ts';
import { summaryOf, writeApps, writeImages, writeTree } from './output.ts';
import { PLATFORMS } from './platforms.ts';
import { readTar } from './tar.ts';
import { addFile, type Tree } from './tree.ts';

function directory(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'rollcall-output-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('a directory has the tree in it and nothing else', async () => {
  const dir = path.join(directory(), 'deep', 'out');
  mkdirSync(dir, { recursive: true });
  writeFileSync(path.join(dir, 'old'), '');
  const tree: Tree = new Map();
  addFile(tree, 'a/file', 'content', 0o700);
  addFile(tree, 'shared', '', 0o666);
  tree.set('link', { type: 'symlink', target: 'a/file' });
  tree.set('tmp', { type: 'directory', mode: 0o1777 });
  await writeTree(tree, dir);
  expect(readdirSync(dir).sort()).toEqual(['a', 'link', 'shared', 'tmp']);
  expect(readFileSync(path.join(dir, 'a/file'), 'utf8')).toBe('content');
  const modeOf = (name: string) => statSync(path.join(dir, name)).mode & 0o7777;
  expect([modeOf('a/file'), modeOf('a'), modeOf('tmp'), modeOf('shared')]).toEqual([0o700, 0o755, 0o1777, 0o666]);
  expect(lstatSync(path.join(dir, 'link')).isSymbolicLink()).toBe(true);
  expect(readlinkSync(path.join(dir, 'link'))).toBe('a/file');
});

test('a tree is written where nothing is yet', async () => {
  const dir = path.join(directory(), 'deep', 'out');
  await writeTree(new Map(), dir);
  expect(readdirSync(dir)).toEqual([]);
});

test('a link may lead to nothing', async () => {
  const dir = path.join(directory(), 'out');
  await writeTree(new Map([['link', { type: 'symlink', target: 'nothing' }]]), dir);
  expect(readlinkSync(path.join(dir, 'link'))).toBe('nothing');
});

test('images are a layout of all platforms, and for each an archive and an SBOM', async () => {
  const dir = directory();
  const tree: Tree = new Map();
  addFile(tree, 'a', '');
  const layers = [await layerOf(tree, 'how')];
  const built = PLATFORMS.map((platform) => {
    const { architecture } = platform;
    const image = imageOf(layers, { architecture, created: '2026-01-01T00:00:00Z', config: {}, annotations: {} });
    return { platform, image, layers, sbom: `sbom of ${architecture}` };
  });
  const { digest, images } = await writeImages(built, 'rollcall:1', dir);
  const index = JSON.parse(readFileSync(path.join(dir, 'oci/index.json'), 'utf8'));
  expect(index.manifests.map((each: { digest: string }) => each.digest)).toEqual([digest]);
  expect(images).toEqual(
    built.map(({ platform: { architecture }, image }) => ({
      platform: `linux/${architecture}`,
      digest: image.manifest.digest,
      archive: path.join(dir, `rollcall-${VERSION}-linux-${architecture}.tar`),
      sbom: path.join(dir, `rollcall-${VERSION}-linux-${architecture}.spdx.json`),
    })),
  );
  for (const [at, { archive, sbom }] of images.entries()) {
    expect(readFileSync(sbom, 'utf8')).toBe(built[at]?.sbom);
    expect(readTar(readFileSync(archive), () => true).has('manifest.json')).toBe(true);
  }
});

test('each platform is told with what it has to pull and unpack', async () => {
  const tree: Tree = new Map();
  addFile(tree, 'a', Buffer.alloc(3_400_000));
  const layers = [await layerOf(tree, 'how'), await layerOf(tree, 'how', () => Buffer.alloc(1_200_000))];
  const [platform = expect.unreachable()] = PLATFORMS;
  const image = imageOf(layers, { architecture: 'amd64', created: '', config: {}, annotations: {} });
  const images = [{ platform: 'linux/amd64', digest: 'sha256:a', archive: 'a.tar', sbom: '' }];
  const built = [{ platform, image, layers, sbom: '' }];
  expect(summaryOf(built, { digest: 'sha256:b', images }, 'rollcall:1')).toBe(
    'linux/amd64 sha256:a 1.2 MB to pull, 6.8 MB unpacked\n  a.tar\nrollcall:1 sha256:b\n',
  );
});

test('the programs of each platform are written without the directory that they are in', async () => {
  const dir = directory();
  const apps = PLATFORMS.map((platform) => {
    const tree: Tree = new Map();
    addFile(tree, 'app/agent/main.js', platform.architecture);
    return { platform, tree };
  });
  const written = await writeApps(apps, dir);
  expect(written).toEqual(['amd64', 'arm64'].map((each) => path.join(dir, `app/linux-${each}`)));
  expect(written.map((each) => readFileSync(path.join(each, 'agent/main.js'), 'utf8'))).toEqual(['amd64', 'arm64']);
});
