import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The Go module from whose requirements the binaries are built. */
export interface ToolsModule {
  readonly dir: string;
  /** Version of Kubernetes, without the `v`. */
  readonly kubernetesVersion: string;
  /** Changes with every requirement; 12 hex digits. */
  readonly hash: string;
}

/** Reads go.mod and go.sum in `dir`. @throws when go.mod does not require k8s.io/kubernetes. */
export async function readToolsModule(dir: string): Promise<ToolsModule> {
  const goMod = await readFile(join(dir, 'go.mod'), 'utf8');
  const goSum = await readFile(join(dir, 'go.sum'), 'utf8');
  const version = /^\s*(?:require\s+)?k8s\.io\/kubernetes v(\S+)/m.exec(goMod)?.[1];
  if (version === undefined) throw new Error(`${join(dir, 'go.mod')} does not require k8s.io/kubernetes`);
  return {
    dir,
    kubernetesVersion: version,
    hash: createHash('sha256').update(goMod).update('\0').update(goSum).digest('hex').slice(0, 12),
  };
}
