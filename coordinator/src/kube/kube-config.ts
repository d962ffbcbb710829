import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { type ApiAccess, type ApiAccessOptions, checkServer } from './api-access.ts';
import { EXEC_PROVIDER, ExecPlugin } from './exec-plugin.ts';
import { type KubeconfigDocument, mergeKubeconfigs, parseKubeconfig } from './kubeconfig-document.ts';

type FileOptions = Pick<ApiAccessOptions, 'kubeconfig' | 'master'>;
type ReadFile = (path: string) => string;

const readText: ReadFile = (path) => readFileSync(path, 'utf8');

/** Access as the current context of one kubeconfig or several says. Throws CONFIG_INVALID. */
export function fileAccess(options: FileOptions, readFile = readText, plugin = new ExecPlugin()): ApiAccess {
  const load = () => withPlugin(loadKubeConfig(options, readFile), plugin);
  let kubeConfig = load();
  const cluster = kubeConfig.getCurrentCluster();
  return {
    server: cluster?.server ?? '',
    viaProxy: Boolean(cluster?.proxyUrl),
    async options() {
      const given = { headers: {} };
      await kubeConfig.applyToHTTPSOptions(given);
      return given;
    },
    renew() {
      plugin.renew();
      kubeConfig = load();
    },
  };
}

/** The library would run a plugin once for each caller, and wait for it without limit. */
function withPlugin(kubeConfig: KubeConfig, plugin: ExecPlugin): KubeConfig {
  kubeConfig.addAuthenticator(plugin);
  kubeConfig.users = kubeConfig.users.map(({ exec, ...user }) =>
    exec === undefined ? user : { ...user, authProvider: { name: EXEC_PROVIDER, config: exec } },
  );
  return kubeConfig;
}

/** The files as they are now, read. Throws CONFIG_INVALID. */
export function loadKubeConfig(options: FileOptions, readFile: ReadFile): KubeConfig {
  const kubeConfig = toKubeConfig(fileDocument(options.kubeconfig, readFile));
  const cluster = kubeConfig.getCurrentCluster();
  if (!cluster) throw configInvalid('--kubeconfig', missingCluster(kubeConfig, options.kubeconfig));
  const server = checkServer(options.master || cluster.server, options.master === '' ? '--kubeconfig' : '--master');
  // The library refuses plain HTTP unless verification is off, although there is nothing to verify.
  const plain = new URL(server).protocol === 'http:';
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
  if (documents.length === 0) throw configInvalid('--kubeconfig', `file not found: ${kubeconfig}`, failure);
  return mergeKubeconfigs(documents);
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
  if (!context) return `${kubeconfig} has no context "${current}", but current-context names it`;
  return `${kubeconfig} has no cluster "${context.cluster}", but the context "${current}" names it`;
}

/** Without any user, the library would leave out what it knows of the cluster too, its CA among it. */
function ensureUser(kubeConfig: KubeConfig, kubeconfig: string): void {
  if (kubeConfig.getCurrentUser()) return;
  const current = kubeConfig.getCurrentContext();
  const named = kubeConfig.getContextObject(current)?.user;
  if (named) {
    throw configInvalid('--kubeconfig', `${kubeconfig} has no user "${named}", but the context "${current}" names it`);
  }
  const anonymous = { name: 'anonymous' };
  kubeConfig.users = [...kubeConfig.users, anonymous];
  kubeConfig.contexts = kubeConfig.contexts.map((each) =>
    each.name === current ? { ...each, user: anonymous.name } : each,
  );
}

function checkFiles(kubeConfig: KubeConfig, readFile: (path: string) => string): void {
  const user = kubeConfig.getCurrentUser();
  const tokenFile: unknown = user?.authProvider?.config?.tokenFile;
  for (const path of [kubeConfig.getCurrentCluster()?.caFile, user?.certFile, user?.keyFile, tokenFile]) {
    if (typeof path !== 'string') continue;
    try {
      readFile(path);
    } catch (cause) {
      throw configInvalid('--kubeconfig', `cannot read ${path}, to which the kubeconfig refers`, cause);
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
