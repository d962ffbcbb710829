import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** A package of which at least one file is in a bundle. */
export type BundledPackage = { name: string; version: string; license: string | undefined; texts: string[] };

const IN_PACKAGE = /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENSE_FILE = /^(licen[cs]e|notice|copying)/i;

/** The packages that own the input files of a bundle, without the packages of the workspace. Inputs are relative to `root`. */
export async function packagesOf(root: string, inputs: Iterable<string>): Promise<BundledPackage[]> {
  const directories = new Set([...inputs].flatMap((input) => IN_PACKAGE.exec(input)?.[1] ?? []));
  const found = new Map<string, BundledPackage>();
  for (const directory of directories) {
    const bundled = await readPackage(path.join(root, directory));
    found.set(`${bundled.name}@${bundled.version}`, bundled);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bundled]) => bundled);
}

async function readPackage(directory: string): Promise<BundledPackage> {
  const manifest = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
  };
  const names = (await readdir(directory)).filter((name) => LICENSE_FILE.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(directory, name), 'utf8')));
  return { name: manifest.name, version: manifest.version, license: manifest.license, texts };
}

/** One document with the license of each package, as their licenses ask for. */
export function licenseTexts(packages: readonly BundledPackage[]): string {
  return packages
    .map(({ name, version, license, texts }) => {
      const title = `${name} ${version} (${license ?? 'license unknown'})`;
      return [title, '='.repeat(title.length), ...texts.map((text) => text.trim())].join('\n\n');
    })
    .join('\n\n\n')
    .concat('\n');
}
