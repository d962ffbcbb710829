import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveLayout, imageOf, layerOf } from '../../deploy/image/oci.ts';
import { writeTar } from '../../deploy/image/tar.ts';
import { addFile, type Tree } from '../../deploy/image/tree.ts';
import { run } from './command.ts';

/** Writes an archive of an image that has one static program and nothing else, for `ctr images import`. */
export async function writeProgramImage(file: string, reference: string, program: string, name: string): Promise<void> {
  const tree: Tree = new Map();
  addFile(tree, name, await readFile(program), 0o755);
  const layer = await layerOf(tree, name);
  const image = imageOf([layer], {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    created: '1970-01-01T00:00:00Z',
    config: { Entrypoint: [`/${name}`], User: '65532:65532' },
    annotations: {},
  });
  await writeFile(file, writeTar(archiveLayout(image, reference)));
}

/**
 * Writes a copy of an archive, in the directory `dir`, that gives its image another name: one that may stand in a pod,
 * where parts can be left out. The name of the original must not come into containerd: were it not a full one, no
 * container would start from the image, by whatever name.
 */
export async function renameImage(archive: string, reference: string, dir: string): Promise<string> {
  const [layout, copy] = [join(dir, 'layout'), join(dir, 'image.tar')];
  await mkdir(layout, { recursive: true });
  await run('tar', ['-xf', archive, '-C', layout]);
  const file = join(layout, 'index.json');
  const index = JSON.parse(await readFile(file, 'utf8')) as { manifests: object[] };
  const [entry] = index.manifests;
  const annotations = { 'io.containerd.image.name': fullReference(reference) };
  await writeFile(file, JSON.stringify({ ...index, manifests: [{ ...entry, annotations }] }));
  await run('tar', ['-cf', copy, '-C', layout, '.']);
  await rm(layout, { recursive: true });
  return copy;
}

/** containerd 1.6 starts no container from an image that it also knows by a short name. Throws for such a name. */
function fullReference(reference: string): string {
  const [host = '', ...rest] = reference.split('/');
  if (rest.length > 0 && /[.:]|^localhost$/.test(host)) return reference;
  throw new Error(`${reference} is no full name of an image: it has to begin with a host, such as localhost/`);
}
