import type { Clock } from '@rollcall/common/clock.ts';
import { type ListenAddress, listen } from '@rollcall/common/http-server.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import type { Fleet } from './fleet/fleet.ts';
import { BearerAuth } from './ingest/bearer-auth.ts';
import type { IngestMetrics } from './ingest/metrics.ts';
import { type Leadership, ReportHandler } from './ingest/report-handler.ts';
import { createReportsServer } from './ingest/reports-server.ts';
import type { KubeClient } from './kube/client.ts';
import { reviewToken } from './kube/token-review.ts';
import type { CertificateHolder } from './tls/certificate-holder.ts';

const REVIEW_TIMEOUT_MS = 5000;
const STOP_GRACE_MS = 500;

export type ReportsOptions = {
  address: NonNullable<ListenAddress>;
  /** Absent without TLS. */
  certificates: CertificateHolder | undefined;
  client: KubeClient;
  fleet: Fleet;
  agentServiceAccount: string;
  leadership: Leadership;
  clock: Clock;
  logger: Logger;
  metrics: IngestMetrics;
};

export type ReportsListener = {
  /** As bound. */
  address: { host: string; port: number };
  /** Whoever holds a token of this pod is no longer vouched for. */
  forgetPod: (podUid: string) => void;
  stop: () => Promise<void>;
};

/** Opens the listener that takes reports. Until there is a certificate, no client gets further than the handshake. */
export async function openReports(options: ReportsOptions): Promise<ReportsListener> {
  const { client, fleet, clock, logger, metrics, certificates } = options;
  const auth = new BearerAuth({
    review: (token) => reviewToken(client, token, REPORT_AUDIENCE, { timeoutMs: REVIEW_TIMEOUT_MS }),
    username: options.agentServiceAccount,
    agentPod: (name, uid) => {
      const nodeName = fleet.agentPodNode(name, uid);
      return nodeName === undefined ? undefined : { nodeName };
    },
    clock,
    onReview: (result) => metrics.reviewed(result),
  });
  const handler = new ReportHandler({
    leadership: options.leadership,
    authenticate: (token) => auth.authenticate(token),
    nodeUid: (name) => fleet.node(name)?.uid,
    accept: (report, sender) => fleet.accept(report, sender),
    clock,
    logger,
    metrics,
  });
  const reports = createReportsServer({ handler, metrics, ...(certificates ? { certificates } : {}) });
  const address = await listen(reports.server, options.address);
  return {
    address,
    forgetPod: (podUid) => auth.forgetPod(podUid),
    async stop() {
      reports.drain();
      await reports.stop(STOP_GRACE_MS);
    },
  };
}
