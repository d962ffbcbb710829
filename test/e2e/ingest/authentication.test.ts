import { systemClock } from '@rollcall/common/clock.ts';
import { listen } from '@rollcall/common/http-server.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { BearerAuth } from '@rollcall/coordinator/ingest/bearer-auth.ts';
import { IngestMetrics } from '@rollcall/coordinator/ingest/metrics.ts';
import { ReportHandler, type ReportSender } from '@rollcall/coordinator/ingest/report-handler.ts';
import { createReportsServer, type ReportsServer } from '@rollcall/coordinator/ingest/reports-server.ts';
import { type Answer, send } from '@rollcall/coordinator/ingest/reports-server-fixture.ts';
import { reviewToken } from '@rollcall/coordinator/kube/token-review.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNode, createPod, type PodObject, requestToken } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
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

let controlPlane: ControlPlane;
let coordinator: CountingClient;
let nodes: Mirror;
let pods: Mirror;
let reports: ReportsServer;
let port: number;
/** Emulates an API server before 1.32, which does not say on which node a token's pod runs. */
let hideNode = false;
const senders: ReportSender[] = [];

/** The agent's pod of a node and its token, both as in a cluster. */
type Agent = { node: string; pod: PodObject & { metadata: { uid?: string } }; token: string };

beforeAll(async () => {
  controlPlane = await startControlPlane();
  const { coordinatorKubeconfig } = await installAccess(controlPlane);
  coordinator = connect(controlPlane, { kubeconfig: coordinatorKubeconfig });
  nodes = new Mirror(coordinator, '/api/v1/nodes', { metadataOnly: true });
  pods = new Mirror(coordinator, `/api/v1/namespaces/${ownNamespace}/pods`, {
    handlers: {
      onReplace: () => {},
      onUpsert: (pod) => pods.objects.set(pod.metadata.name, pod),
      onDelete: (pod) => {
        pods.objects.delete(pod.metadata.name);
        auth.forgetPod(pod.metadata.uid);
      },
    },
  });
  const auth = new BearerAuth({
    review: (token) => review(token),
    username,
    agentPod: (name, uid) => {
      const pod = pods.objects.get(name) as (PodObject & { metadata: { uid?: string } }) | undefined;
      const nodeName = pod?.spec.nodeName;
      return pod?.metadata.uid === uid && nodeName !== undefined ? { nodeName } : undefined;
    },
    clock: systemClock,
  });
  const metrics = new IngestMetrics(new Registry());
  const handler = new ReportHandler({
    leadership: { role: () => ({ leading: true }), synced: () => true },
    authenticate: (token) => auth.authenticate(token),
    nodeUid: (name) => nodes.objects.get(`/${name}`)?.metadata.uid,
    accept: (_report, sender) => {
      senders.push(sender);
      return { admission: 'heartbeat', reply: { nextReportSeconds: 10 } };
    },
    clock: systemClock,
    logger: silentLogger(),
    metrics,
    rateLimit: { burst: 1000, perSecond: 1000 },
  });
  reports = createReportsServer({ handler, metrics });
  ({ port } = await listen(reports.server, { host: '127.0.0.1', port: 0 }));
  await waitFor('the watches', () => nodes.reflector.hasSynced() && pods.reflector.hasSynced());
});

afterAll(async () => {
  await reports?.stop(100);
  await Promise.all([nodes?.stop(), pods?.stop()]);
  coordinator?.close();
  await controlPlane?.stop();
});

async function review(token: string) {
  const verdict = await reviewToken(coordinator, token, reportAudience, { timeoutMs: 5000 });
  if (!hideNode) return verdict;
  const extra = Object.entries(verdict.extra).filter(([key]) => !key.includes('node-'));
  return { ...verdict, extra: Object.fromEntries(extra) };
}

async function startAgent(node: string): Promise<Agent> {
  const { api } = controlPlane;
  await createNode(api, node);
  const pod = await createPod(api, {
    namespace: ownNamespace,
    name: `agent-${node}`,
    nodeName: node,
    serviceAccount: agentServiceAccount,
    ready: true,
  });
  const token = await requestAgentToken(api, { name: pod.metadata.name, uid: pod.metadata.uid ?? '' });
  return { node, pod, token };
}

let sequence = 0;

function report(node: string, token: string): Promise<Answer> {
  sequence += 1;
  return send(port, { node, boot: 'b', sequence, digest: 'd' }, { headers: { authorization: `Bearer ${token}` } });
}

function detail(answer: Answer): string {
  return (JSON.parse(answer.body) as { detail: string }).detail;
}

function reviewsMade(): Promise<number> {
  return controlPlane.requestTotals({ resource: 'tokenreviews' });
}

/** Retries like an agent does while the coordinator's watches have not seen its node. */
function accepted(agent: Agent, timeoutMs = 1000): Promise<unknown> {
  const attempt = async () => (await report(agent.node, agent.token)).status === 200;
  return waitFor(`reports of ${agent.node} to be accepted`, attempt, { timeoutMs });
}

describe('an agent', () => {
  it('is known by the token of its pod: node, uid of the node, pod and time of issue', async () => {
    const agent = await startAgent('known');
    await accepted(agent);
    const node = await controlPlane.api.get('/api/v1/nodes/known');
    const { issuedAtSeconds, ...sender } = senders.at(-1) ?? {};
    expect(sender).toEqual({
      node: 'known',
      nodeUid: node.metadata.uid,
      pod: { name: 'agent-known', uid: agent.pod.metadata.uid },
    });
    expect(Math.abs((issuedAtSeconds ?? 0) - Date.now() / 1000)).toBeLessThan(60);
  });

  it('costs one TokenReview, however often it reports', async () => {
    const agent = await startAgent('chatty');
    await accepted(agent);
    const before = await reviewsMade();
    const answers = await Promise.all(Array.from({ length: 100 }, () => report('chatty', agent.token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(await reviewsMade()).toBe(before);
  });

  it('may not report for another node', async () => {
    const [one, other] = [await startAgent('one'), await startAgent('other')];
    await accepted(other);
    const answer = await report('one', other.token);
    expect(answer.status).toBe(403);
    expect(detail(answer)).toContain('other');
    await accepted(one);
  });

  it('is found by its pod where the token does not name the node', async () => {
    const agent = await startAgent('old-cluster');
    hideNode = true;
    try {
      await accepted(agent, 3000);
    } finally {
      hideNode = false;
    }
    expect(senders.at(-1)).toMatchObject({ node: 'old-cluster', pod: { name: 'agent-old-cluster' } });
  });

  it('is refused at once when its pod is deleted, though its token was accepted a moment ago', async () => {
    const agent = await startAgent('deleted-pod');
    await accepted(agent);
    await controlPlane.api.delete(`/api/v1/namespaces/${ownNamespace}/pods/agent-deleted-pod`, {
      gracePeriodSeconds: 0,
    });
    await waitFor('the token to be refused', async () => (await report('deleted-pod', agent.token)).status === 401, {
      timeoutMs: 1000,
    });
    expect((await report('deleted-pod', agent.token)).status).toBe(401);
  });

  it('is refused when its node was deleted and made anew, which the API server itself does not mind', async () => {
    const agent = await startAgent('made-anew');
    await accepted(agent);
    await controlPlane.api.delete('/api/v1/nodes/made-anew');
    await waitFor('the node to be unknown', async () => (await report('made-anew', agent.token)).status === 503);
    await createNode(controlPlane.api, 'made-anew');
    await waitFor('the token to be refused', async () => (await report('made-anew', agent.token)).status === 403);
    expect(await review(agent.token)).toMatchObject({ authenticated: true });
    expect(detail(await report('made-anew', agent.token))).toContain('earlier node');
  });
});

describe('a token', () => {
  it('for another audience is refused with 401', async () => {
    const agent = await startAgent('audience');
    await accepted(agent);
    const boundPod = { name: 'agent-audience', uid: agent.pod.metadata.uid ?? '' };
    const forApiServer = await requestToken(controlPlane.api, {
      namespace: ownNamespace,
      serviceAccount: agentServiceAccount,
      boundPod,
    });
    const answer = await report('audience', forApiServer);
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('invalid_token');
    expect(answer.body).not.toContain(forApiServer);
  });

  it('of another account is refused with 403, though it is bound to the node', async () => {
    await startAgent('account');
    const pod = await createPod(controlPlane.api, { namespace: ownNamespace, name: 'intruder', nodeName: 'account' });
    const token = await requestToken(controlPlane.api, {
      namespace: ownNamespace,
      serviceAccount: 'default',
      audiences: [reportAudience],
      boundPod: { name: 'intruder', uid: pod.metadata.uid ?? '' },
    });
    const answer = await report('account', token);
    expect(answer.status).toBe(403);
    expect(detail(answer)).toContain(`system:serviceaccount:${ownNamespace}:default`);
  });

  it('that is bound to no pod is refused with 403', async () => {
    const token = await requestToken(controlPlane.api, {
      namespace: ownNamespace,
      serviceAccount: agentServiceAccount,
      audiences: [reportAudience],
    });
    const answer = await report('known', token);
    expect(answer.status).toBe(403);
    expect(detail(answer)).toContain('neither a node nor a pod');
  });

  it.each([
    ['that is made up', 'abc.def.ghi'],
    ['without a signature that holds', `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
  ])('%s is refused with 401', async (_what, token) => {
    expect((await report('known', token)).status).toBe(401);
  });

  it('that was signed by somebody else, or changed, is refused with 401', async () => {
    const agent = await startAgent('forged');
    await accepted(agent);
    const [head, claims, signature] = agent.token.split('.');
    const forged = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString()) as {
      'kubernetes.io': { node: { name: string } };
    };
    forged['kubernetes.io'].node.name = 'known';
    const changed = [head, Buffer.from(JSON.stringify(forged)).toString('base64url'), signature].join('.');
    expect((await report('known', changed)).status).toBe(401);
  });
});

describe('an API server that is away', () => {
  it('leaves agents that it vouched for alone, and lets others in as soon as it is back', async () => {
    const [before, after] = [await startAgent('before'), await startAgent('after')];
    await accepted(before);
    await waitFor('the watch to show the other node', () => nodes.objects.has('/after'));
    await controlPlane.killApiServer();
    try {
      expect((await report('before', before.token)).status).toBe(200);
      const answer = await report('after', after.token);
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    } finally {
      await controlPlane.restartApiServer();
    }
    await accepted(after, 5000);
  });
});
