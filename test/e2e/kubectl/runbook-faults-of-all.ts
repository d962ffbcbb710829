import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createCertificateAuthority } from '../../control-plane/certificates.ts';
import { applyManifest } from '../../control-plane/cluster.ts';
import { ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { ask } from '../scheduler/ask.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { type Fault, leaderOf, setServicePod } from './runbook-faults.ts';
import { DEPLOY } from './runbook-pages.ts';
import type { RunbookStage } from './runbook-stage.ts';

const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${ownNamespace}/leases/rollcall-coordinator`;
const QUESTION = {
  Pod: {
    metadata: {
      name: 'ws',
      namespace: 'default',
      uid: 'ws',
      labels: { component: 'workspace', workspaceType: 'regular' },
    },
    spec: {},
  },
  NodeNames: ['node-1'],
};
/** For one in a hundred changes, the alert allows less. */
const LATE_MS = 5500;
const ALL = [1, 2, 3, 4] as const;
const RELEASED = { holderIdentity: '', leaseDurationSeconds: 1 };
const DEAD_WEBHOOK = {
  name: 'answers.example.com',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  clientConfig: { url: 'https://127.0.0.1:1/' },
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
};

/** What a kube-scheduler asks a replica. */
async function expectAnswer(replica: Coordinator, status: number): Promise<void> {
  const started = await replica.waitForLog('Started');
  const answer = await ask((started['scheduler'] as { port: number }).port, 'filter', QUESTION);
  if (answer.status !== status) throw new Error(`The extender answered ${answer.status}: ${answer.body}`);
}

/** The shipped RoleBindings, for a configuration without --evict. */
async function bindings(): Promise<string> {
  const manifest = await readFile(path.join(DEPLOY, 'manifests/install.yaml'), 'utf8');
  return manifest
    .split(/^---$/m)
    .filter((each) => /^kind: (Cluster)?RoleBinding$/m.test(each) && /^ {2}name: rollcall-coordinator$/m.test(each))
    .join('\n---\n');
}

async function nobodyLeads({ rig }: RunbookStage): Promise<boolean> {
  return (await Promise.all(rig.coordinators.map((each) => each.leads()))).every((leads) => !leads);
}

function untilNobodyLeads(stage: RunbookStage): Promise<boolean> {
  return waitFor('the leader to be gone', () => nobodyLeads(stage), { timeoutMs: 30_000, everyMs: 100 });
}

async function setLease(stage: RunbookStage, spec: object): Promise<void> {
  await stage.controlPlane.api.patch(LEASE, { spec });
}

/** Faults of single replicas and agents, which do not affect the others. */
export const OF_PROGRAMS: readonly Fault[] = [
  {
    runbook: 'RollcallCertificateExpiring',
    series: { pod: 'surplus', certificate: 'leaf' },
    async cause(stage) {
      const [cert, key] = [stage.file('tls.crt'), stage.file('tls.key')];
      // Valid for a day.
      const issued = await (await createCertificateAuthority('cert-manager')).issue({ commonName: 'rollcall' });
      await writeFile(cert, issued.cert);
      await writeFile(key, issued.key);
      const flags = ['--leader-elect=false', '--dry-run', `--tls-cert-file=${cert}`, `--tls-key-file=${key}`];
      await stage.startSurplus(flags).waitForLog('Started');
      await writeFile(cert, 'nonsense');
    },
    seen: (stage) => [
      { log: 'Kept the last certificate, because the files are broken', of: () => stage.surplus, says: /tls\.crt/ },
    ],
    async fix(stage) {
      const secret = `/api/v1/namespaces/${ownNamespace}/secrets/rollcall-coordinator-tls`;
      const { data } = await stage.controlPlane.api.get<KubeObject & { data: Record<string, string> }>(secret);
      for (const name of ['tls.key', 'tls.crt']) {
        await writeFile(stage.file(name), Buffer.from(data[name] ?? '', 'base64'));
      }
    },
    follows: {
      // It leads as well.
      runbook: 'RollcallTwoLeaders',
      cause: (stage) => waitFor('two to lead', () => stage.surplus.leads()),
      seen: () => [
        { query: 'sum by (pod) (rollcall_coordinator_leader)', says: /"pod":"surplus"\},"value":\[[^\]]*"1"/ },
      ],
      fix: (stage) => stage.surplus.kill('SIGTERM'),
    },
  },
  {
    runbook: 'RollcallExtenderSlow',
    series: { verb: 'filter' },
    // It waits for the leader, which gets no CPU.
    async cause(stage) {
      const [leader, standby] = [await stage.rig.leader(), await stage.standby()];
      await waitFor('the leader to decide', () => expectAnswer(standby, 200).then(() => true));
      await stage.untilScraped(standby.name);
      await leader.kill('SIGSTOP');
      // It gives up after half a second.
      await expectAnswer(standby, 503).finally(() => leader.kill('SIGCONT'));
    },
    seen: () => [{ query: 'rollcall_coordinator_queue_depth', says: /"value"/ }],
  },
  {
    runbook: 'RollcallRestarting',
    series: { pod: 'rollcall-agent-node-4' },
    window: '3m',
    async cause(stage) {
      for (let time = 0; time < 3; time += 1) {
        // Start times are whole seconds.
        await sleep(1000);
        await stage.agent(4).kill('SIGKILL');
        stage.node(4).startAgent();
        await stage.untilScraped('rollcall-agent-node-4');
      }
    },
    seen: () => [],
  },
];

/** Faults of everything, in groups that have nothing to do with one another: what one does is seen in another's alert. */
export const OF_ALL: readonly (readonly Fault[])[] = [
  [
    {
      runbook: 'RollcallWritesFailing',
      async cause(stage) {
        const { api, kubectl } = stage.controlPlane;
        await stage.rig.history.until('node-4', WS_DAEMON_READY, 'true');
        await api.post(WEBHOOKS, { metadata: { name: 'answers-nobody' }, webhooks: [DEAD_WEBHOOK] });
        const patch = ['patch', 'node', 'node-4', '--dry-run=server', '-p', '{"metadata":{"labels":{"x":"y"}}}'];
        const isCalled = () =>
          kubectl(patch).then(
            () => false,
            () => true,
          );
        await waitFor('the webhook to be called', isCalled, { everyMs: 300 });
        await setServicePod(stage, 4, 'ws-daemon', false);
        await sleep(LATE_MS);
      },
      seen: (stage) => [
        { query: 'sum by (kind, outcome) (rate(rollcall_coordinator_patches_total[5m]))', says: /"outcome":"failed"/ },
        { log: 'Failed to write a node', of: leaderOf(stage), says: /node-4.*answers\.example\.com/ },
        { log: 'Repeated the write of a node later', of: leaderOf(stage), says: /node-4/ },
        { run: /webhookconfigurations/, says: /answers-nobody/ },
      ],
      fix: (stage) => stage.controlPlane.api.delete(`${WEBHOOKS}/answers-nobody`),
      // The write that waited comes late.
      follows: {
        runbook: 'RollcallSlowToApply',
        cause: (stage) => stage.rig.history.until('node-4', WS_DAEMON_READY, undefined, 40_000),
        seen: () => [{ query: 'rollcall_coordinator_writes_in_flight', says: /"value"/ }],
        fix: (stage) => setServicePod(stage, 4, 'ws-daemon', true),
      },
    },
    {
      runbook: 'RollcallGuardActive',
      series: { subject: 'agents' },
      cause: (stage) => Promise.all(ALL.map((number) => stage.agent(number).kill('SIGSTOP'))),
      seen: () => [
        {
          event: 'GuardActive',
          about: 'rollcall-coordinator',
          says: /A guard is active \(agents\): most agents are silent at once \(fleet\)/,
        },
      ],
      fix: (stage) => Promise.all(ALL.map((number) => stage.agent(number).kill('SIGCONT'))),
    },
  ],
  [
    {
      runbook: 'RollcallGuardDelays',
      series: { subject: 'taint-budget' },
      async cause(stage) {
        await applyNodeServiceCrd(stage.controlPlane);
        const pods = { namespace: 'default', selector: { matchLabels: { app: 'mistyped' } } };
        const publish = { taint: { key: 'readiness.k8s.io/driver', effect: 'NoSchedule' } };
        const spec = { checks: [{ name: 'pod', pods }], publish };
        await stage.controlPlane.api.post(NODE_SERVICES, nodeService('driver', spec));
      },
      seen: () => [
        { run: /reason=GuardActive/, says: /A guard is active \(taint-budget\).* no pod on any node matches/ },
        { run: /kubectl rollcall status/, says: /A guard is active \(taint-budget\): driver closes/ },
      ],
      follows: {
        runbook: 'RollcallServiceDown',
        series: { service: 'driver' },
        cause: () => Promise.resolve(),
        seen: () => [
          {
            run: /rollcall why nodeservice/,
            names: { SERVICE: 'driver' },
            says: /on the node matches app=mistyped in default/,
          },
        ],
        fix: (stage) => stage.controlPlane.api.delete(`${NODE_SERVICES}/driver`),
      },
    },
  ],
  [
    {
      runbook: 'RollcallNoLeader',
      cause: (stage) => setLease(stage, { holderIdentity: 'another-program', leaseDurationSeconds: 15 }),
      seen: () => [{ run: /get lease/, says: /holderIdentity: another-program/ }],
      // It is stopped, and lets go of the Lease.
      fix: (stage) => setLease(stage, RELEASED),
      follows: {
        runbook: 'RollcallLeaderFlapping',
        window: '2m',
        async cause(stage) {
          for (let time = 0; time < 3; time += 1) {
            await setLease(stage, { holderIdentity: `program-${time}`, leaseDurationSeconds: 15 });
            await untilNobodyLeads(stage);
            await setLease(stage, RELEASED);
            await stage.rig.leader();
          }
        },
        seen: () => [],
      },
    },
  ],
  [
    {
      runbook: 'RollcallApiServerErrors',
      // And a replica starts.
      async cause(stage) {
        const standby = await stage.standby();
        const { kubectl } = stage.controlPlane;
        await kubectl(['delete', '-n', ownNamespace, 'rolebinding/rollcall-coordinator']);
        await kubectl(['delete', 'clusterrolebinding/rollcall-coordinator']);
        await stage.rig.endCoordinator(standby, 'SIGKILL');
        await (await stage.rig.addCoordinator()).waitForLog('Started');
      },
      seen: ({ rig }) => [
        { query: 'sum by (verb, code) (rate(rollcall_coordinator_kube_requests_total[5m]))', says: /"code":"403"/ },
        { log: 'Failed to list or watch', of: () => last(rig.coordinators), says: /"resource":"nodes".*403/ },
        { run: /auth can-i/, says: /^(?![\s\S]*leases)/ },
      ],
      follows: {
        runbook: 'RollcallNoLeader',
        cause: untilNobodyLeads,
        seen: ({ rig }) => [
          { log: 'Failed to read or write the Lease', of: () => first(rig.coordinators), says: /403/ },
          { query: 'rollcall_coordinator_kube_requests_total', says: /"code":"403"/ },
          { run: /get lease/, says: /holderIdentity: coordinator-\d_/ },
          { get: '/readyz?verbose', at: () => last(rig.coordinators).healthUrl, says: /nodes/ },
        ],
        follows: {
          runbook: 'RollcallExtenderFailing',
          series: { verb: 'filter' },
          async cause(stage) {
            const replica = first(stage.rig.coordinators);
            for (let time = 0; time < 2; time += 1) {
              await expectAnswer(replica, 503);
              await stage.untilScraped(replica.name);
            }
          },
          seen: () => [
            {
              query: 'sum by (verb, code) (rate(rollcall_coordinator_extender_requests_total[5m]))',
              says: /"code":"503"/,
            },
          ],
          async fix(stage) {
            await applyManifest(stage.controlPlane, await bindings());
            const leader = await stage.rig.leader();
            // Who leads decides once what is watched is current, which takes a few tries after refusals.
            await waitFor('an answer', () => expectAnswer(leader, 200).then(() => true));
          },
        },
      },
      seenAfter: () => [{ run: /auth can-i/, says: /leases.*rollcall-coordinator/ }],
    },
    {
      runbook: 'RollcallNotScraped',
      series: { program: 'agent' },
      cause: (stage) => Promise.all(ALL.map((number) => stage.agent(number).kill('SIGTERM'))),
      seen: () => [{ run: /get pods/, says: /rollcall-agent-node-1/ }],
      fix: async (stage) => void stage.node(1).startAgent(),
    },
  ],
];

function first(replicas: readonly Coordinator[]): Coordinator {
  const [found] = replicas;
  if (!found) throw new Error('No coordinator runs');
  return found;
}

function last(replicas: readonly Coordinator[]): Coordinator {
  return first(replicas.slice(-1));
}
