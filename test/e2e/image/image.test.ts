import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hexOf, imageCacheDir } from '../../../deploy/image/cached-input.ts';
import { type BuiltImage, buildApps, buildImages, type ImageInputs, readInputs } from '../../../deploy/image/image.ts';
import { reasonToSkip } from '../../../deploy/image/missing-input.test-fixtures.ts';
import { writeApps, writeImages } from '../../../deploy/image/output.ts';
import { PLATFORMS, parsePlatform } from '../../../deploy/image/platforms.ts';
import { readTar } from '../../../deploy/image/tar.ts';
import type { Tree } from '../../../deploy/image/tree.ts';
import { AGENT_V8_FLAGS } from '../../../deploy/source/chart/agent-values.ts';
import { exitOf, killChild } from '../../control-plane/child.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { httpGet } from '../../rig/http-get.ts';
import { ELF_MACHINES, readElf } from './elf.ts';
import { ImageRoot, whyNoContainer } from './image-root.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../deploy/image');
const REFERENCE = 'registry.example/rollcall:1.2.3';
const OPTIONS = {
  platforms: PLATFORMS,
  cacheDir: imageCacheDir(process.env),
  created: '2026-01-02T03:04:05Z',
  revision: 'abc',
};

let dir: string;
let missing: string | undefined;
let inputs: ImageInputs;
let built: BuiltImage[] = [];
const unpacked = new Map<BuiltImage, Tree>();

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'rollcall-images-'));
  try {
    inputs = await readInputs();
    built = await buildImages(OPTIONS, inputs);
  } catch (error) {
    missing = reasonToSkip(error, process.env['CI']);
  }
  // The first build downloads the inputs.
}, 600_000);

beforeEach(({ skip }) => skip(missing !== undefined, missing));

afterAll(() => rmSync(dir, { recursive: true }));

function imageFor(platform: string): BuiltImage {
  const found = built.find((image) => image.platform === parsePlatform(platform));
  if (!found) throw new Error(`no image for ${platform}`);
  return found;
}

/** All files of an image, whichever layer they are in. */
function filesOf(image: BuiltImage): Tree {
  const files = unpacked.get(image) ?? new Map(image.image.layers.flatMap((digest) => [...layerFiles(image, digest)]));
  unpacked.set(image, files);
  return files;
}

function layerFiles({ image }: BuiltImage, digest: string): Tree {
  return readTar(gunzipSync(image.blobs.get(digest) ?? ''), () => true);
}

function blobJson({ image }: BuiltImage, digest: string) {
  return JSON.parse(`${image.blobs.get(digest)}`);
}

describe('the image', () => {
  test('has the same digest when it is built again', async () => {
    const [again] = await buildImages({ ...OPTIONS, platforms: [parsePlatform('linux/amd64')] });
    expect(again?.image.manifest).toEqual(imageFor('linux/amd64').image.manifest);
  });

  test('runs as a user without rights, by Node.js alone, and says what it is', () => {
    for (const image of built) {
      const { config, architecture, os } = blobJson(image, image.image.configDigest);
      expect({ architecture, os }).toEqual({ architecture: image.platform.architecture, os: 'linux' });
      expect(config.User).toBe('65532:65532');
      expect(config.Entrypoint).toEqual(['/nodejs/bin/node']);
      expect(config.Labels).toMatchObject({
        'org.opencontainers.image.title': 'rollcall',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.revision': 'abc',
        'org.opencontainers.image.created': '2026-01-02T03:04:05Z',
      });
      expect(blobJson(image, image.image.manifest.digest).annotations).toEqual(config.Labels);
    }
  });

  test('has nothing to execute but Node.js and the dynamic loader, and no file that its user could change', () => {
    for (const image of built) {
      const files = [...filesOf(image)];
      const executable = files.filter(([, entry]) => entry.type === 'file' && (entry.mode & 0o111) !== 0);
      const libraries = /^usr\/lib\/[^/]+\/(ld-linux-[^/]+|libc)\.so\.\d$/;
      expect(executable.map(([name]) => name).filter((name) => !libraries.test(name))).toEqual(['nodejs/bin/node']);
      const writable = files.filter(([, entry]) => entry.type !== 'symlink' && (entry.mode & 0o022) !== 0);
      expect(writable.map(([name]) => name)).toEqual(['tmp']);
      const special = files.filter(([, entry]) => entry.type === 'file' && (entry.mode & 0o7000) !== 0);
      expect(special).toEqual([]);
    }
  });

  test('has, for each processor, every library that something in it needs', () => {
    for (const image of built) {
      const files = filesOf(image);
      const names = new Set([...files.keys()].map((name) => path.basename(name)));
      const machine = ELF_MACHINES[image.platform.architecture];
      const programs = [...files].flatMap(([name, entry]) => {
        const elf = entry.type === 'file' ? readElf(entry.content) : undefined;
        return elf ? [{ name, ...elf }] : [];
      });
      expect(programs.map(({ name }) => path.basename(name))).toContain('node');
      expect(programs.filter(({ name }) => name.endsWith('.node'))).toHaveLength(1);
      expect(programs.filter((elf) => elf.machine !== machine)).toEqual([]);
      const lacking = programs.flatMap(({ name, needed }) =>
        needed.filter((library) => !names.has(library)).map((library) => `${name}: ${library}`),
      );
      expect(lacking).toEqual([]);
      const interpreter = programs.find(({ name }) => name === 'nodejs/bin/node')?.interpreter ?? '';
      // The path leads through the links /lib and /lib64.
      expect(files.has(interpreter.replace(/^\//, 'usr/'))).toBe(true);
    }
  });

  test('carries an SBOM of all that was put together for it', () => {
    for (const image of built) {
      const inside = filesOf(image).get('app/sbom.spdx.json');
      expect(inside?.type === 'file' && `${inside.content}`).toBe(image.sbom);
      const { packages, relationships, spdxVersion } = JSON.parse(image.sbom);
      expect(spdxVersion).toBe('SPDX-2.3');
      const names: string[] = packages.map(({ name }: { name: string }) => name);
      expect(names).toEqual(expect.arrayContaining(['node', 'usb', 'pino', 'zod', 'libc6', 'ca-certificates']));
      expect(names).not.toContain('vitest');
      const node = packages.find(({ name }: { name: string }) => name === 'node');
      expect(node.comment).toMatch(/[0-9a-f]{64}$/);
      // This process is run by that very binary.
      const isOwn = image.platform.nodePackage === `node-${process.platform}-${process.arch}`;
      if (isOwn) expect(node.comment).toContain(hexOf(readFileSync(process.execPath)));
      const ids = new Set(packages.map(({ SPDXID }: { SPDXID: string }) => SPDXID));
      expect(ids.size).toBe(packages.length);
      for (const { relatedSpdxElement } of relationships) expect(ids).toContain(relatedSpdxElement);
    }
  });
});

test('scanners find the advisories of its parts: source packages of a release of Debian, and Node.js', () => {
  for (const { sbom } of built) {
    const { packages } = JSON.parse(sbom) as {
      packages: { name: string; externalRefs: { referenceLocator: string }[] }[];
    };
    const advisoriesOf = (name: string) =>
      packages
        .find((each) => each.name === name)
        ?.externalRefs.map(({ referenceLocator }) => namesOfAdvisories(referenceLocator));
    expect(advisoriesOf('libc6')).toEqual(['debian:13 glibc']);
    expect(advisoriesOf('libstdc++6')).toEqual(['debian:13 gcc-14']);
    expect(advisoriesOf('ca-certificates')).toEqual(['debian:13 ca-certificates']);
    expect(advisoriesOf('node')).toContain('cpe nodejs node.js');
  }
});

/** By what a scanner such as Grype looks for advisories: distribution, release and source package, or vendor and product. */
function namesOfAdvisories(locator: string): string {
  const [, vendor, product] = /^cpe:2\.3:a:([^:]+):([^:]+):/.exec(locator) ?? [];
  if (vendor) return `cpe ${vendor} ${product}`;
  const { pathname, searchParams } = new URL(locator);
  const [distribution, release] = (searchParams.get('distro') ?? '').split('-');
  const [source = pathname] = (searchParams.get('upstream') ?? '').split('@');
  return `${distribution}:${release} ${source}`;
}

describe('what is written', () => {
  test('is one layout of all platforms, and an archive of each, in which every digest is right', async () => {
    const { digest, images } = await writeImages(built, REFERENCE, dir);
    const index = JSON.parse(readFileSync(path.join(dir, 'oci/index.json'), 'utf8'));
    expect(index.manifests).toMatchObject([{ digest, annotations: { 'io.containerd.image.name': REFERENCE } }]);
    const blobs = path.join(dir, 'oci/blobs/sha256');
    for (const name of readdirSync(blobs)) expect(hexOf(readFileSync(path.join(blobs, name)))).toBe(name);
    const platforms = JSON.parse(readFileSync(path.join(blobs, digest.slice('sha256:'.length)), 'utf8')).manifests;
    expect(platforms.map((manifest: { platform: object }) => manifest.platform)).toEqual([
      { architecture: 'amd64', os: 'linux' },
      { architecture: 'arm64', os: 'linux' },
    ]);
    for (const { archive, digest: imageDigest, sbom } of images) {
      const files = readTar(readFileSync(archive), () => true);
      const json = (name: string) => {
        const entry = files.get(name);
        return JSON.parse(entry?.type === 'file' ? `${entry.content}` : 'null');
      };
      expect(json('index.json').manifests).toMatchObject([{ digest: imageDigest }]);
      const [docker] = json('manifest.json');
      expect(docker.RepoTags).toEqual([REFERENCE]);
      for (const name of [docker.Config, ...docker.Layers]) expect(files.has(name)).toBe(true);
      expect(statSync(sbom).size).toBeGreaterThan(1000);
    }
  });

  test('fits the Dockerfile, which differs in its base alone', async () => {
    await writeApps(await buildApps(OPTIONS, inputs), path.join(dir, 'dist'));
    const dockerfile = readFileSync(path.join(FOLDER, 'Dockerfile'), 'utf8');
    const lines = dockerfile.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const instructions = new Map(
      lines.map((line): [string, string] => [line.split(' ')[0] ?? '', line.replace(/^\S+ /, '')]),
    );
    expect([...instructions.keys()]).toEqual(['ARG', 'FROM', 'COPY', 'ENV', 'USER', 'ENTRYPOINT', 'CMD']);
    const { config } = blobJson(imageFor('linux/amd64'), imageFor('linux/amd64').image.configDigest);
    expect(config.Env).toEqual(['PATH=/nodejs/bin', instructions.get('ENV')]);
    expect(instructions.get('USER')).toBe(config.User);
    expect(JSON.parse(instructions.get('ENTRYPOINT') ?? '')).toEqual(config.Entrypoint);
    expect(JSON.parse(instructions.get('CMD') ?? '')).toEqual(config.Cmd);
    const [from = '', to] = (instructions.get('COPY') ?? '').split(' ');
    expect(to).toBe('/app/');
    for (const { platform } of built) {
      const source = path.join(dir, from.replace('$TARGETARCH', platform.architecture));
      for (const name of ['agent/main.js', 'agent/facts.js', 'coordinator/main.js']) statSync(path.join(source, name));
      const ignored = readFileSync(path.join(FOLDER, 'Dockerfile.dockerignore'), 'utf8').trim().split('\n');
      expect(ignored).toEqual(['*', '!dist/app']);
    }
  });
});

describe('a container of the image', () => {
  let root: ImageRoot | undefined;
  const unable = whyNoContainer();

  beforeAll(() => {
    if (missing === undefined && unable === undefined) root = new ImageRoot(imageFor('linux/amd64'));
  });

  beforeEach(({ skip }) => skip(unable !== undefined, unable));

  afterAll(() => root?.remove());

  function started(): ImageRoot {
    if (!root) throw new Error('the image was not unpacked');
    return root;
  }

  test('has both programs', () => {
    for (const program of ['agent', 'coordinator']) {
      const main = `/app/${program}/main.js`;
      expect(started().run([main, '--version'])).toMatchObject({
        status: 0,
        stdout: `rollcall-${program} 0.1.0\n`,
        stderr: '',
      });
      expect(started().run([main, '--help']).stdout).toContain('Usage:');
    }
    const printed = started().run(['/app/coordinator/main.js', '--print-config', '--namespace=gitpod']);
    expect(JSON.parse(printed.stdout)).toMatchObject({ kind: 'CoordinatorConfiguration', namespace: 'gitpod' });
  });

  test('loads the binding to USB, resolves names, and can write nowhere', () => {
    const script = `
      const { writeFileSync } = require('node:fs');
      const write = (path) => { try { writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
      require('node:dns').lookup('seven.example', (error, address) => process.stdout.write(JSON.stringify({
        address, uid: process.getuid(), groups: process.getgroups(), root: write('/file'), tmp: write('/tmp/file'),
        usb: typeof require('/app/agent/node_modules/usb/index.js').nativeGetDevices,
      })));`;
    expect(JSON.parse(started().run(['-e', script]).stdout)).toEqual({
      address: '127.0.0.7',
      uid: 65532,
      groups: [65532],
      root: 'EROFS',
      tmp: 'EROFS',
      usb: 'function',
    });
  });

  test('runs an agent that answers for its health, with the flags that it is meant to have, and ends when told', async () => {
    const args = ['--node-name=n', '--listen=127.0.0.1:0', '--coordinator-url=http://127.0.0.1:1'];
    const child: ChildProcess = started().spawn([...AGENT_V8_FLAGS, '/app/agent/main.js', ...args]);
    try {
      const said: { msg: string; listen?: string }[] = [];
      if (!child.stdout) throw new Error('no output');
      createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line)));
      const { listen } = await waitFor('the agent to start', () => said.find(({ msg }) => msg === 'Started'), {
        timeoutMs: 20_000,
      });
      expect((await httpGet(`http://${listen}/healthz`)).status).toBe(200);
      // There is no coordinator here.
      const ready = await httpGet(`http://${listen}/readyz`);
      expect(ready.status).toBe(503);
      expect(ready.body).toContain('first-report failed');
      child.kill('SIGTERM');
      await exitOf(child);
      expect(child.exitCode).toBe(0);
    } finally {
      await killChild(child);
    }
  });
});
