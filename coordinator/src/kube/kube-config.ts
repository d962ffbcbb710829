import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { AUTH_PROVIDER_CURE, authProviderProblem, ExecPlugin, usePlugin } from '@rollcall/common/exec-plugin.ts';
import { API_FLAGS, type ApiAccess, type ApiAccessOptions, checkServer, clearText } from './api-access.ts';
import { type KubeconfigDocument, mergeKubeconfigs, parseKubeconfig } from './kubeconfig-document.ts';

type FileOptions = Pick<ApiAccessOptions, 'kubeconfig' | 'master' | 'fields'>;
type ReadFile = (path: string) => string;

const readText: ReadFile = (path) => readFileSync(path, 'utf8');

/** Access as the current context of one kubeconfig or several says. Throws CONFIG_INVALID. */
export function fileAccess(options: FileOptions, readFile = readText, plugin = new ExecPlugin()): ApiAccess {
  const load = () => {
    const loaded = loadKubeConfig(options, readFile);
    usePlugin(loaded, plugin);
    return loaded;
  };
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

/** The files as they are now, read. Throws CONFIG_INVALID. */
export function loadKubeConfig(options: FileOptions, readFile = readText): KubeConfig {
  const { kubeconfig: field, master: masterField } = options.fields ?? API_FLAGS;
  const kubeConfig = toKubeConfig(fileDocument(options.kubeconfig, readFile, field), field);
  const cluster = kubeConfig.getCurrentCluster();
  if (!cluster) throw configInvalid(field, missingCluster(kubeConfig, options.kubeconfig));
  const server = checkServer(options.master || cluster.server, options.master === '' ? field : masterField);
  // The library refuses plain HTTP unless verification is off, although there is nothing to verify.
  const plain = new URL(server).protocol === 'http:';
  // A proxy has another address than the server.
  if (plain && cluster.proxyUrl) throw clearText(field, 'proxy-url');
  kubeConfig.clusters = kubeConfig.clusters.map((each) =>
    each.name === cluster.name ? { ...each, server, skipTLSVerify: each.skipTLSVerify || plain } : each,
  );
  ensureUser(kubeConfig, options.kubeconfig, field);
  checkAuthProvider(kubeConfig, options.kubeconfig, field);
  checkFiles(kubeConfig, readFile, field);
  return kubeConfig;
}

function fileDocument(kubeconfig: string, readFile: ReadFile, field: string): KubeconfigDocument {
  const paths = kubeconfig.split(delimiter).filter((path) => path !== '');
  const documents: KubeconfigDocument[] = [];
  let failure: unknown;
  for (const path of paths) {
    let text: string;
    try {
      text = readFile(path);
    } catch (err) {
      failure = err;
      // If there are several files, kubectl skips missing ones.
      if (paths.length > 1 && isMissing(err)) continue;
      throw configInvalid(field, `cannot read ${path}`, err);
    }
    documents.push(parseKubeconfig(path, text, field));
  }
  if (documents.length === 0) throw configInvalid(field, `file not found: ${kubeconfig}`, failure);
  return mergeKubeconfigs(documents);
}

function toKubeConfig(document: KubeconfigDocument, field: string): KubeConfig {
  const kubeConfig = new KubeConfig();
  try {
    kubeConfig.loadFromString(JSON.stringify(document));
  } catch (cause) {
    throw configInvalid(field, 'is not complete', cause);
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

/** Adds an empty user if there is none: the library would otherwise ignore the cluster too, with its CA. */
function ensureUser(kubeConfig: KubeConfig, kubeconfig: string, field: string): void {
  if (kubeConfig.getCurrentUser()) return;
  const current = kubeConfig.getCurrentContext();
  const named = kubeConfig.getContextObject(current)?.user;
  if (named) {
    throw configInvalid(field, `${kubeconfig} has no user "${named}", but the context "${current}" names it`);
  }
  const anonymous = { name: 'anonymous' };
  kubeConfig.users = [...kubeConfig.users, anonymous];
  kubeConfig.contexts = kubeConfig.contexts.map((each) =>
    each.name === current ? { ...each, user: anonymous.name } : each,
  );
}

/** The library would send no credentials, which the API server answers with 401. */
function checkAuthProvider(kubeConfig: KubeConfig, kubeconfig: string, field: string): void {
  const problem = authProviderProblem(kubeConfig);
  if (problem !== undefined) throw configInvalid(field, `${kubeconfig} has ${problem}: ${AUTH_PROVIDER_CURE}`);
}

function checkFiles(kubeConfig: KubeConfig, readFile: ReadFile, field: string): void {
  const user = kubeConfig.getCurrentUser();
  const tokenFile: unknown = user?.authProvider?.config?.tokenFile;
  for (const path of [kubeConfig.getCurrentCluster()?.caFile, user?.certFile, user?.keyFile, tokenFile]) {
    if (typeof path !== 'string') continue;
    try {
      readFile(path);
    } catch (cause) {
      throw configInvalid(field, `cannot read ${path}, to which the kubeconfig refers`, cause);
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
