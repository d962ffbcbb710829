import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from './api-client.ts';
import { type Binaries, type BinaryName, ensureBinaries } from './binaries.ts';
import { removeDirOnExit } from './child.ts';
import { PortTakenError } from './component.ts';
import { isAlive } from './file-lock.ts';
import { type Credential, writeKubeconfig } from './kubeconfig.ts';
import { runKubectl } from './kubectl.ts';
import { type Launched, type LaunchOptions, launch } from './launch.ts';
import { sumSamples } from './metrics-text.ts';
import type { ProgressStream } from './progress.ts';

/**
 * - `scheduler`: whether a kube-scheduler runs, and with which KubeSchedulerConfiguration (block-style YAML; what it
 *   needs to reach the API server is added).
 * - `apiServerArgs`: put behind the usual ones, so that they win.
 * - `auditLog`: whether the API server writes `auditLogFile`, and by which policy; defaults to level Metadata.
 */
export interface ControlPlaneOptions extends LaunchOptions {
  /** Where the progress of obtaining binaries is shown; defaults to standard error. */
  readonly log?: ProgressStream;
  /** Directory for all files, which the caller owns and removes. Defaults to a temporary directory. */
  readonly dir?: string;
}

/** Who a kubeconfig speaks as: the bearer of a token, or a user by client certificate. */
type Identity = string | { readonly user: string; readonly groups?: readonly string[] };

export interface ControlPlane {
  /** `https://127.0.0.1:<port>`, or another host as told; stays the same over restarts. */
  readonly url: string;
  readonly caFile: string;
  /** PEM. */
  readonly ca: string;
  /** Path of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  readonly adminToken: string;
  readonly dir: string;
  readonly binaries: Binaries<'etcd' | 'kube-apiserver' | 'kubectl'>;
  /** A client that may do everything. */
  readonly api: ApiClient;
  readonly auditLogFile: string | undefined;
  /** Where etcd takes clients, in plain, on the same host. */
  readonly etcdPort: number;
  readonly etcdPid: number | undefined;
  readonly apiServerPid: number | undefined;
  readonly schedulerPid: number | undefined;
  /** Creates a client with another identity. The caller closes it. */
  clientFor(identity: Identity): Promise<ApiClient>;
  /** Writes a kubeconfig and returns its path, by default one below `dir`. */
  kubeconfigFor(identity: Identity, path?: string): Promise<string>;
  /** Runs kubectl as admin and returns its standard output. @throws with its standard error. */
  kubectl(args: readonly string[], options?: { stdin?: string }): Promise<string>;
  /** Defaults to `SIGKILL`; waits until it is gone, or stands still (SIGSTOP). */
  killApiServer(signal?: NodeJS.Signals): Promise<void>;
  /** Also when it does not run; waits until it is ready. */
  restartApiServer(): Promise<void>;
  killEtcd(signal?: NodeJS.Signals): Promise<void>;
  restartEtcd(): Promise<void>;
  /** The API server's metrics in Prometheus text. */
  metrics(): Promise<string>;
  /** Sum of `apiserver_request_total` over the samples with these labels; an apply patch has the verb `APPLY`. */
  requestTotals(filter: Readonly<Record<string, string>>): Promise<number>;
  /** Kills every process and removes the directory; may be called again. */
  stop(): Promise<void>;
}

const dirPrefix = 'rollcall-control-plane-';
const attemptsMax = 5;
const leftoverAfterMs = 600_000;

/**
 * Starts a real etcd and kube-apiserver (and kube-scheduler) on free loopback ports and waits until they are ready. No
 * controller-manager runs: nothing makes service accounts, deletes the content of namespaces, or collects garbage.
 * @throws with the last lines of the log of the component that failed.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const names: BinaryName[] = ['etcd', 'kube-apiserver', 'kubectl'];
  if (options.scheduler) names.push('kube-scheduler');
  const binaries = await ensureBinaries({ names, ...(options.log === undefined ? {} : { log: options.log }) });
  await removeLeftovers();
  for (let attempt = 1; ; attempt++) {
    const workplace = await openWorkplace(options.dir);
    try {
      const launched = await launch(binaries, workplace.dir, options);
      return await describe(launched, binaries, workplace);
    } catch (error) {
      await workplace.close();
      if (!(error instanceof PortTakenError) || attempt === attemptsMax) throw error;
    }
  }
}

interface Workplace {
  readonly dir: string;
  close(): Promise<void>;
}

async function openWorkplace(given: string | undefined): Promise<Workplace> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true });
    return { dir: given, close: async () => {} };
  }
  const dir = await mkdtemp(join(tmpdir(), `${dirPrefix}${process.pid}-`));
  const keep = removeDirOnExit(dir);
  return {
    dir,
    async close() {
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
      keep();
    },
  };
}

async function describe(
  launched: Launched,
  binaries: ControlPlane['binaries'],
  workplace: Workplace,
): Promise<ControlPlane> {
  const { url, authority, adminToken, api, etcd, apiServer, scheduler } = launched;
  const { dir } = workplace;
  const kubeconfig = join(dir, 'admin.kubeconfig');
  await writeKubeconfig(kubeconfig, url, authority.cert, { token: adminToken });
  let kubeconfigs = 0;

  async function credentialOf(identity: Identity): Promise<Credential> {
    if (typeof identity === 'string') return { token: identity };
    const organizations = identity.groups ?? [];
    return { clientCert: await authority.issue({ commonName: identity.user, organizations }) };
  }

  return {
    url,
    caFile: launched.caFile,
    ca: authority.cert,
    kubeconfig,
    adminToken,
    dir,
    binaries,
    api,
    auditLogFile: launched.auditLogFile,
    etcdPort: launched.etcdPort,
    get etcdPid() {
      return etcd.pid;
    },
    get apiServerPid() {
      return apiServer.pid;
    },
    get schedulerPid() {
      return scheduler?.pid;
    },
    async clientFor(identity) {
      return new ApiClient({ url, ca: authority.cert, ...(await credentialOf(identity)) });
    },
    async kubeconfigFor(identity, path) {
      const file = path ?? join(dir, `${++kubeconfigs}.kubeconfig`);
      await writeKubeconfig(file, url, authority.cert, await credentialOf(identity));
      return file;
    },
    kubectl: (args, { stdin } = {}) => runKubectl({ command: binaries.kubectl, kubeconfig, home: dir }, args, stdin),
    killApiServer: (signal = 'SIGKILL') => apiServer.kill(signal),
    restartApiServer: () => apiServer.restart(),
    killEtcd: (signal = 'SIGKILL') => etcd.kill(signal),
    restartEtcd: () => etcd.restart(),
    metrics: () => api.text('GET', '/metrics'),
    async requestTotals(filter) {
      return sumSamples(await api.text('GET', '/metrics'), 'apiserver_request_total', filter);
    },
    async stop() {
      await launched.stop();
      await workplace.close();
    },
  };
}

/** What processes that were killed outright could not remove: directories named after a process that is gone. */
async function removeLeftovers(): Promise<void> {
  for (const entry of await readdir(tmpdir())) {
    if (!entry.startsWith(dirPrefix)) continue;
    const pid = Number.parseInt(entry.slice(dirPrefix.length), 10);
    const dir = join(tmpdir(), entry);
    const { mtimeMs } = await stat(dir).catch(() => ({ mtimeMs: Date.now() }));
    if (!isAlive(pid) && Date.now() - mtimeMs > leftoverAfterMs) await rm(dir, { recursive: true, force: true });
  }
}
