import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { COORDINATOR_SERVICE_NAME } from '@rollcall/common/well-known.ts';
import type { KubeClient } from '../kube/client.ts';
import type { LeaderRequests } from '../kube/leader-requests.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import { CertificateHolder } from './certificate-holder.ts';
import { CertificateStore } from './certificate-store.ts';
import { FileCertificates } from './file-certificates.ts';
import type { CertificateMetrics } from './metrics.ts';

/** A kubelet brings a changed ConfigMap into a pod within about two minutes, and an agent re-reads it at each report. */
const PROPAGATION_MS = 600_000;

export type ReportsTlsOptions = {
  config: CoordinatorConfig;
  environment: CoordinatorEnvironment;
  client: KubeClient;
  requests: LeaderRequests;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  metrics: CertificateMetrics;
};

export type ReportsTls = {
  certificates: CertificateHolder;
  /** This replica has begun to lead, and looks after the certificates. */
  lead: () => void;
  /** Until the signal aborts. */
  run: () => Promise<void>;
};

/**
 * The certificate for reports: from files, or the coordinator's own; `undefined` where TLS is off. Throws
 * CONFIG_INVALID when the files are no good.
 */
export async function prepareReportsTls(options: ReportsTlsOptions): Promise<ReportsTls | undefined> {
  const { config, environment, signal } = options;
  const isUsed = config.schedulerTls === 'on' || (config.agents && config.reportsListen !== 'off');
  if (config.tls === 'off' || !isUsed) return undefined;
  const certificates = new CertificateHolder();
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = config;
  if (certFile !== undefined && keyFile !== undefined) {
    const files = new FileCertificates({ ...options, certFile, keyFile, certificates });
    await files.load();
    return { certificates, lead: () => {}, run: () => files.run(signal) };
  }
  const namespace = environment.ownNamespace;
  const policy = { names: servedNames(namespace), propagationMs: PROPAGATION_MS };
  const store = new CertificateStore({ ...options, namespace, certificates, policy });
  return { certificates, lead: store.wake, run: () => store.run() };
}

/** What agents call the coordinator: the names of its Service, and this machine for trying things by hand. */
function servedNames(namespace: string): readonly string[] {
  const service = COORDINATOR_SERVICE_NAME;
  const names = [service, `${service}.${namespace}`, `${service}.${namespace}.svc`];
  return [...names, `${service}.${namespace}.svc.cluster.local`, 'localhost', '127.0.0.1', '::1'];
}
