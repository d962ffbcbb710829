import type { Clock } from '@rollcall/common/clock.ts';
import { type ListenAddress, listen } from '@rollcall/common/http-server.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import type { KubeClient } from '../kube/client.ts';
import { readTokenIssuer, reviewToken } from '../kube/token-review.ts';
import type { Fleet } from '../state/fleet.ts';
import type { CertificateHolder } from '../tls/certificate-holder.ts';
import { BearerAuth } from './bearer-auth.ts';
import type { IngestMetrics } from './metrics.ts';
import { type Leadership, ReportHandler } from './report-handler.ts';
import { createReportsServer } from './reports-server.ts';
import { SigningKeys } from './signing-keys.ts';

const REVIEW_TIMEOUT_MS = 5000;
const STOP_GRACE_MS = 500;

export type ReportHandling = {
  client: KubeClient;
  fleet: Fleet;
  agentServiceAccount: string;
  localTokenVerification: boolean;
  /** Whether what is known of pods and Nodes may be old. */
  isStale: () => boolean;
  leadership: Leadership;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: IngestMetrics;
};

type ReportsOptions = {
  handling: ReportHandling;
  address: NonNullable<ListenAddress>;
  /** Absent without TLS. */
  certificates: CertificateHolder | undefined;
};

export type ReportsListener = {
  /** The bound address. */
  address: { host: string; port: number };
  stop: () => Promise<void>;
};

/** Opens the listener that takes reports. Until there is a certificate, no client gets further than the handshake. */
export async function openReports(options: ReportsOptions): Promise<ReportsListener> {
  const { handling, certificates } = options;
  const { metrics } = handling;
  const handler = createReportHandler(handling);
  const reports = createReportsServer({ handler, metrics, ...(certificates ? { certificates } : {}) });
  const address = await listen(reports.server, options.address);
  return {
    address,
    async stop() {
      reports.drain();
      await reports.stop(STOP_GRACE_MS);
    },
  };
}

/** Handles reports, independent of the server that receives them. */
export function createReportHandler(options: ReportHandling): ReportHandler {
  const { client, fleet, clock, logger, metrics } = options;
  const [, , namespace = ''] = options.agentServiceAccount.split(':');
  const keys = new SigningKeys({ read: () => readTokenIssuer(client), clock, logger });
  if (options.localTokenVerification) void keys.refresh();
  const auth = new BearerAuth({
    ...(options.localTokenVerification ? { signature: (token, claims) => keys.judge(token, claims) } : {}),
    review: (token) => reviewToken(client, token, REPORT_AUDIENCE, { timeoutMs: REVIEW_TIMEOUT_MS }),
    username: options.agentServiceAccount,
    agentPodNode: (pod) => fleet.agentPodNode({ namespace, ...pod }),
    agents: () => fleet.agentPods.size,
    isStale: options.isStale,
    clock,
    random: options.random,
    onVerified: (result) => metrics.verified(result),
    onReview: (result) => metrics.reviewed(result),
  });
  return new ReportHandler({
    leadership: options.leadership,
    authenticate: (token) => auth.authenticate(token),
    nodeUid: (name) => fleet.node(name)?.uid,
    accept: (report, sender) => fleet.accept(report, sender),
    clock,
    logger,
    metrics,
  });
}
