import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import { join } from 'node:path';
import { ApiClient } from './api-client.ts';
import type { BinaryName } from './binaries.ts';
import { type CertificateAuthority, createCertificateAuthority } from './certificates.ts';
import { Component } from './component.ts';
import {
  apiServerArgs,
  auditArgs,
  completeSchedulerConfig,
  defaultAuditPolicy,
  etcdArgs,
  type LoopbackHost,
  schedulerArgs,
  serverFilesIn,
  writeServerFiles,
} from './component-args.ts';
import type { ControlPlane } from './control-plane.ts';
import { type Credential, writeKubeconfig } from './kubeconfig.ts';
import { freePort } from './ports.ts';

/** Whom RBAC's bootstrap policy lets schedule. */
export const SCHEDULER_USER = 'system:kube-scheduler';

export interface LaunchOptions {
  /** Where etcd and the API server listen; defaults to `127.0.0.1`. */
  readonly host?: LoopbackHost;
  readonly scheduler?: boolean | { readonly configYaml: string };
  readonly apiServerArgs?: readonly string[];
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly auditLog?: boolean | { readonly policyYaml: string };
}

/** The running processes of one control plane, and what they were started with. */
export interface Launched {
  readonly url: string;
  readonly authority: CertificateAuthority;
  readonly caFile: string;
  readonly adminToken: string;
  readonly api: ApiClient;
  readonly auditLogFile: string | undefined;
  readonly etcdPort: number;
  readonly etcd: Component;
  readonly apiServer: Component;
  readonly scheduler: Component | undefined;
  stop(): Promise<void>;
}

/**
 * Starts the processes with all their files in `dir`, and waits until they are ready. Nothing runs any more when it
 * throws. @throws {PortTakenError} when another process was faster to take a port; another attempt may succeed.
 */
export async function launch(
  binaries: Readonly<Partial<Record<BinaryName, string>>>,
  dir: string,
  options: LaunchOptions,
): Promise<Launched> {
  const authority = await createCertificateAuthority('rollcall test CA');
  const adminToken = randomBytes(24).toString('hex');
  const files = await writeServerFiles(dir, authority, adminToken);
  const [etcdPort, port] = [await freePort(), await freePort()];
  const { host = '127.0.0.1' } = options;
  const url = `https://${host}:${port}`;
  const api = new ApiClient({ url, ca: authority.cert, token: adminToken });
  const auditLogFile = options.auditLog ? join(dir, 'audit.log') : undefined;

  const component = (name: BinaryName, args: readonly string[], isReady: () => Promise<boolean>) =>
    new Component({
      name,
      command: binaries[name] ?? name,
      args,
      logFile: join(dir, `${name}.log`),
      cwd: dir,
      isReady,
    });
  const etcd = component('etcd', etcdArgs(join(dir, 'etcd'), etcdPort, host), () =>
    isPlainHealthy(`http://${host}:${etcdPort}/readyz`),
  );
  const extraArgs = await optionalApiServerArgs(dir, auditLogFile, options);
  const apiServer = component('kube-apiserver', [...apiServerArgs(files, etcdPort, port, host), ...extraArgs], () =>
    isApiServerReady(api),
  );
  const running = [etcd, apiServer];
  let scheduler: Component | undefined;
  const stop = async () => {
    api.close();
    await Promise.all(running.map((each) => each.kill('SIGKILL')));
  };
  try {
    await etcd.start();
    await apiServer.start();
    if (options.scheduler) {
      const configYaml = options.scheduler === true ? '' : options.scheduler.configYaml;
      const kubeconfig = join(dir, 'scheduler.kubeconfig');
      const credential: Credential = { clientCert: await authority.issue({ commonName: SCHEDULER_USER }) };
      await writeKubeconfig(kubeconfig, url, authority.cert, credential);
      const command = binaries['kube-scheduler'] ?? 'kube-scheduler';
      scheduler = await anotherScheduler(
        { dir, ca: authority.cert },
        { name: 'kube-scheduler', command, kubeconfig, configYaml },
      );
      running.push(scheduler);
      await scheduler.start();
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const common = { url, authority, caFile: files.ca, adminToken, api, auditLogFile, etcdPort };
  return { ...common, etcd, apiServer, scheduler, stop };
}

/**
 * Another API server of the control plane in `dir`, which keeps everything in the same etcd, seen at `etcdPort`. It takes
 * the same tokens, and has the same certificates. Not started yet.
 */
export function anotherApiServer(
  { dir, binaries, ca, adminToken }: Pick<ControlPlane, 'dir' | 'binaries' | 'ca' | 'adminToken'>,
  { etcdPort, port }: { etcdPort: number; port: number },
): { url: string; component: Component } {
  const url = `https://127.0.0.1:${port}`;
  const api = new ApiClient({ url, ca, token: adminToken });
  const component = new Component({
    name: 'kube-apiserver',
    command: binaries['kube-apiserver'],
    args: apiServerArgs(serverFilesIn(dir), etcdPort, port),
    logFile: join(dir, `kube-apiserver-${port}.log`),
    cwd: dir,
    isReady: () => isApiServerReady(api),
  });
  return { url, component };
}

/**
 * A kube-scheduler of the control plane in `dir`, with a KubeSchedulerConfiguration (block-style YAML) and files of its
 * own, after its name. Not started yet.
 */
export async function anotherScheduler(
  { dir, ca }: Pick<ControlPlane, 'dir' | 'ca'>,
  { name, command, kubeconfig, configYaml }: { name: string; command: string; kubeconfig: string; configYaml: string },
): Promise<Component> {
  const port = await freePort();
  const config = join(dir, `${name}.yaml`);
  await writeFile(config, completeSchedulerConfig(configYaml, kubeconfig));
  const probe = new ApiClient({ url: `https://127.0.0.1:${port}`, ca });
  return new Component({
    name,
    command,
    args: schedulerArgs(serverFilesIn(dir), kubeconfig, config, port),
    logFile: join(dir, `${name}.log`),
    cwd: dir,
    async isReady() {
      const isReady = (await probe.exchange('GET', '/readyz')).status === 200;
      if (isReady) probe.close();
      return isReady;
    },
  });
}

async function optionalApiServerArgs(
  dir: string,
  auditLogFile: string | undefined,
  options: LaunchOptions,
): Promise<string[]> {
  const args: string[] = [];
  if (auditLogFile !== undefined) {
    const policy = join(dir, 'audit-policy.yaml');
    await writeFile(policy, typeof options.auditLog === 'object' ? options.auditLog.policyYaml : defaultAuditPolicy);
    args.push(...auditArgs({ log: auditLogFile, policy }));
  }
  const gates = Object.entries(options.featureGates ?? {});
  if (gates.length > 0) args.push(`--feature-gates=${gates.map(([name, on]) => `${name}=${on}`).join(',')}`);
  return [...args, ...(options.apiServerArgs ?? [])];
}

/** Ready is also that the default namespace is there; it is made a moment after /readyz says yes. */
async function isApiServerReady(api: ApiClient): Promise<boolean> {
  const ready = await api.exchange('GET', '/readyz');
  if (ready.status !== 200) return false;
  return (await api.exchange('GET', '/api/v1/namespaces/default')).status === 200;
}

function isPlainHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const outgoing = httpGet(url, { agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => resolve(false));
  });
}
