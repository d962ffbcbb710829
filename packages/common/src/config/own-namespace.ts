import { checkLabel } from './checks.ts';
import { type ConfigSources, configInvalid } from './load.ts';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/**
 * The namespace that the program runs in: POD_NAMESPACE, else the namespace of its service account, else `rollcall`.
 */
export function ownNamespace({ env, readFile }: Pick<ConfigSources, 'env' | 'readFile'>): string {
  if (env['POD_NAMESPACE']) return env['POD_NAMESPACE'];
  try {
    return readFile(NAMESPACE_FILE).trim() || 'rollcall';
  } catch {
    // There is no such file outside a pod, and where no token is mounted.
    return 'rollcall';
  }
}

/** Throws CONFIG_INVALID. Only POD_NAMESPACE can be wrong: the other sources are no person's. */
export function checkOwnNamespace(namespace: string): void {
  const problem = checkLabel(namespace);
  if (problem !== undefined) throw configInvalid('POD_NAMESPACE', problem);
}
