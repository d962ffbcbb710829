import { type Cluster, KubeConfig } from '@kubernetes/client-node';
import { AUTH_PROVIDER_CURE, authProviderProblem, ExecPlugin, usePlugin } from '@rollcall/common/exec-plugin.ts';
import { isClearText } from '@rollcall/common/loopback.ts';
import { CommandFailure, EXIT } from '../failure.ts';

export type ClusterFlags = { kubeconfig?: string | undefined; context?: string | undefined };

/** What the library takes where it finds nothing. */
const NO_CONFIG = { context: 'loaded-context', server: 'http://localhost:8080' };

/** How long a credential plugin may take: it may have to wait until a person has logged in. */
const PLUGIN_MS_MAX = 120_000;

/**
 * As kubectl finds it: the flag, then KUBECONFIG, then ~/.kube/config, then the pod that it runs in. `signal` ends a
 * credential plugin that runs.
 */
export function loadKubeConfig(
  { kubeconfig, context }: ClusterFlags,
  signal?: AbortSignal,
  pluginMsMax = PLUGIN_MS_MAX,
): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    const message = `The kubeconfig cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CommandFailure(message, 'pass another file with --kubeconfig', { cause });
  }
  if (config.getCurrentContext() === NO_CONFIG.context && config.getCurrentCluster()?.server === NO_CONFIG.server) {
    throw new CommandFailure('There is no kubeconfig', 'pass --kubeconfig, or set KUBECONFIG');
  }
  if (context !== undefined) {
    if (!config.getContextObject(context)) {
      const known = config.getContexts().map(({ name }) => name);
      throw new CommandFailure(`There is no context ${context}`, `choose one of: ${known.join(', ') || '(none)'}`);
    }
    config.setCurrentContext(context);
  }
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new CommandFailure('The kubeconfig names no cluster', 'choose a context with --context');
  refuseClearText(cluster);
  const problem = authProviderProblem(config);
  if (problem !== undefined) throw new CommandFailure(`The kubeconfig has ${problem}`, AUTH_PROVIDER_CURE);
  usePlugin(config, new ExecPlugin({ patienceMs: pluginMsMax, limitMs: pluginMsMax }, signal));
  return config;
}

/** A proxy has another address than the loopback address behind it. */
function refuseClearText({ server, proxyUrl }: Cluster): void {
  const url = URL.parse(server);
  if (url?.protocol !== 'http:' || (!isClearText(url) && !proxyUrl)) return;
  const what = isClearText(url) ? `The server "${url.origin}" of the kubeconfig` : 'The proxy-url of the kubeconfig';
  const cure = 'use https://; http:// is for loopback addresses only';
  throw new CommandFailure(`${what} would get credentials in clear text`, cure, { exitCode: EXIT.usage });
}
