import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { bundlePrograms, IMAGE_PROGRAMS } from '../../build.ts';
import { type BundledPackage, licenseTexts, packagesOf } from './bundled-packages.ts';
import { type NpmPin, npmPackage } from './npm-packages.ts';
import { addFile, type Tree } from './tree.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');

export type Programs = { tree: Tree; packages: BundledPackage[] };

/** The programs as bundles, with the licenses of what is in them. The same on every platform. */
export async function bundledPrograms(bundle = () => bundlePrograms(IMAGE_PROGRAMS)): Promise<Programs> {
  const { files, inputs } = await bundle();
  const packages = await packagesOf(ROOT, inputs);
  const tree: Tree = new Map();
  for (const { path: file, contents } of files) {
    // agent/dist/main.js is /app/agent/main.js. Source maps are twice as large as the programs, and not asked for.
    if (!file.endsWith('.map')) addFile(tree, `app/${file.replace('/dist/', '/')}`, Buffer.from(contents));
  }
  for (const program of ['agent', 'coordinator']) addFile(tree, `app/${program}/package.json`, '{"type":"module"}\n');
  addFile(tree, 'app/LICENSE', await readFile(path.join(ROOT, 'LICENSE')));
  addFile(tree, 'app/THIRD-PARTY-LICENSES.txt', licenseTexts(packages));
  return { tree, packages };
}

/** The top of the image: the programs, and beside the agent the packages that cannot be bundled. */
export async function appLayer(programs: Programs, native: readonly NpmPin[], npmCacheDir: string): Promise<Tree> {
  const tree: Tree = new Map(programs.tree);
  for (const pin of native) {
    for (const [file, entry] of await npmPackage(pin, npmCacheDir)) {
      // The agent uses only the native binding of `usb`.
      if (/^(index\.js|package\.json|LICENSE[^/]*|[^/]+\.node)$/.test(file) && entry.type === 'file')
        addFile(tree, `app/agent/node_modules/${pin.name}/${file}`, entry.content);
    }
  }
  return tree;
}
