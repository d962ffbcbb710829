import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from '../../packages/common/src/config/yaml.ts';
import { VERSION } from '../../packages/common/src/version.ts';
import type { BuiltImage, ImageOptions } from '../image/image.ts';
import { imageOf, layerOf } from '../image/oci.ts';
import { readTar } from '../image/tar.ts';
import { makeRelease } from './artifacts.ts';

const CREATED = '2026-01-02T03:04:05Z';

/** Images with nothing in them: how they are made is tested where they are. */
async function emptyImages({ platforms, created }: ImageOptions): Promise<BuiltImage[]> {
  const layers = [await layerOf(new Map(), 'how')];
  return platforms.map((platform) => {
    const { architecture } = platform;
    const image = imageOf(layers, { architecture, created, config: {}, annotations: {} });
    return { platform, image, layers, sbom: `sbom of ${architecture}` };
  });
}

function madeIn(dir: string, section = VERSION, pluginDir = builtPlugin()) {
  const [registry, source] = ['registry.example/team', undefined];
  const options = { registry, dir, cacheDir: dir, created: CREATED, revision: 'abc', source, section, pluginDir };
  return makeRelease(options, emptyImages);
}

const EXECUTABLES = ['darwin-amd64', 'darwin-arm64', 'linux-amd64', 'linux-arm64'].map(
  (platform) => `kubectl-rollcall-${platform}`,
);

/** A directory with executables, and with what else may be there. */
function builtPlugin(): string {
  const dir = directory();
  for (const file of [...EXECUTABLES, 'main.js', 'kubectl-rollcall-plan9-386'])
    writeFileSync(path.join(dir, file), `for ${file}`);
  return dir;
}

function directory(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'rollcall-release-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('a release is images, charts, manifests and SBOMs, with the checksums of all that is offered', async () => {
  const dir = path.join(directory(), 'deep', 'dist');
  const release = await madeIn(dir);
  const names = release.files.map((file) => path.relative(dir, file));
  expect(names).toEqual([
    `rollcall-${VERSION}.tgz`,
    `rollcall-crds-${VERSION}.tgz`,
    ...['amd64', 'arm64'].flatMap((each) =>
      ['tar', 'spdx.json'].map((end) => `rollcall-${VERSION}-linux-${each}.${end}`),
    ),
    'install.yaml',
    'uninstall.yaml',
    ...EXECUTABLES.map((name) => `${name}.tar.gz`),
    'krew.yaml',
    'SHA256SUMS',
  ]);
  expect(release.files.every((file) => existsSync(file))).toBe(true);
  const checked = execFileSync('sha256sum', ['--check', release.checksums], { cwd: dir, encoding: 'utf8' });
  expect(checked.match(/: OK$/gm)).toHaveLength(release.files.length - 1);
  expect(release).toMatchObject({ version: VERSION, registry: 'registry.example/team', dir });
  expect(readFileSync(path.join(dir, 'NOTES.md'), 'utf8')).not.toBe('');
});

test('image and charts are layouts under the names and digests that they are pushed by', async () => {
  const dir = directory();
  const { image, chart, crdChart } = await madeIn(dir);
  for (const [{ name, digest, layout }, repository] of [
    [image, 'rollcall'],
    [chart, 'charts/rollcall'],
    [crdChart, 'charts/rollcall-crds'],
  ] as const) {
    expect(name).toBe(`registry.example/team/${repository}`);
    const index = JSON.parse(readFileSync(path.join(layout, 'index.json'), 'utf8'));
    expect(index.manifests).toMatchObject([{ digest }]);
    expect(JSON.stringify(index)).toContain(`${name}:${VERSION}`);
  }
  expect(image.platforms.map(({ platform }) => platform)).toEqual(['linux/amd64', 'linux/arm64']);
  expect(readFileSync(path.join(dir, 'install.yaml'), 'utf8')).toContain(`${image.name}@${image.digest}`);
});

test('nothing is left of what was there before', async () => {
  const dir = directory();
  mkdirSync(path.join(dir, 'oci'));
  writeFileSync(path.join(dir, 'old.tgz'), '');
  await madeIn(dir);
  expect(readdirSync(dir)).not.toContain('old.tgz');
});

test('without a section in the changelog nothing is made, and nothing is removed', async () => {
  const dir = directory();
  writeFileSync(path.join(dir, 'old.tgz'), '');
  await expect(madeIn(dir, '99.0.0')).rejects.toThrow('99.0.0');
  expect(readdirSync(dir)).toEqual(['old.tgz']);
});

test('nothing is released without an executable of kubectl rollcall for each platform', async () => {
  const pluginDir = builtPlugin();
  rmSync(path.join(pluginDir, 'kubectl-rollcall-darwin-amd64'));
  await expect(madeIn(directory(), VERSION, pluginDir)).rejects.toThrow('kubectl-rollcall-darwin-amd64');
});

test('kubectl rollcall is offered packed for each platform, and by krew', async () => {
  const dir = directory();
  const { files, checksums } = await madeIn(dir);
  const offered = files.map((file) => path.relative(dir, file)).filter((file) => /^kubectl-|krew/.test(file));
  expect(offered).toEqual([...EXECUTABLES.map((file) => `${file}.tar.gz`), 'krew.yaml']);

  const { metadata, spec } = parse(readFileSync(path.join(dir, 'krew.yaml'), 'utf8'));
  expect([metadata.name, spec.version]).toEqual(['rollcall', `v${VERSION}`]);
  const sums = readFileSync(checksums, 'utf8');
  for (const [index, name] of EXECUTABLES.entries()) {
    const tree = readTar(gunzipSync(readFileSync(path.join(dir, `${name}.tar.gz`))), () => true);
    expect([...tree.keys()]).toEqual(['LICENSE', 'kubectl-rollcall']);
    expect(tree.get('kubectl-rollcall')).toEqual({ type: 'file', mode: 0o755, content: Buffer.from(`for ${name}`) });
    const { selector, uri, sha256, bin } = spec.platforms[index];
    const [, , os, arch] = name.split('-');
    expect(selector.matchLabels).toEqual({ os, arch });
    expect(uri).toMatch(new RegExp(`^https://.+/releases/download/v${VERSION}/${name}\\.tar\\.gz$`));
    expect(bin).toBe('kubectl-rollcall');
    expect(sums).toContain(`${sha256}  ${name}.tar.gz\n`);
  }
  expect(spec.platforms).toHaveLength(EXECUTABLES.length);
});
