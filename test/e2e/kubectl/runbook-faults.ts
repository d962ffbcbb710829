import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { notReadyTaint, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { DEFAULT_SETTINGS } from '../../../deploy/source/manifests/settings.ts';
import { createCertificateAuthority } from '../../control-plane/certificates.ts';
import { createNode, createPod, type NodeObject, setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Coordinator } from '../../rig/coordinator.ts';
import { REGISTRY_FACADE_READY, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { installFence } from '../../rig/fence.ts';
import { createBudget } from '../eviction/eviction-stage.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';
import { REQUIRED_AT_START, type RunbookStage, type Sight } from './runbook-stage.ts';

/** A fault that a runbook is about, and how it is ended as the page says. */
export type Fault = {
  runbook: `Rollcall${string}`;
  /** Which series of the alert are about it. */
  series?: Record<string, string>;
  /** In which it happens, if that takes longer than the usual one. */
  window?: string;
  cause: (stage: RunbookStage) => Promise<unknown>;
  /** What the page tells its reader to look at. */
  seen: (stage: RunbookStage) => Sight[];
  /** Without one it ends by itself. */
  fix?: (stage: RunbookStage) => Promise<unknown>;
  /** What follows from it, or from its fix. */
  follows?: Fault;
  /** Sights at the end. */
  seenAfter?: (stage: RunbookStage) => Sight[];
};

const WS_DAEMON_TAINT = notReadyTaint('ws-daemon');
const REFUSED_LABEL = 'other.example.com/denied';

export function setServicePod(
  stage: RunbookStage,
  node: 1 | 2 | 3 | 4,
  service: 'ws-daemon' | 'registry-facade',
  ready: boolean,
): Promise<unknown> {
  return setPodReady(stage.controlPlane.api, 'default', `${service}-${stage.node(node).name}`, ready);
}

export function leaderOf(stage: RunbookStage): () => Promise<Coordinator> {
  return () => stage.rig.leader();
}

/** Faults of one node, one pod or one file. */
export const OF_ONE: readonly Fault[] = [
  {
    runbook: 'RollcallAgentCannotReport',
    series: { node: 'node-1', pod: 'rollcall-agent-node-1' },
    async cause(stage) {
      await stage.agent(1).kill('SIGTERM');
      await writeFile(stage.ownCaFile, (await createCertificateAuthority('another')).cert);
      stage.node(1).startAgent();
    },
    seen: (stage) => [
      { log: 'Could not deliver a report', of: () => stage.agent(1), says: /certificate/ },
      {
        query: 'rollcall_agent_reports_total',
        says: /"node":"node-1","pod":"rollcall-agent-node-1","result":"failed"/,
      },
    ],
    fix: (stage) => copyFile(stage.rig.caFile, stage.ownCaFile),
  },
  {
    runbook: 'RollcallCollectorFailing',
    series: { node: 'node-2', collector: 'usb' },
    cause: (stage) => rename(stage.sysfs, stage.file('not-mounted')),
    seen: (stage) => [
      { log: 'Could not read a bus', of: () => stage.agent(2), says: /"bus":"usb".*there is no sysfs/ },
    ],
    fix: (stage) => rename(stage.file('not-mounted'), stage.sysfs),
  },
  {
    runbook: 'RollcallReportsRejected',
    series: { result: '403' },
    // The token of another node.
    cause: (stage) => stage.copyToken(stage.node(3), stage.node(2)),
    seen: (stage) => [
      {
        log: 'Had a report refused',
        of: () => stage.agent(2),
        says: /(?=.*403).*valid only for reports of node node-3/,
      },
      {
        log: 'Refused a report',
        of: leaderOf(stage),
        says: /(?=.*"status":403).*valid only for reports of node node-3/,
      },
    ],
    fix: (stage) => stage.node(2).renewToken(),
  },
  {
    runbook: 'RollcallServicesHeldBack',
    async cause(stage) {
      for (const ready of [false, true, false, true, false, true]) {
        await setServicePod(stage, 3, 'registry-facade', ready);
        await stage.rig.history.until('node-3', REGISTRY_FACADE_READY, ready ? 'true' : undefined);
      }
      // The fourth time and the fifth: long enough to look.
      for (const ready of [false, true, false, true]) await setServicePod(stage, 3, 'registry-facade', ready);
    },
    // Its pod stays Ready from now on, which is all that it takes.
    seen: () => [
      { run: /get events/, says: /ServiceHeldBack .*registry-facade became not ready too often/ },
      { run: /rollcall why/, names: { NODE: 'node-3' }, says: /held back until .*became not ready 5 times/ },
    ],
  },
  {
    runbook: 'RollcallEvictionsBlocked',
    series: { outcome: 'blocked' },
    async cause(stage) {
      const { api } = stage.controlPlane;
      const { name: nodeName } = stage.node(3);
      const spec = { nodeSelector: { [WS_DAEMON_READY]: 'true' } };
      const labels = { app: 'guarded' };
      await createBudget(stage.controlPlane, { namespace: 'default', name: 'strict', app: 'guarded', allowed: 0 });
      await createPod(api, { namespace: 'default', name: 'guarded', nodeName, labels, ready: true, spec });
      await stage.node(3).kill('ws-daemon');
    },
    seen: (stage) => [
      { event: 'EvictionRefused', about: 'guarded', says: /Not evicted yet.*strict needs 1 healthy pods/ },
      { run: /get pdb/, says: /^default +strict +1 +N\/A +0 /m },
      { log: 'Failed to evict a pod; it is tried until it goes', of: leaderOf(stage), says: /default\/guarded/ },
    ],
    fix: (stage) => stage.node(3).revive('ws-daemon'),
  },
  {
    runbook: 'RollcallKeysRefused',
    series: { cause: 'denied' },
    async cause(stage) {
      await mkdir(stage.file('rules/other.example.com'));
      await writeFile(stage.file('rules/other.example.com/denied'), 'wants-it\n');
      await stage.controlPlane.kubectl(['label', 'node', 'node-4', 'wants-it=true']);
    },
    seen: (stage) => [
      { log: 'Skipped keys', of: leaderOf(stage), says: /node-4.*other\.example\.com\/denied.*denied/ },
      {
        run: /rollcall why .*KEY/,
        names: { NODE: 'node-4', KEY: REFUSED_LABEL },
        says: /other\.example\.com\/denied[\s\S]*skipped +denied: /,
      },
    ],
    // The prefixes of rule files.
    async fix(stage) {
      await installFence(stage.controlPlane, {
        labelPrefixes: [...DEFAULT_SETTINGS.labelPrefixes, 'other.example.com/'],
      });
      await stage.rig.history.until('node-4', REFUSED_LABEL, 'true', 30_000);
    },
  },
  {
    runbook: 'RollcallRuleProblems',
    cause: (stage) => writeFile(stage.file('rules/broken'), 'good\nnot good\n'),
    seen: (stage) => [
      { log: 'Found problems in rule files', of: leaderOf(stage), says: /broken/ },
      { get: '/v1/rules', at: async () => (await stage.rig.leader()).consoleUrl.replace(/\/$/, ''), says: /broken/ },
    ],
    fix: (stage) => writeFile(stage.file('rules/broken'), 'good\n'),
    seenAfter: (stage) => [{ log: 'Found no more problems in rule files', of: leaderOf(stage), says: /./ }],
  },
  {
    runbook: 'RollcallNotificationsFailing',
    series: { notifier: '0' },
    async cause(stage) {
      stage.receiverStatus = 500;
      await stage.controlPlane.kubectl(['label', 'node', 'node-4', 'changed=']);
    },
    seen: (stage) => [
      { log: 'Failed to deliver a notification', of: leaderOf(stage), says: /"notifier":0.*500/ },
      { event: 'NotificationFailed', about: 'rollcall-coordinator', says: /does not accept notifications: .*500/ },
    ],
    fix: async (stage) => {
      stage.receiverStatus = 200;
      const pending = async () => (await stage.rig.leader()).metric('rollcall_coordinator_notifications_pending');
      // Attempts become rarer than the window is long: that there is none says nothing.
      await waitFor('what waited to be delivered', async () => (await pending()) === 0, { timeoutMs: 60_000 });
    },
  },
  {
    runbook: 'RollcallStartupGateExpired',
    async cause(stage) {
      const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }];
      await createNode(stage.controlPlane.api, 'gated', { taints });
    },
    seen: () => [{ event: 'StartupGateExpired', about: 'gated', says: new RegExp(`without ${REQUIRED_AT_START}`) }],
    // The fix repairs what does not become ready; it shows on the next node.
    async fix(stage) {
      const taints = [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }];
      const labels = { [REQUIRED_AT_START]: 'yes' };
      await createNode(stage.controlPlane.api, 'gated-2', { taints, labels });
      const opened = { outcome: 'complete' };
      const isOpen = async () =>
        (await (await stage.rig.leader()).metric('rollcall_coordinator_startup_gates_opened_total', opened)) === 1;
      await waitFor('the gate to be opened', isOpen);
      for (const name of ['gated', 'gated-2']) await stage.controlPlane.api.delete(`/api/v1/nodes/${name}`);
    },
  },
  {
    runbook: 'RollcallTaintsRefused',
    series: { outcome: 'denied' },
    async cause(stage) {
      const isProbe = `object.metadata.?labels[?'${WS_DAEMON_READY}'].orValue('') == 'probe'`;
      await stage.deny('node-1', {
        expression: `!(${isProbe}) && !has(object.spec.taints)`,
        message: 'no taints here',
        refused: { labels: { [WS_DAEMON_READY]: 'probe' } },
      });
      await setServicePod(stage, 1, 'ws-daemon', false);
    },
    seen: (stage) => [{ log: 'Skipped keys', of: leaderOf(stage), says: /"node":"node-1".*no taints here/ }],
    async fix(stage) {
      const { api } = stage.controlPlane;
      await stage.allow('node-1');
      const isTainted = async () =>
        (await api.get<NodeObject>('/api/v1/nodes/node-1')).spec.taints?.some(({ key }) => key === WS_DAEMON_TAINT);
      // It is tried again after 30 s at most.
      await waitFor('the taint', isTainted, { timeoutMs: 45_000, everyMs: 100 });
      await setServicePod(stage, 1, 'ws-daemon', true);
    },
  },
  {
    runbook: 'RollcallNodesLie',
    series: { key: WS_DAEMON_READY },
    async cause(stage) {
      await stage.deny('node-4', {
        expression: `'${WS_DAEMON_READY}' in object.metadata.labels`,
        message: 'it stays',
        refused: { labels: { [WS_DAEMON_READY]: null } },
      });
      await setServicePod(stage, 4, 'ws-daemon', false);
    },
    seen: () => [
      { run: /rollcall audit/, says: /node-4[\s\S]*foreign/ },
      { run: /rollcall why .*KEY/, names: { NODE: 'node-4' }, says: /it stays/ },
    ],
    async fix(stage) {
      await stage.allow('node-4');
      await stage.rig.history.until('node-4', WS_DAEMON_READY, undefined, 30_000);
      await setServicePod(stage, 4, 'ws-daemon', true);
    },
  },
];

/** Faults of a service: beside the others, those whose fixes have to be quick would be late. */
export const OF_SERVICES: readonly Fault[] = [
  {
    runbook: 'RollcallServiceNotReady',
    series: { service: 'registry-facade' },
    cause: (stage) => setServicePod(stage, 2, 'registry-facade', false),
    seen: () => [
      { run: /get nodes -l/, names: { KEY: REGISTRY_FACADE_READY }, says: /^node-2 /m },
      {
        run: /rollcall why nodeservice/,
        names: { SERVICE: 'registry-facade' },
        says: /It is not ready on node-2: pod .* is not Ready/,
      },
      {
        run: /rollcall why node\//,
        names: { NODE: 'node-2' },
        says: /registry-facade is not ready: pod .* is not Ready/,
      },
    ],
    fix: (stage) => setServicePod(stage, 2, 'registry-facade', true),
  },
  {
    runbook: 'RollcallServiceNotInForce',
    series: { service: 'refused' },
    async cause(stage) {
      await applyNodeServiceCrd(stage.controlPlane);
      const refused = nodeService('refused', {
        checks: [{ name: 'port', tcp: { port: 1 } }],
        publish: { label: WS_DAEMON_READY },
      });
      await stage.controlPlane.api.post(NODE_SERVICES, refused);
    },
    seen: () => [
      { run: /get nodeservices/, says: /refused/ },
      { run: /describe nodeservice/, names: { SERVICE: 'refused' }, says: /Reason: +\w+[\s\S]*Type: +Ready/ },
    ],
    fix: (stage) => stage.controlPlane.api.delete(`${NODE_SERVICES}/refused`),
  },
];
