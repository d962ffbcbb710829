import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../packages/common/src/version.ts';
import { hexOf } from '../image/cached-input.ts';
import { compress } from '../image/oci.ts';
import { writeTar } from '../image/tar.ts';
import { addFile, type Tree } from '../image/tree.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const LICENSE = path.join(ROOT, 'LICENSE');
const PLATFORMS = ['darwin', 'linux'].flatMap((os) => ['amd64', 'arm64'].map((arch) => ({ os, arch })));
const DESCRIPTION = 'Shows what rollcall knows about nodes, and why';

type PluginArchive = { os: string; arch: string; file: string; sha256: string };

/** Builds the executables of kubectl rollcall, as `npm run executables` does, and returns their directory. */
export function buildPlugin(): string {
  const dir = path.join(ROOT, 'packages/kubectl-rollcall/dist/executables');
  for (const args of [['build.ts'], ['packages/kubectl-rollcall/executable/main.ts', dir]])
    execFileSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  return dir;
}

/**
 * Packs each executable of kubectl rollcall in `from` with its license, as `kubectl-rollcall-OS-ARCH.tar.gz` in `to`.
 * @throws when one is missing.
 */
export async function packPlugin(from: string, to: string): Promise<PluginArchive[]> {
  const archives: PluginArchive[] = [];
  for (const { os, arch } of PLATFORMS) {
    const name = `kubectl-rollcall-${os}-${arch}`;
    const tree: Tree = new Map();
    addFile(tree, 'LICENSE', await readFile(LICENSE));
    addFile(tree, 'kubectl-rollcall', await readFile(path.join(from, name)), 0o755);
    const archive = compress(writeTar(tree));
    const file = path.join(to, `${name}.tar.gz`);
    await writeFile(file, archive);
    archives.push({ os, arch, file, sha256: hexOf(archive) });
  }
  return archives;
}

/** The manifest by which krew installs these archives from the release in `source`, a repository of GitHub. */
export function krewManifest(
  archives: readonly PluginArchive[],
  { home, source }: { home: string; source: string },
): string {
  const platforms = archives.map(
    ({ os, arch, file, sha256 }) => `    - selector: { matchLabels: { os: ${os}, arch: ${arch} } }
      uri: ${source}/releases/download/v${VERSION}/${path.basename(file)}
      sha256: ${sha256}
      bin: kubectl-rollcall
`,
  );
  return `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: rollcall
spec:
  version: v${VERSION}
  homepage: ${home}
  shortDescription: ${DESCRIPTION}
  description: |
    Shows whether rollcall has done its work and services are ready, why a label, taint or condition is on a node or
    not, and what to do about it. Needs rollcall in the cluster.
  platforms:
${platforms.join('')}`;
}
