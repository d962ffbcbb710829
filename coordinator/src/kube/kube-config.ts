import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { type KubeconfigDocument, mergeKubeconfigs, parseKubeconfig } from './kubeconfig-document.ts';

export type KubeConfigOptions = {
  /** A path, or several joined as in KUBECONFIG; empty for the cluster that the program runs in. */
  kubeconfig: string;
  /** Address of the API server, which goes before what anything else says; empty when not given. */
  master: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 text. */
  readFile?: (path: string) => string;
};

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * How to reach the API server and as whom. Every file that is named is read once, so that a wrong path is said at the
 * start. Throws CONFIG_INVALID.
 */
export function loadKubeConfig(options: KubeConfigOptions): KubeConfig {
  const readFile = options.readFile ?? ((path) => readFileSync(path, 'utf8'));
  const document =
    options.kubeconfig === '' ? inClusterDocument(options, readFile) : fileDocument(options.kubeconfig, readFile);
  const kubeConfig = toKubeConfig(document);
  const cluster = kubeConfig.getCurrentCluster();
  if (!cluster) throw configInvalid('--kubeconfig', missingCluster(kubeConfig, options.kubeconfig));
  const server = options.master || cluster.server;
  // The library refuses plain HTTP unless verification is off, although there is nothing to verify.
  const plain = checkedProtocol(server, options.master === '' ? '--kubeconfig' : '--master') === 'http:';
  kubeConfig.clusters = kubeConfig.clusters.map((each) =>
    each.name === cluster.name ? { ...each, server, skipTLSVerify: each.skipTLSVerify || plain } : each,
  );
  ensureUser(kubeConfig, options.kubeconfig);
  checkFiles(kubeConfig, readFile);
  return kubeConfig;
}

function fileDocument(kubeconfig: string, readFile: (path: string) => string): KubeconfigDocument {
  const paths = kubeconfig.split(delimiter).filter((path) => path !== '');
  const documents: KubeconfigDocument[] = [];
  let failure: unknown;
  for (const path of paths) {
    let text: string;
    try {
      text = readFile(path);
    } catch (err) {
      failure = err;
      // Of several files, kubectl passes over those that are not there.
      if (paths.length > 1 && isMissing(err)) continue;
      throw configInvalid('--kubeconfig', `cannot read ${path}`, err);
    }
    documents.push(parseKubeconfig(path, text));
  }
  if (documents.length === 0) throw configInvalid('--kubeconfig', `there is no such file: ${kubeconfig}`, failure);
  return mergeKubeconfigs(documents);
}

function inClusterDocument(options: KubeConfigOptions, readFile: (path: string) => string): KubeconfigDocument {
  const host = options.env['KUBERNETES_SERVICE_HOST'];
  const port = options.env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    if (options.master !== '') return singleDocument({ server: options.master }, {});
    const problem = 'not given, and this is not a pod (KUBERNETES_SERVICE_HOST and _PORT are not set)';
    throw configInvalid('--kubeconfig', problem);
  }
  const tokenFile = `${SERVICE_ACCOUNT_DIR}/token`;
  try {
    readFile(tokenFile);
  } catch (cause) {
    throw configInvalid('--kubeconfig', `not given, and no service account token is mounted at ${tokenFile}`, cause);
  }
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } };
  return singleDocument({ server, 'certificate-authority': `${SERVICE_ACCOUNT_DIR}/ca.crt` }, user);
}

function singleDocument(cluster: Record<string, unknown>, user: Record<string, unknown>): KubeconfigDocument {
  return {
    clusters: [{ name: 'cluster', cluster }],
    users: [{ name: 'user', user }],
    contexts: [{ name: 'context', context: { cluster: 'cluster', user: 'user' } }],
    'current-context': 'context',
  };
}

function toKubeConfig(document: KubeconfigDocument): KubeConfig {
  const kubeConfig = new KubeConfig();
  try {
    kubeConfig.loadFromString(JSON.stringify(document));
  } catch (cause) {
    throw configInvalid('--kubeconfig', 'is not complete', cause);
  }
  return kubeConfig;
}

function missingCluster(kubeConfig: KubeConfig, kubeconfig: string): string {
  const current = kubeConfig.getCurrentContext();
  if (!current) return `${kubeconfig} has no current-context`;
  const context = kubeConfig.getContexts().find(({ name }) => name === current);
  if (!context) return `${kubeconfig} has no context "${current}", which is its current-context`;
  return `${kubeconfig} has no cluster "${context.cluster}", which the context "${current}" names`;
}

/** Without any user, the library would leave out what it knows of the cluster too, its CA among it. */
function ensureUser(kubeConfig: KubeConfig, kubeconfig: string): void {
  if (kubeConfig.getCurrentUser()) return;
  const current = kubeConfig.getCurrentContext();
  const named = kubeConfig.getContextObject(current)?.user;
  if (named) {
    throw configInvalid('--kubeconfig', `${kubeconfig} has no user "${named}", which the context "${current}" names`);
  }
  const anonymous = { name: 'anonymous' };
  kubeConfig.users = [...kubeConfig.users, anonymous];
  kubeConfig.contexts = kubeConfig.contexts.map((each) =>
    each.name === current ? { ...each, user: anonymous.name } : each,
  );
}

function checkedProtocol(server: string, field: string): string {
  const protocol = URL.canParse(server) ? new URL(server).protocol : '';
  if (protocol === 'https:' || protocol === 'http:') return protocol;
  throw configInvalid(field, `"${server}" is not the https:// or http:// address of an API server`);
}

function checkFiles(kubeConfig: KubeConfig, readFile: (path: string) => string): void {
  const user = kubeConfig.getCurrentUser();
  const tokenFile: unknown = user?.authProvider?.config?.tokenFile;
  for (const path of [kubeConfig.getCurrentCluster()?.caFile, user?.certFile, user?.keyFile, tokenFile]) {
    if (typeof path !== 'string') continue;
    try {
      readFile(path);
    } catch (cause) {
      throw configInvalid('--kubeconfig', `cannot read ${path}, which it names`, cause);
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
