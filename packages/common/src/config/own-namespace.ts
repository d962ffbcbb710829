import type { ConfigSources } from './load.ts';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace that the program runs in: POD_NAMESPACE, else that of its service account, else `rollcall`. */
export function ownNamespace({ env, readFile }: Pick<ConfigSources, 'env' | 'readFile'>): string {
  if (env['POD_NAMESPACE']) return env['POD_NAMESPACE'];
  try {
    return readFile(NAMESPACE_FILE).trim() || 'rollcall';
  } catch {
    // There is no such file outside a pod, and where no token is mounted.
    return 'rollcall';
  }
}
