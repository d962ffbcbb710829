import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { observeDaemonPod } from '@rollcall/coordinator/state/daemon-sets.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startControllers } from '../../chart/controllers.ts';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { createNode, setPodReady } from '../../control-plane/cluster.ts';
import type { Component } from '../../control-plane/component.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import { taintsOf } from '../incidents/monitor.ts';

// DaemonSets and their pods are those of a real kube-controller-manager; the test is scheduler and kubelet.

const TIMEOUT_SECONDS = 20;
const GATE = { key: STARTUP_TAINT, effect: 'NoSchedule' } as const;
const ANY = [{ operator: 'Exists' }];
const PATH = '/apis/apps/v1/namespaces/default/daemonsets';
const PODS = '/api/v1/namespaces/default/pods';

let embedded: EmbeddedRig;
let controllers: Component;
let api: ApiClient;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 0,
    coordinatorArgs: [
      ...['--agents=false', '--gitpod=false', '--startup-gate-daemon-sets'],
      `--startup-gate-daemon-sets-timeout=${TIMEOUT_SECONDS}s`,
      '--startup-gate-daemon-sets-exclude=default/named,gate=skip',
      '--startup-gate-daemon-sets-taints=example.com/starts',
    ],
  });
  api = embedded.controlPlane.api;
  controllers = await startControllers(embedded.controlPlane, ['daemonset-controller']);
  const without = { tolerations: [] };
  await daemonSet('network');
  await daemonSet('logs', { tolerations: [{ key: STARTUP_TAINT, operator: 'Exists' }] });
  // None of these is waited for.
  await daemonSet('intolerant', without);
  await daemonSet('elsewhere', { nodeSelector: { 'kubernetes.io/os': 'windows' } });
  await daemonSet('kept-away', {
    tolerations: [{ key: STARTUP_TAINT, operator: 'Exists' }],
    nodeSelector: { own: 'yes' },
  });
  await daemonSet('named');
  await daemonSet('labelled', {}, { gate: 'skip' });
}, 120_000);

afterAll(async () => {
  await controllers?.kill('SIGKILL');
  await embedded?.stop();
});

function daemonSet(name: string, spec: object = {}, more: Record<string, string> = {}): Promise<KubeObject> {
  const labels = { daemon: name };
  const containers = [{ name: 'main', image: 'none' }];
  const template = {
    metadata: { labels },
    spec: { containers, tolerations: ANY, automountServiceAccountToken: false, ...spec },
  };
  const metadata = { name, labels: more };
  return api.post(PATH, {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata,
    spec: { selector: { matchLabels: labels }, template },
  });
}

/** The pod that the controller made for the DaemonSet on this node, once it is there; the scheduler binds it. */
async function bound(name: string, node: string): Promise<string> {
  const pod = await waitFor(`a pod of ${name} for ${node}`, async () => {
    const all = await api.list<KubeObject & { metadata: { name: string } }>(`${PODS}?labelSelector=daemon=${name}`);
    return all.find((each) => observeDaemonPod(each as never).node === node)?.metadata.name;
  });
  const target = { apiVersion: 'v1', kind: 'Node', name: node };
  await api.post(`${PODS}/${pod}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod }, target });
  return pod;
}

const ready = async (name: string, node: string) => setPodReady(api, 'default', await bound(name, node), true);
const isOpen = async (node: string) => !(await taintsOf(api, node)).includes(`${STARTUP_TAINT}:NoSchedule`);
const gateOf = async (node: string) => {
  const { keys } = await (await embedded.rig.leader()).explain(node);
  return keys.find(({ key }) => key === STARTUP_TAINT)?.reason ?? '';
};
const untilReason = (node: string, pattern: RegExp) =>
  waitFor(`the gate of ${node} to say ${pattern}`, async () => pattern.test(await gateOf(node)) || undefined);

test('a node opens when every DaemonSet that belongs there is Ready, and waits for no other', async () => {
  // What starts, and what stays: the DaemonSet kept-away does not tolerate the latter.
  const taints = [
    GATE,
    { key: 'example.com/starts', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  ] as const;
  await createNode(api, 'a', { taints });
  await createNode(api, 'dedicated', {
    taints: [GATE, { key: 'example.com/own', effect: 'NoSchedule' }],
    labels: { own: 'yes' },
  });
  await untilReason(
    'a',
    /^waits for default\/logs \(waits for the taint example.com\/starts to go\), default\/network \(.*\), at most 20 s/,
  );
  expect(await gateOf('a')).toContain('; not for default/intolerant (TaintNotTolerated: ');
  await ready('network', 'a');
  await untilReason('a', /^waits for default\/logs \([^,]*\), at most/);
  expect(await isOpen('a')).toBe(false);
  await api.patch('/api/v1/nodes/a', { spec: { taints: [GATE] } });
  const beganMs = performance.now();
  await ready('logs', 'a');
  await waitFor('the gate to be opened', () => isOpen('a'));
  expect(performance.now() - beganMs).toBeLessThan(5000);
  // The taint example.com/own stays, and keeps logs and kept-away off the node.
  await untilReason('dedicated', /^waits for default\/network \([^,]*\), at most/);
  await ready('network', 'dedicated');
  await waitFor('the other gate to be opened', () => isOpen('dedicated'));
});

test('a DaemonSet that comes later closes no gate again', async () => {
  await daemonSet('later');
  await bound('later', 'a');
  const leader = await embedded.rig.leader();
  await waitFor(
    'the coordinator to be quiet',
    async () => (await leader.explain('a')).pending === undefined || undefined,
  );
  expect(await isOpen('a')).toBe(true);
  await api.delete(`${PATH}/later`);
});

test('the Ready pods of an earlier Node of the name do not count', async () => {
  await createNode(api, 'again', {});
  for (const name of ['network', 'logs']) await ready(name, 'again');
  await api.delete('/api/v1/nodes/again');
  // Creation times have seconds.
  const second = () => Math.floor(Date.now() / 1000);
  const before = second();
  await waitFor('another second', async () => second() > before || undefined);
  await createNode(api, 'again', { taints: [GATE] });
  await untilReason('again', /^waits for default\/logs \(.*\), default\/network \(.*\), at most/);
  expect(await isOpen('again')).toBe(false);
});

test('why, an Event after half of the time-out, and another at its end name what is missing with the reason of the pod', async () => {
  await createNode(api, 'late', { taints: [GATE] });
  await ready('network', 'late');
  const pod = await bound('logs', 'late');
  const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "none"' };
  const status = { name: 'main', image: 'none', imageID: '', ready: false, restartCount: 0, state: { waiting } };
  await api.patch(`${PODS}/${pod}/status`, { status: { containerStatuses: [status] } });
  await untilReason('late', /^waits for default\/logs \(ImagePullBackOff\), at most 20 s/);
  const leader = await embedded.rig.leader();
  const why = await runPlugin(['why', 'node/late', `--console-url=${leader.consoleUrl}`]);
  expect(why.stdout).toContain('still has the startup taint: waits for default/logs (ImagePullBackOff)');
  expect(why.exitCode).toBe(1);
  const told = (reason: string) =>
    waitFor(
      `the Event ${reason}`,
      async () => {
        type Event = { reason: string; message: string; involvedObject: { name: string } };
        const events = await api.list<Event & KubeObject>('/api/v1/namespaces/default/events');
        const found = events.find((each) => each.reason === reason && each.involvedObject.name === 'late');
        return found?.message;
      },
      { timeoutMs: 40_000 },
    );
  expect(await told('StartupGateWaiting')).toContain('waits for default/logs (ImagePullBackOff)');
  expect(await isOpen('late')).toBe(false);
  expect(await told('StartupGateExpired')).toContain('default/logs (ImagePullBackOff)');
  expect(await isOpen('late')).toBe(true);
  const labels = { daemon_set: 'default/network' };
  expect(await leader.metric('rollcall_coordinator_startup_gate_daemon_set_seconds_count', labels)).toBeGreaterThan(1);
}, 60_000);
