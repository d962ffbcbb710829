import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { env } from 'node:process';
import { CodedError } from './coded-error.ts';

/** `users[].user.exec` of a kubeconfig. */
type ExecConfig = {
  apiVersion?: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  provideClusterInfo?: boolean;
};

/** A plugin, and the cluster that it gives credentials for. */
type PluginConfig = ExecConfig & { cluster: KubeCluster | null };

/** A cluster, a user and a configuration as the library for Kubernetes has them, which this package does not import. */
type KubeCluster = {
  readonly server: string;
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly skipTLSVerify?: boolean;
  readonly proxyUrl?: string;
};
type KubeUser = {
  readonly name: string;
  readonly exec?: ExecConfig | null;
  readonly authProvider?: { name: string; config: PluginConfig };
};
type KubeConfig = {
  users: KubeUser[];
  getCurrentCluster(): KubeCluster | null;
  addAuthenticator(authenticator: ExecPlugin): void;
};

type ExecCredential = {
  status: { token?: string; clientCertificateData?: string; clientKeyData?: string; expirationTimestamp?: string };
};

/** The name under which the library finds this authenticator; users with an `exec` would have the library's own. */
const EXEC_PROVIDER = 'exec-plugin';

const OUTPUT_CHARS_MAX = 1024 * 1024;

export type ExecLimits = {
  /** How long one caller waits, which is less than the time-out of a request. */
  patienceMs: number;
  /** How long one run may take; then it is killed. */
  limitMs: number;
};

/** A credential plugin of a kubeconfig: at most one process at a time, which is killed when it takes too long. */
export class ExecPlugin {
  readonly #limits: ExecLimits;
  readonly #signal: AbortSignal | undefined;
  #credential: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;

  /** `signal` kills the plugin before its time is up. */
  constructor(limits: ExecLimits = { patienceMs: 4000, limitMs: 30_000 }, signal?: AbortSignal) {
    this.#limits = limits;
    this.#signal = signal;
  }

  isAuthProvider(user: KubeUser): boolean {
    return user.authProvider?.name === EXEC_PROVIDER;
  }

  /** Throws KUBE_UNREACHABLE, which names the command. */
  async applyAuthentication(user: KubeUser, options: RequestOptions): Promise<void> {
    if (!user.authProvider) return;
    const { status } = await this.#current(user.authProvider.config);
    if (status.clientCertificateData) options.cert = status.clientCertificateData;
    if (status.clientKeyData) options.key = status.clientKeyData;
    if (status.token) options.headers = { ...options.headers, Authorization: `Bearer ${status.token}` };
  }

  /** The credential was not accepted: the next caller gets another. */
  renew(): void {
    this.#credential = undefined;
  }

  async #current(exec: PluginConfig): Promise<ExecCredential> {
    if (this.#credential && !hasExpired(this.#credential)) return this.#credential;
    if (!this.#running) {
      this.#running = runPlugin(exec, this.#limits.limitMs, this.#signal).finally(() => {
        this.#running = undefined;
      });
      this.#running.then(
        (credential) => {
          this.#credential = credential;
        },
        () => {},
      );
    }
    return withPatience(this.#running, this.#limits.patienceMs, exec);
  }
}

/**
 * Lets `plugin` run the plugins of a kubeconfig, for its current cluster. The library would run one for each caller,
 * without a time limit.
 */
export function usePlugin(kubeConfig: KubeConfig, plugin: ExecPlugin): void {
  kubeConfig.addAuthenticator(plugin);
  const cluster = kubeConfig.getCurrentCluster();
  kubeConfig.users = kubeConfig.users.map(({ exec, ...user }) =>
    exec ? { ...user, authProvider: { name: EXEC_PROVIDER, config: { ...exec, cluster } } } : user,
  );
}

function hasExpired({ status }: ExecCredential): boolean {
  return status.expirationTimestamp !== undefined && !(Date.parse(status.expirationTimestamp) > Date.now());
}

function failure(exec: ExecConfig, problem: string, cause?: unknown): CodedError {
  const { command } = exec;
  const message = `The credential plugin ${command} ${problem}`;
  return new CodedError('KUBE_UNREACHABLE', message, { cause, fields: { command } });
}

async function withPatience<T>(running: Promise<T>, patienceMs: number, exec: ExecConfig): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(failure(exec, `has not answered for ${patienceMs / 1000} s`)), patienceMs);
  try {
    return await Promise.race([running, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The text of KUBERNETES_EXEC_INFO, as kubectl sets it. Not in it is `spec.cluster.config`: the library leaves out
 * extensions of a cluster. Format: client-authentication.v1.
 */
async function execInfo({ apiVersion, provideClusterInfo, cluster }: PluginConfig): Promise<string> {
  const spec = {
    // A plugin has no standard input.
    interactive: false,
    cluster: provideClusterInfo && cluster ? await clusterInfo(cluster) : undefined,
  };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
}

async function clusterInfo({ server, caData, caFile, tlsServerName, skipTLSVerify, proxyUrl }: KubeCluster) {
  return {
    server,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': skipTLSVerify || undefined,
    'certificate-authority-data': caData ?? (caFile && (await readFile(caFile, 'base64'))),
    'proxy-url': proxyUrl,
  };
}

/** Runs the plugin in a process group of its own, so that its children are killed with it. */
async function runPlugin(exec: PluginConfig, limitMs: number, signal?: AbortSignal): Promise<ExecCredential> {
  const own = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]));
  const info = await execInfo(exec);
  const plugin = spawn(exec.command, exec.args ?? [], {
    env: { ...env, ...own, KUBERNETES_EXEC_INFO: info },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const kill = () => {
    try {
      if (plugin.pid !== undefined) process.kill(-plugin.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const giveUp = (problem: string) => {
    kill();
    plugin.stdout.destroy();
    plugin.stderr.destroy();
    reject(failure(exec, `${problem} and was killed`));
  };
  const timer = setTimeout(() => giveUp(`did not answer within ${limitMs / 1000} s`), limitMs);
  timer.unref();
  const interrupt = () => giveUp('was interrupted');
  signal?.addEventListener('abort', interrupt);
  if (signal?.aborted) interrupt();
  process.once('exit', kill);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    plugin[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      if (output[name].length > OUTPUT_CHARS_MAX) giveUp(`printed more than ${OUTPUT_CHARS_MAX} characters`);
    });
  }
  plugin.once('error', (err) => reject(failure(exec, `could not be started: ${err.message}`, err)));
  plugin.once('close', (code, killedBy) => {
    const words = output.stderr.trim().slice(0, 500);
    const end = `ended with ${killedBy ?? `code ${code}`}${words === '' ? '' : `: ${words}`}`;
    if (code === 0) resolve(output.stdout);
    else reject(failure(exec, end));
  });
  try {
    return parseCredential(exec, await promise);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', interrupt);
    process.off('exit', kill);
  }
}

/** Throws KUBE_UNREACHABLE for what is not a credential. */
function parseCredential(exec: ExecConfig, text: string): ExecCredential {
  let status: ExecCredential['status'] | undefined;
  try {
    status = (JSON.parse(text) as Partial<ExecCredential>).status;
  } catch (cause) {
    throw failure(exec, 'did not print an ExecCredential', cause);
  }
  if (!status) throw failure(exec, 'did not print an ExecCredential');
  if (status.token || status.clientCertificateData) return { status };
  throw failure(exec, 'printed neither a token nor a client certificate');
}

/** What the library knows as `auth-provider`; a `tokenFile` is one for it as well. */
const AUTH_PROVIDERS: readonly string[] = ['azure', 'exec', 'gcp', 'oidc', 'tokenFile'];

export const AUTH_PROVIDER_CURE = 'use a token, a tokenFile, a client certificate or a credential plugin (exec)';

type WithUser = { getCurrentUser(): { readonly authProvider?: { name?: unknown } | null } | null };

/** Why the current user could not log in: the library would send no credentials, which the API server answers with 401. */
export function authProviderProblem(config: WithUser): string | undefined {
  const name = config.getCurrentUser()?.authProvider?.name;
  if (name === undefined || AUTH_PROVIDERS.includes(String(name))) return undefined;
  return `the auth-provider "${String(name)}", which is not supported`;
}
