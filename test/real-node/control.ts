import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import { join } from 'node:path';
import { ApiClient } from '../control-plane/api-client.ts';
import type { Binaries } from '../control-plane/binaries.ts';
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type KeyPairPem,
} from '../control-plane/certificates.ts';
import { Component } from '../control-plane/component.ts';
import { etcdArgs, type ServerFiles, writeServerFiles } from '../control-plane/component-args.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { freePort } from '../control-plane/ports.ts';
import { type KeyPairFiles, writeKeyPair } from './key-pair.ts';
import type { Place } from './place.ts';

/*
 * What the nodes and the tests of a product need. Fewer controllers are there sooner: each starts by asking for a token
 * and listing what it cares for.
 */
const controllers = [
  'daemonset-controller',
  'deployment-controller',
  'replicaset-controller',
  'job-controller',
  'disruption-controller',
  'endpointslice-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'garbage-collector-controller',
  'pod-garbage-collector-controller',
  'node-lifecycle-controller',
  'taint-eviction-controller',
  'ttl-after-finished-controller',
];

export interface Control {
  readonly url: string;
  readonly authority: CertificateAuthority;
  readonly caFile: string;
  /** May do everything. */
  readonly api: ApiClient;
  readonly kubeconfig: string;
  readonly adminToken: string;
  /** Kubeconfig of an identity, at a path below the run's directory. */
  kubeconfigFor(name: string, user: string, groups?: readonly string[]): Promise<string>;
  readonly etcd: Component;
  readonly apiServer: Component;
  /** With which the API server signs the tokens of service accounts. */
  readonly signingKeyFile: string;
  stop(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler in the network of the host; the API server
 * listens on the bridge only, where nodes and pods reach it.
 */
export async function startControl(
  place: Place,
  binaries: Binaries & { readonly 'kube-controller-manager': string },
  without: readonly string[] = [],
): Promise<Control> {
  const dir = join(place.dir, 'control');
  await mkdir(dir);
  const authority = await createCertificateAuthority('rollcall test CA');
  const adminToken = randomBytes(24).toString('hex');
  const files = await writeServerFiles(dir, authority, adminToken);
  const hosts = [place.hostIp, place.serviceIp, 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const serving = await writeKeyPair(dir, 'api', await authority.issue({ commonName: 'kube-apiserver', hosts }));
  const toKubelets: KeyPairPem = await authority.issue({
    commonName: 'kube-apiserver-kubelet-client',
    organizations: ['system:masters'],
  });
  const kubeletClient = await writeKeyPair(dir, 'kubelet-client', toKubelets);

  const [etcdPort, port] = [await freePort(), await freePort()];
  const url = `https://${place.hostIp}:${port}`;
  const api = new ApiClient({ url, ca: authority.cert, token: adminToken });
  const kubeconfig = join(dir, 'admin.kubeconfig');
  await writeKubeconfig(kubeconfig, url, authority.cert, { token: adminToken });
  const kubeconfigFor = async (name: string, user: string, groups: readonly string[] = []) => {
    const file = join(dir, `${name}.kubeconfig`);
    const clientCert = await authority.issue({ commonName: user, organizations: groups });
    await writeKubeconfig(file, url, authority.cert, { clientCert });
    return file;
  };

  const component = (name: keyof typeof binaries, args: readonly string[], isReady: () => Promise<boolean>) =>
    new Component({ name, command: binaries[name], args, logFile: join(place.dir, `${name}.log`), cwd: dir, isReady });
  const etcd = component('etcd', etcdArgs(join(dir, 'etcd'), etcdPort), () => isHealthy(etcdPort));
  const apiServer = component(
    'kube-apiserver',
    apiServerArgs(place, files, { serving, kubeletClient }, etcdPort, port),
    () => isReady(api, '/api/v1/namespaces/default'),
  );
  const managerConfig = await kubeconfigFor('controller-manager', 'system:kube-controller-manager');
  const manager = component('kube-controller-manager', managerArgs(place, files, managerConfig, without), () =>
    isReady(api, '/api/v1/namespaces/default/serviceaccounts/default'),
  );
  const schedulerConfig = await kubeconfigFor('scheduler', 'system:kube-scheduler');
  const schedulerArgs = [`--kubeconfig=${schedulerConfig}`, '--secure-port=0', '--leader-elect=false'];
  const scheduler = component('kube-scheduler', schedulerArgs, async () => true);

  const stop = async () => {
    api.close();
    await Promise.all([manager, scheduler, apiServer, etcd].map((each) => each.kill('SIGKILL')));
  };
  try {
    await etcd.start();
    await apiServer.start();
    await Promise.all([manager.start(), scheduler.start()]);
  } catch (error) {
    await stop();
    throw error;
  }
  const signingKeyFile = files.signingKey;
  const shown = { url, authority, caFile: files.ca, api, kubeconfig, adminToken, signingKeyFile };
  return { ...shown, etcd, apiServer, kubeconfigFor, stop };
}

function apiServerArgs(
  place: Place,
  files: ServerFiles,
  certificates: { readonly serving: KeyPairFiles; readonly kubeletClient: KeyPairFiles },
  etcdPort: number,
  port: number,
): string[] {
  const { serving, kubeletClient } = certificates;
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--bind-address=${place.hostIp}`,
    `--advertise-address=${place.hostIp}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${files.ca}`,
    `--token-auth-file=${files.tokens}`,
    `--kubelet-client-certificate=${kubeletClient.cert}`,
    `--kubelet-client-key=${kubeletClient.key}`,
    `--kubelet-certificate-authority=${files.ca}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${files.signingKey}`,
    `--service-account-key-file=${files.verifyKey}`,
    `--service-cluster-ip-range=${place.serviceCidr}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
  ];
}

function managerArgs(place: Place, files: ServerFiles, kubeconfig: string, without: readonly string[]): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--secure-port=0',
    '--leader-elect=false',
    '--use-service-account-credentials',
    `--service-account-private-key-file=${files.signingKey}`,
    `--root-ca-file=${files.ca}`,
    `--cluster-cidr=${place.podCidr}`,
    '--allocate-node-cidrs=false',
    `--controllers=${controllers.filter((name) => !without.includes(name)).join(',')}`,
    // With those that it has by default it takes five seconds more to be useful.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    // A node that is lost is noticed in ten to fifteen seconds instead of fifty.
    '--node-monitor-grace-period=15s',
  ];
}

async function isReady(api: ApiClient, path: string): Promise<boolean> {
  if ((await api.exchange('GET', '/readyz')).status !== 200) return false;
  return (await api.exchange('GET', path)).status === 200;
}

function isHealthy(etcdPort: number): Promise<boolean> {
  return new Promise((resolve) => {
    const outgoing = httpGet(`http://127.0.0.1:${etcdPort}/readyz`, { agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => resolve(false));
  });
}
