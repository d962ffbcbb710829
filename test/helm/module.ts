import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The Go module in this folder, from which Helm is built. */
export type ToolsModule = {
  dir: string;
  package: string;
  /** Of Helm, without the `v`. */
  version: string;
  /** Changes with every requirement; 12 hex digits. */
  hash: string;
  linkerFlags: string;
};

const PACKAGE = 'helm.sh/helm/v3';

/** Reads go.mod and go.sum in `dir`. @throws when go.mod does not require Helm and its Kubernetes client. */
export async function readToolsModule(dir: string): Promise<ToolsModule> {
  const goMod = await readFile(join(dir, 'go.mod'), 'utf8');
  const goSum = await readFile(join(dir, 'go.sum'), 'utf8');
  const versionOf = (module: string) => {
    const found = new RegExp(`^\\s*${module.replaceAll('.', '\\.')} v(\\S+)`, 'm').exec(goMod)?.[1];
    if (found === undefined) throw new Error(`${join(dir, 'go.mod')} does not require ${module}`);
    return found;
  };
  const version = versionOf(PACKAGE);
  const [, minor] = versionOf('k8s.io/client-go').split('.');
  // Without a cluster, Helm takes the version of Kubernetes from these; its own build sets them, too.
  const kubernetes = [`${PACKAGE}/pkg/chartutil`, `${PACKAGE}/pkg/lint/rules`].flatMap((place) => [
    `-X ${place}.k8sVersionMajor=1`,
    `-X ${place}.k8sVersionMinor=${minor}`,
  ]);
  return {
    dir,
    package: `${PACKAGE}/cmd/helm`,
    version,
    hash: createHash('sha256').update(goMod).update('\0').update(goSum).digest('hex').slice(0, 12),
    linkerFlags: ['-s -w', `-X ${PACKAGE}/internal/version.version=v${version}`, ...kubernetes].join(' '),
  };
}
