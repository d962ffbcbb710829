import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../packages/common/src/version.ts';
import type { ImageName } from './chart-package.ts';

const DEPLOY = path.resolve(import.meta.dirname, '..');

/** The manifests of a release, by file name: each installs or uninstalls by one `kubectl apply`, with the image by digest. */
export async function releaseManifests(image: ImageName): Promise<Map<string, string>> {
  const crds = (await readdir(path.join(DEPLOY, 'crds'))).filter((name) => name.endsWith('.yaml')).toSorted();
  const install = ['manifests/namespace.yaml', ...crds.map((name) => `crds/${name}`), 'manifests/install.yaml'];
  return new Map([
    ['install.yaml', await joined(install, image)],
    ['uninstall.yaml', await joined(['manifests/uninstall.yaml'], image)],
  ]);
}

async function joined(files: readonly string[], image: ImageName): Promise<string> {
  const texts = await Promise.all(files.map((file) => readFile(path.join(DEPLOY, file), 'utf8')));
  return texts
    .map((text) => (text.includes('\n---\n') ? text : `---\n${text}`))
    .map((text) => byDigest(text, image))
    .join('');
}

/** A manifest that names the image as the chart does by itself, and now by registry and digest. */
export function byDigest(manifest: string, { registry, digest }: ImageName): string {
  return manifest.replaceAll(`image: rollcall:${VERSION}\n`, `image: ${registry}/rollcall@${digest}\n`);
}
