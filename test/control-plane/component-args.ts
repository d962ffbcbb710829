import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CertificateAuthority, createSigningKeys } from './certificates.ts';

/** The group whose members may do everything (RBAC's bootstrap policy). */
const adminGroup = 'system:masters';

/** The files that the API server is started with. */
export interface ServerFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly tokens: string;
  readonly signingKey: string;
  readonly verifyKey: string;
}

/** Where the files of the control plane in `dir` are. */
export function serverFilesIn(dir: string): ServerFiles {
  return {
    ca: join(dir, 'ca.crt'),
    cert: join(dir, 'server.crt'),
    key: join(dir, 'server.key'),
    tokens: join(dir, 'tokens.csv'),
    signingKey: join(dir, 'service-account.key'),
    verifyKey: join(dir, 'service-account.pub'),
  };
}

/** Writes certificates, keys and the admin's token into `dir`. */
export async function writeServerFiles(
  dir: string,
  authority: CertificateAuthority,
  adminToken: string,
): Promise<ServerFiles> {
  const files = serverFilesIn(dir);
  const server = await authority.issue({
    commonName: 'kube-apiserver',
    hosts: ['127.0.0.1', '::1', 'localhost', 'kubernetes.default.svc'],
  });
  const signing = await createSigningKeys();
  await Promise.all([
    writeFile(files.ca, authority.cert),
    writeFile(files.cert, server.cert),
    writeFile(files.key, server.key, { mode: 0o600 }),
    writeFile(files.tokens, `${adminToken},admin,admin,"${adminGroup}"\n`, { mode: 0o600 }),
    writeFile(files.signingKey, signing.privateKey, { mode: 0o600 }),
    writeFile(files.verifyKey, signing.publicKey),
  ]);
  return files;
}

/** The address on which a control plane listens, as it stands before a port. With ::1 its Services have IPv6 alone, too. */
export type LoopbackHost = '127.0.0.1' | '[::1]';

export function etcdArgs(dataDir: string, clientPort: number, host: LoopbackHost = '127.0.0.1'): string[] {
  return [
    `--data-dir=${dataDir}`,
    `--listen-client-urls=http://${host}:${clientPort}`,
    `--advertise-client-urls=http://${host}:${clientPort}`,
    `--listen-peer-urls=http://${host}:0`,
    // The data is thrown away: a crash of the machine is no concern.
    '--unsafe-no-fsync',
    // A lone member elects itself after one election time-out. Each heartbeat wakes etcd, also when nothing happens.
    '--heartbeat-interval=30',
    '--election-timeout=300',
    '--log-level=warn',
  ];
}

export function apiServerArgs(
  files: ServerFiles,
  etcdPort: number,
  port: number,
  host: LoopbackHost = '127.0.0.1',
): string[] {
  const address = host === '[::1]' ? '::1' : host;
  return [
    `--etcd-servers=http://${host}:${etcdPort}`,
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    `--client-ca-file=${files.ca}`,
    `--token-auth-file=${files.tokens}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${files.signingKey}`,
    `--service-account-key-file=${files.verifyKey}`,
    `--service-cluster-ip-range=${address === '::1' ? 'fd00:10:96::/112' : '10.96.0.0/24'}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    // No client reads the endpoints of the kubernetes Service here.
    '--endpoint-reconciler-type=none',
  ];
}

export interface AuditFiles {
  readonly log: string;
  readonly policy: string;
}

/** Audit policy for `auditLog: true`: one entry with user, verb and object for each completed request. */
export const defaultAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
`;

export function auditArgs(files: AuditFiles): string[] {
  return [`--audit-log-path=${files.log}`, `--audit-policy-file=${files.policy}`, '--audit-log-mode=blocking'];
}

/**
 * Completes a scheduler's configuration (YAML in block style) with what it needs to run here; kube-scheduler ignores
 * `--kubeconfig` beside `--config`.
 */
export function completeSchedulerConfig(yaml: string, kubeconfig: string): string {
  const head = /^apiVersion:/m.test(yaml)
    ? ''
    : 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';
  const connection = /^clientConnection:/m.test(yaml) ? '' : `clientConnection:\n  kubeconfig: ${kubeconfig}\n`;
  const election = /^leaderElection:/m.test(yaml) ? '' : 'leaderElection:\n  leaderElect: false\n';
  return `${head}${yaml.trimEnd()}\n${connection}${election}`;
}

export function schedulerArgs(files: ServerFiles, kubeconfig: string, config: string, port: number): string[] {
  return [
    `--config=${config}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
  ];
}
