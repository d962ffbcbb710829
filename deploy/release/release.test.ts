import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { VERSION } from '../../packages/common/src/version.ts';
import { hexOf } from '../image/cached-input.ts';
import { readTar } from '../image/tar.ts';
import { packChart, packCrdChart, withImage } from './chart-package.ts';
import { byDigest, releaseManifests } from './manifests.ts';
import { notesOf } from './notes.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = { registry: 'registry.example:5000/team', digest: DIGEST };
const CREATED = '2026-01-02T03:04:05Z';

describe('the chart of a release', () => {
  test('is the same, byte for byte, when it is packed again', async () => {
    const [first, again] = [await packChart(IMAGE, CREATED), await packChart(IMAGE, CREATED)];
    expect(hexOf(again.archive)).toBe(hexOf(first.archive));
    expect(again.artifact.manifest).toEqual(first.artifact.manifest);
  });

  test('has every file of the chart, and installs the image by its digest without a value', async () => {
    const { archive } = await packChart(IMAGE, CREATED);
    const files = readTar(gunzipSync(archive), () => true);
    expect([...files.keys()]).toEqual(
      expect.arrayContaining([
        'rollcall/Chart.yaml',
        'rollcall/templates/crds/nodeservices.yaml',
        'rollcall/templates/NOTES.txt',
      ]),
    );
    const values = files.get('rollcall/values.yaml');
    const text = values?.type === 'file' ? `${values.content}` : '';
    expect(text).toContain(`  registry: ${IMAGE.registry}\n`);
    expect(text).toContain(`  digest: ${DIGEST}\n`);
  });

  test('is an artifact as Helm pushes it', async () => {
    const { archive, artifact } = await packChart(IMAGE, CREATED);
    const manifest = JSON.parse(`${artifact.blobs.get(artifact.manifest.digest)}`);
    expect(manifest).toMatchObject({
      config: { mediaType: 'application/vnd.cncf.helm.config.v1+json' },
      layers: [{ mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', size: archive.length }],
      annotations: { 'org.opencontainers.image.version': VERSION },
    });
    const config = JSON.parse(`${artifact.blobs.get(manifest.config.digest)}`);
    expect(config).toMatchObject({ name: 'rollcall', version: VERSION, apiVersion: 'v2' });
  });

  test('has the CRDs in a chart beside it, of the same version', async () => {
    const { archive, artifact } = await packCrdChart(CREATED);
    const names = [...readTar(gunzipSync(archive), () => true).keys()];
    const crds = (await readdir(path.resolve(import.meta.dirname, '../crds'))).map((file) => `templates/${file}`);
    expect(names).toEqual(
      expect.arrayContaining(['Chart.yaml', 'values.yaml', ...crds].map((name) => `rollcall-crds/${name}`)),
    );
    const manifest = JSON.parse(`${artifact.blobs.get(artifact.manifest.digest)}`);
    const config = JSON.parse(`${artifact.blobs.get(manifest.config.digest)}`);
    expect(config).toMatchObject({ name: 'rollcall-crds', version: VERSION });
  });

  test('is not made of a values.yaml in which the image stands otherwise', () => {
    expect(() => withImage('image:\n  registry: ""\n', IMAGE)).toThrow('digest');
    expect(() => withImage('agent: {}\n', IMAGE)).toThrow('no section image');
  });
});

describe('manifests of a release', () => {
  test('install and uninstall by one file each, with the image by its digest', async () => {
    const manifests = await releaseManifests(IMAGE);
    expect([...manifests.keys()]).toEqual(['install.yaml', 'uninstall.yaml']);
    for (const text of manifests.values()) {
      const images = [...text.matchAll(/^ *image: (.*)$/gm)].map(([, image]) => image);
      expect(new Set(images)).toEqual(new Set([`${IMAGE.registry}/rollcall@${DIGEST}`]));
    }
    const install = manifests.get('install.yaml') ?? '';
    const kinds = [...install.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind);
    expect(kinds.slice(0, 2)).toEqual(['Namespace', 'CustomResourceDefinition']);
    expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'DaemonSet']));
    const documents = install.split(/^---$/m);
    expect(documents.shift()).toBe('');
    expect(documents.map((text) => text.match(/^kind: .*$/gm))).toEqual(kinds.map((kind) => [`kind: ${kind}`]));
  });

  test('name no image twice', () => {
    expect(byDigest(`image: rollcall:${VERSION}\nimage: other:1\n`, IMAGE)).toBe(
      `image: ${IMAGE.registry}/rollcall@${DIGEST}\nimage: other:1\n`,
    );
  });
});

test('the notes of a release are its section of the changelog, and there is none without', async () => {
  const changelog = '# Changelog\n\n## Unreleased\n\n## 1.1.0 (2026-02-03)\n\n- New.\n\n## [1.0.0]\n\n- First.\n';
  expect(notesOf(changelog, '1.1.0')).toBe('- New.\n');
  expect(notesOf(changelog, '1.0.0')).toBe('- First.\n');
  expect(() => notesOf(changelog, '1.2.0')).toThrow('## 1.2.0');
  expect(() => notesOf(changelog, 'Unreleased')).toThrow('Unreleased');
});

test('the version is written in one place, from which all else is generated', async () => {
  const root = path.resolve(import.meta.dirname, '../..');
  for (const folder of ['.', 'agent', 'coordinator', 'packages/common', 'test']) {
    const { version } = JSON.parse(await readFile(path.join(root, folder, 'package.json'), 'utf8'));
    expect([folder, version]).toEqual([folder, undefined]);
  }
  for (const chart of ['chart', 'chart-crds'])
    expect(await readFile(path.join(root, 'deploy', chart, 'Chart.yaml'), 'utf8')).toContain(`\nversion: ${VERSION}\n`);
});

test('takes the notes of exactly this version, up to the next heading', () => {
  const changelog =
    'about 1.0.0\n\n## 1.0.0-rc\n\n- No.\n\n## 1.0.0\n\n- Yes.\n\n### Fixed\n\n- It.\n\n## 0.9.0\n\n- No.\n';
  expect(notesOf(changelog, '1.0.0')).toBe('- Yes.\n\n### Fixed\n\n- It.\n');
  expect(() => notesOf('- 1.0.0\n', '1.0.0')).toThrow('has nothing about 1.0.0');
});

test('an image is written into values.yaml where its section has each setting once', () => {
  const values = (section: string) => `agent:\n  digest: ""\n\nimage:\n${section}\nother: 1\n`;
  expect(withImage(values('  registry: ""\n\n  # which\n  digest: ""\n'), IMAGE)).toBe(
    values(`  registry: ${IMAGE.registry}\n\n  # which\n  digest: ${DIGEST}\n`),
  );
  expect(() => withImage(values('  registry: ""\n'), IMAGE)).toThrow('has 0 times   digest: "", not once');
  expect(() => withImage(values('  registry: ""\n  registry: ""\n  digest: ""\n'), IMAGE)).toThrow('has 2 times');
});
