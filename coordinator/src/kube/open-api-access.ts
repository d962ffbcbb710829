import { readFileSync } from 'node:fs';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { API_FLAGS, type ApiAccess, type ApiAccessOptions, checkServer } from './api-access.ts';

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * How to reach the API server and as whom. Every file that is named is read once, so that a wrong path is said at the
 * start. Throws CONFIG_INVALID. The library that reads kubeconfigs is loaded only for one: it takes 12 MB of memory and
 * a quarter of the start, and in a cluster there is none to read.
 */
export async function openApiAccess(options: ApiAccessOptions): Promise<ApiAccess> {
  const readFile = options.readFile ?? ((path) => readFileSync(path, 'utf8'));
  if (options.kubeconfig === '') return inClusterAccess(options, readFile);
  const { fileAccess } = await import('./kube-config.ts');
  return fileAccess(options, readFile);
}

function inClusterAccess(
  { env, master, fields = API_FLAGS }: ApiAccessOptions,
  readFile: (path: string) => string,
): ApiAccess {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  const shared = { viaProxy: false, renew: () => {} };
  if (!host || !port) {
    if (master === '') {
      const problem = 'not given, and this is not a pod (KUBERNETES_SERVICE_HOST and _PORT are not set)';
      throw configInvalid('--kubeconfig', problem);
    }
    return { ...shared, server: checkServer(master, fields.master), options: async () => ({ headers: {} }) };
  }
  const [tokenFile, caFile] = [`${SERVICE_ACCOUNT_DIR}/token`, `${SERVICE_ACCOUNT_DIR}/ca.crt`];
  // Both change while the program runs.
  const options: ApiAccess['options'] = async () => ({
    ca: readFile(caFile),
    headers: { Authorization: `Bearer ${readFile(tokenFile)}` },
  });
  try {
    readFile(tokenFile);
  } catch (cause) {
    throw configInvalid('--kubeconfig', `not given, and no service account token is mounted at ${tokenFile}`, cause);
  }
  try {
    readFile(caFile);
  } catch (cause) {
    throw configInvalid('--kubeconfig', `not given, and no CA is mounted at ${caFile}`, cause);
  }
  const own = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { ...shared, server: checkServer(master || own, fields.master), options };
}
