import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { listen } from '@rollcall/common/http-server.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { BearerAuth } from '@rollcall/coordinator/ingest/bearer-auth.ts';
import { IngestMetrics } from '@rollcall/coordinator/ingest/metrics.ts';
import { ReportHandler, type ReportSender } from '@rollcall/coordinator/ingest/report-handler.ts';
import { type Answer, send } from '@rollcall/coordinator/ingest/reports-server.test-fixtures.ts';
import { createReportsServer, type ReportsServer } from '@rollcall/coordinator/ingest/reports-server.ts';
import { SigningKeys } from '@rollcall/coordinator/ingest/signing-keys.ts';
import { readTokenIssuer, reviewToken } from '@rollcall/coordinator/kube/token-review.ts';
import { createNode, createPod, type PodObject } from '../../control-plane/cluster.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../../control-plane/control-plane.ts';
import {
  agentServiceAccount,
  installAccess,
  ownNamespace,
  reportAudience,
  requestAgentToken,
} from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type CountingClient, connect, Mirror } from '../kube/rig.ts';

const username = `system:serviceaccount:${ownNamespace}:${agentServiceAccount}`;

type AgentPod = PodObject & { metadata: { uid?: string } };

/** The agent's pod of a node and its token, both as in a cluster. */
export type StagedAgent = { node: string; pod: AgentPod; token: string };

export type AuthOptions = {
  /** Whether signatures are checked by the API server's keys. */
  local: boolean;
  clock?: Clock;
};

/** The product's listener for reports in front of a real API server, whose Nodes and pods of agents it watches. */
export class AuthStage {
  readonly controlPlane: ControlPlane;
  readonly senders: ReportSender[] = [];
  readonly #coordinator: CountingClient;
  readonly #nodes: Mirror;
  readonly #pods: Mirror;
  readonly #reports: ReportsServer;
  readonly #initial: AuthOptions;
  #auth: BearerAuth;
  #port = 0;
  #sequence = 0;

  private constructor(controlPlane: ControlPlane, kubeconfig: string, initial: AuthOptions) {
    this.controlPlane = controlPlane;
    this.#coordinator = connect(controlPlane, { kubeconfig });
    this.#nodes = new Mirror(this.#coordinator, '/api/v1/nodes', { metadataOnly: true });
    this.#pods = new Mirror(this.#coordinator, `/api/v1/namespaces/${ownNamespace}/pods`);
    this.#initial = initial;
    this.#auth = this.#newAuth(initial);
    const metrics = new IngestMetrics(new Registry());
    const handler = new ReportHandler({
      leadership: { role: () => ({ leading: true }), synced: () => true },
      authenticate: (token) => this.#auth.authenticate(token),
      nodeUid: (name) => this.#nodes.objects.get(`/${name}`)?.metadata.uid,
      accept: (_report, sender) => {
        this.senders.push(sender);
        return { result: 'heartbeat', reply: { nextReportSeconds: 10 } };
      },
      clock: systemClock,
      logger: silentLogger(),
      metrics,
      rateLimit: { burst: 1000, intervalMs: 1 },
    });
    this.#reports = createReportsServer({ handler, metrics });
  }

  static async start(auth: AuthOptions, options: ControlPlaneOptions = {}): Promise<AuthStage> {
    const controlPlane = await startControlPlane(options);
    await installAccess(controlPlane);
    // A client certificate outlives the keys that sign tokens.
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${ownNamespace}`];
    const coordinator = { user: `system:serviceaccount:${ownNamespace}:rollcall-coordinator`, groups };
    const stage = new AuthStage(controlPlane, await controlPlane.kubeconfigFor(coordinator), auth);
    stage.#port = (await listen(stage.#reports.server, { host: '127.0.0.1', port: 0 })).port;
    await waitFor('the watches', () => stage.#nodes.reflector.hasSynced() && stage.#pods.reflector.hasSynced());
    return stage;
  }

  async stop(): Promise<void> {
    await this.#reports.stop(100);
    await Promise.all([this.#nodes.stop(), this.#pods.stop()]);
    this.#coordinator.close();
    await this.controlPlane.stop();
  }

  /** Forgets all tokens, as after a start. */
  restart(change: Partial<AuthOptions> = {}): void {
    this.#auth = this.#newAuth({ ...this.#initial, ...change });
  }

  #newAuth({ local, clock = systemClock }: AuthOptions): BearerAuth {
    const keys = new SigningKeys({ read: () => readTokenIssuer(this.#coordinator), clock, logger: silentLogger() });
    return new BearerAuth({
      ...(local ? { signature: (token, claims) => keys.judge(token, claims) } : {}),
      review: (token) => reviewToken(this.#coordinator, token, reportAudience),
      username,
      agentPodNode: ({ name, uid }) => {
        const pod = this.#pods.objects.get(`${ownNamespace}/${name}`) as AgentPod | undefined;
        return pod?.metadata.uid === uid ? pod?.spec.nodeName : undefined;
      },
      agents: () => this.#pods.objects.size,
      isStale: () => false,
      clock,
      random: Math.random,
    });
  }

  async startAgent(node: string): Promise<StagedAgent> {
    const { api } = this.controlPlane;
    await createNode(api, node);
    const pod = await createPod(api, {
      namespace: ownNamespace,
      name: `agent-${node}`,
      nodeName: node,
      serviceAccount: agentServiceAccount,
      ready: true,
    });
    return { node, pod, token: await this.tokenOf(pod) };
  }

  /** Another token of an agent's pod, as the kubelet has it renewed. */
  tokenOf(pod: AgentPod): Promise<string> {
    return requestAgentToken(this.controlPlane.api, { name: pod.metadata.name, uid: pod.metadata.uid ?? '' });
  }

  async deletePod(node: string): Promise<void> {
    const path = `/api/v1/namespaces/${ownNamespace}/pods/agent-${node}`;
    await this.controlPlane.api.delete(path, { gracePeriodSeconds: 0 });
  }

  /** Whether the watch of Nodes shows it. */
  async seen(node: string): Promise<void> {
    await waitFor(`the watch to show ${node}`, () => this.#nodes.objects.has(`/${node}`));
  }

  report(node: string, token: string): Promise<Answer> {
    this.#sequence += 1;
    const heartbeat = { node, boot: 'b', sequence: this.#sequence, digest: 'd' };
    return send(this.#port, heartbeat, { headers: { authorization: `Bearer ${token}` } });
  }

  /** Retries like an agent does while the coordinator's watches have not seen its node or pod. */
  async accepted({ node, token }: Pick<StagedAgent, 'node' | 'token'>, timeoutMs = 10_000): Promise<void> {
    let last: Answer | undefined;
    const attempt = async () => {
      last = await this.report(node, token);
      return last.status === 200;
    };
    await waitFor(`reports of ${node} to be accepted`, attempt, { timeoutMs }).catch((cause: unknown) => {
      throw new Error(`Refused: ${last?.status} ${last?.body}`, { cause });
    });
  }

  async refused({ node, token }: Pick<StagedAgent, 'node' | 'token'>, status: number): Promise<void> {
    const attempt = async () => (await this.report(node, token)).status === status;
    await waitFor(`the token of ${node} to be refused with ${status}`, attempt, { timeoutMs: 10_000 });
  }

  /** TokenReviews, as the API server counts them. */
  reviews(): Promise<number> {
    return this.controlPlane.requestTotals({ resource: 'tokenreviews' });
  }
}

export function detail(answer: Answer): string {
  return (JSON.parse(answer.body) as { detail: string }).detail;
}
