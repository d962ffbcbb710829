import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../packages/common/src/version.ts';
import { appLayer, bundledPrograms, type Programs, ROOT } from './app-layer.ts';
import { BASE_FILES, baseLayer, isBaseFile, USER_ID } from './base-layer.ts';
import { hexOf } from './cached-input.ts';
import {
  type DebianPackage,
  type DebianPin,
  debianMirrors,
  debianPackage,
  debianSnapshots,
} from './debian-packages.ts';
import { IMAGE_ENV } from './image-env.ts';
import { compressOnce } from './kept-layer.ts';
import { type NpmPin, npmPackage, readPin } from './npm-packages.ts';
import { type Image, imageOf, type Layer, layerOf } from './oci.ts';
import type { Platform } from './platforms.ts';
import { type Component, spdxDocument } from './sbom.ts';
import { addFile, type Tree } from './tree.ts';

const LICENSE = 'Apache-2.0';
const NODE = 'nodejs/bin/node';
const SBOM = 'app/sbom.spdx.json';

export type ImageOptions = {
  platforms: readonly Platform[];
  /** Downloads are kept there, and the packed binary of Node.js. */
  cacheDir: string;
  /** Roots of Debian repositories; defaults to the mirrors of this machine's apt, then to its archive of old versions. */
  mirrors?: readonly string[] | undefined;
  /** RFC 3339, in UTC, without a fraction: when the source was made, since the build time must not be in the image. */
  created: string;
  /** For the labels of the image. */
  revision?: string | undefined;
  source?: string | undefined;
};

export type BuiltImage = { platform: Platform; image: Image; layers: Layer[]; sbom: string };

/** Inputs of the image besides the downloads. */
export type ImageInputs = { lockFile: string; debian: DebianLock; programs: Programs };

type Build = ImageOptions & ImageInputs;
export type DebianLock = {
  release: string;
  /** A time, such as `20261126T000000Z`, at which Debian's archive of old versions has all of these packages. */
  snapshot: string;
  packages: DebianPin[];
};
type BasePackage = DebianPackage & { pin: DebianPin };

/**
 * Builds the image for each platform, in memory. The same source, lock files, version of Node.js and options give the
 * same digests.
 * @throws {MissingInput} when something cannot be had from the cache, npm or Debian.
 */
export async function buildImages(options: ImageOptions, inputs?: ImageInputs): Promise<BuiltImage[]> {
  const build: Build = { ...options, ...(inputs ?? (await readInputs())) };
  const built: BuiltImage[] = [];
  // One after the other: the binary of Node.js is in memory several times while it is packed.
  for (const platform of options.platforms) built.push(await buildImage(platform, build));
  return built;
}

/** The directory /app alone, for an image that is made in another way. */
export async function buildApps(
  options: Pick<ImageOptions, 'platforms' | 'cacheDir'>,
  inputs?: ImageInputs,
): Promise<{ platform: Platform; tree: Tree }[]> {
  const { lockFile, programs } = inputs ?? (await readInputs());
  return Promise.all(
    options.platforms.map(async (platform) => ({
      platform,
      tree: await appLayer(programs, nativePins(platform, lockFile), npmCache(options)),
    })),
  );
}

export const DEBIAN_LOCK_FILE = path.join(import.meta.dirname, 'debian-lock.json');

/** Reads the inputs of this repository, and bundles the programs. */
export async function readInputs(): Promise<ImageInputs> {
  return {
    lockFile: await readFile(path.join(ROOT, 'pnpm-lock.yaml'), 'utf8'),
    debian: JSON.parse(await readFile(DEBIAN_LOCK_FILE, 'utf8')) as DebianLock,
    programs: await bundledPrograms(),
  };
}

function nativePins(platform: Platform, lockFile: string): NpmPin[] {
  return ['usb', platform.usbPackage].map((name) => readPin(lockFile, name));
}

function npmCache({ cacheDir }: Pick<ImageOptions, 'cacheDir'>): string {
  return path.join(cacheDir, 'npm');
}

async function buildImage(platform: Platform, build: Build): Promise<BuiltImage> {
  const { architecture } = platform;
  const { created, programs } = build;
  const debian = build.debian.packages.filter((pin) => pin.architecture === architecture || pin.architecture === 'all');
  const node = readPin(build.lockFile, platform.nodePackage);
  const native = nativePins(platform, build.lockFile);
  const base = await basePackages(debian, build);
  const sbom = spdxDocument(
    { name: 'rollcall', version: VERSION, license: LICENSE, architecture },
    components({ base, node, nodeSha256: hexOf(await nodeBinary(node, npmCache(build))), native, programs }),
    created,
  );
  const app = await appLayer(programs, native, npmCache(build));
  addFile(app, SBOM, sbom);
  const keep = (archive: Buffer) => compressOnce(archive, path.join(build.cacheDir, 'layers'));
  const layers = [
    await layerOf(baseLayer(base), `Debian ${build.debian.release}: libraries, certificates, a user`),
    await layerOf(await nodeTree(node, npmCache(build)), `Node.js ${node.version}`, keep),
    await layerOf(app, `rollcall ${VERSION}`),
  ];
  const image = imageOf(layers, { architecture, created, config: config(build), annotations: labels(build) });
  return { platform, image, layers, sbom };
}

async function basePackages(debian: readonly DebianPin[], build: Build): Promise<BasePackage[]> {
  const missing = Object.keys(BASE_FILES).filter((name) => !debian.some((pin) => pin.name === name));
  if (missing.length > 0) throw new Error(`debian-lock.json lacks ${missing.join(', ')}`);
  const dir = path.join(build.cacheDir, 'debian');
  const roots = async () =>
    build.mirrors ?? [...(await debianMirrors()), ...(await debianSnapshots(build.debian.snapshot))];
  return Promise.all(
    debian.map(async (pin) => ({
      pin,
      ...(await debianPackage(pin, dir, roots, (file) => isBaseFile(pin.name, file))),
    })),
  );
}

async function nodeTree(pin: NpmPin, cacheDir: string): Promise<Tree> {
  const license = (await npmPackage(pin, cacheDir)).get('LICENSE');
  if (license?.type !== 'file') throw new Error(`${pin.name} has no LICENSE`);
  const tree: Tree = new Map();
  addFile(tree, NODE, await nodeBinary(pin, cacheDir), 0o755);
  addFile(tree, 'nodejs/LICENSE', license.content);
  return tree;
}

/** Downloads the binary of Node.js as it was released. */
async function nodeBinary(pin: NpmPin, cacheDir: string): Promise<Buffer> {
  const binary = (await npmPackage(pin, cacheDir)).get('bin/node');
  if (binary?.type !== 'file') throw new Error(`${pin.name} has no bin/node`);
  return binary.content;
}

function components(parts: {
  base: readonly BasePackage[];
  node: NpmPin;
  /** Of its binary, which is the one that the project of Node.js released. */
  nodeSha256: string;
  native: readonly NpmPin[];
  programs: Programs;
}): Component[] {
  const { version } = parts.node;
  return [
    // The npm package only carries the binary; databases know it by its own name.
    {
      ...npmComponent(parts.node),
      kind: 'generic',
      name: 'node',
      cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
      comment: `SHA-256 of bin/node: ${parts.nodeSha256}`,
    },
    ...parts.native.map(npmComponent),
    ...parts.programs.packages.map(
      ({ name, version, license }): Component => ({ kind: 'npm', name, version, license }),
    ),
    ...parts.base.map((each) => debianComponent(each, distroOf(parts.base))),
  ];
}

/** Advisories of Debian name source packages: scanners find them by `upstream`, in the release that `distro` names. */
function debianComponent({ pin, control }: BasePackage, distro: string): Component {
  const { name, version, architecture, sha256 } = pin;
  const [, source = name, sourceVersion] = /^Source: (\S+)(?: \((.+)\))?$/m.exec(control) ?? [];
  const upstream = encodeURIComponent(sourceVersion === undefined ? source : `${source}@${sourceVersion}`);
  const qualifiers = `arch=${architecture}&distro=${distro}&upstream=${upstream}`;
  return { kind: 'deb', name, version, qualifiers, checksum: { algorithm: 'SHA256', value: sha256 } };
}

/** Such as `debian-13`, as scanners name it. */
function distroOf(packages: readonly BasePackage[]): string {
  const release = packages.map(({ files }) => files.get('usr/lib/os-release')).find((each) => each?.type === 'file');
  const version = /^VERSION_ID="?([\d.]+)"?$/m.exec(`${release?.content}`)?.[1];
  if (version === undefined) throw new Error('base-files has no os-release with a VERSION_ID');
  return `debian-${version}`;
}

function npmComponent({ name, version, sha512 }: NpmPin): Component {
  return { kind: 'npm', name, version, license: 'MIT', checksum: { algorithm: 'SHA512', value: sha512 } };
}

function config(build: Build): object {
  return {
    User: `${USER_ID}:${USER_ID}`,
    Env: Object.entries(IMAGE_ENV).map(([name, value]) => `${name}=${value}`),
    Entrypoint: [`/${NODE}`],
    Cmd: ['/app/coordinator/main.js', '--help'],
    WorkingDir: '/',
    Labels: labels(build),
  };
}

function labels({ created, revision, source }: Build): Record<string, string> {
  const about = {
    created,
    description: 'Keeps what a Kubernetes cluster believes about its nodes true: the agent and the coordinator.',
    licenses: LICENSE,
    title: 'rollcall',
    version: VERSION,
    ...(revision === undefined ? {} : { revision }),
    ...(source === undefined ? {} : { source }),
  };
  return Object.fromEntries(Object.entries(about).map(([key, value]) => [`org.opencontainers.image.${key}`, value]));
}
