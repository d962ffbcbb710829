import { readFile, writeFile } from 'node:fs/promises';
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

/** The name of an image as containerd has it, from what may stand in a pod: there, parts of it can be left out. */
export function fullReference(reference: string): string {
  const [host = '', ...rest] = reference.split('/');
  if (rest.length === 0) return `docker.io/library/${reference}`;
  return /[.:]|^localhost$/.test(host) ? reference : `docker.io/${reference}`;
}

/**
 * The names that an archive itself gives its images. Unless they are full, containerd finds no image by them, but goes
 * on trying when it knows the same image by another name, too.
 */
export async function namesInArchive(archive: string): Promise<string[]> {
  const index = JSON.parse(await run('tar', ['-xOf', archive, 'index.json'])) as {
    manifests: { annotations?: Record<string, string> }[];
  };
  return index.manifests.flatMap(({ annotations }) => annotations?.['io.containerd.image.name'] ?? []);
}
