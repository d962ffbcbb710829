import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALERTS } from '../../deploy/source/monitoring/alerts.ts';
import { dashboardQueries } from '../../deploy/source/monitoring/dashboard.ts';
import { createPod } from '../control-plane/cluster.ts';
import { run } from '../control-plane/run.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ask } from '../e2e/scheduler/ask.ts';
import { type Host, unpackHost } from '../fixtures/unpack.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../rig/embedded-rig.ts';
import { httpGet } from '../rig/http-get.ts';
import type { Rig } from '../rig/rig.ts';
import { type DiscoveredPort, PANELS_OF_FAULTS, Prometheus } from './prometheus.ts';
import { findPrometheus } from './tools.ts';

// Real agents and coordinators, and a real Prometheus that scrapes them.

const PODS = '/api/v1/namespaces/default/pods';
const WORKSPACE_NODE = { 'gitpod.io/workload_workspace_regular': 'true' };

const tools = await findPrometheus();
const missing = 'missing' in tools ? tools.missing : undefined;

describe.skipIf(missing)(`Prometheus${missing ? ` (${missing})` : ''}`, () => {
  let embedded: EmbeddedRig;
  let rig: Rig;
  let host: Host;
  let receiver: Server;
  let prometheus: Prometheus;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      request.resume();
      response.writeHead(200).end();
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    const { port } = receiver.address() as AddressInfo;
    host = await unpackHost('coral-usb');
    const coordinatorArgs = [
      '--scheduler-listen=127.0.0.1:0',
      '--evict',
      '--evict-readiness',
      '--eviction-delay-seconds=0',
      `--notify-url=127.0.0.1:${port}/told`,
    ];
    embedded = await startEmbeddedRig({ nodes: 0, coordinators: 2, coordinatorArgs });
    rig = embedded.rig;
    for (const sysfsRoot of [undefined, host.sysfsRoot]) {
      await rig.addNode({ labels: WORKSPACE_NODE, ...(sysfsRoot ? { sysfsRoot } : {}) });
    }
    await rig.allReady();
    // A pod that a kubelet has started, since one panel counts from its start.
    const status = { startTime: new Date().toISOString().replace(/\.\d+/, '') };
    await rig.cluster.api.patch(`${PODS}/ws-daemon-${rig.node(0).name}/status`, { status });
    if ('prometheus' in tools) prometheus = await Prometheus.start(tools.prometheus, [...targets(), ...others()]);
  }, 240_000);

  afterAll(async () => {
    await prometheus?.stop();
    await embedded?.stop();
    await host?.remove();
    receiver?.close();
  });

  function targets(): DiscoveredPort[] {
    const which = { port: 'metrics', app: 'rollcall' };
    return [
      ...rig.coordinators.map(({ name, healthUrl }) => ({
        address: new URL(healthUrl).host,
        ...which,
        pod: name,
        node: rig.node(0).name,
      })),
      ...rig.nodes.map(({ name, healthUrl }) => ({
        address: new URL(healthUrl).host,
        ...which,
        pod: `rollcall-agent-${name}`,
        node: name,
      })),
    ];
  }

  /** Targets that are discovered, but must not be scraped. */
  function others(): DiscoveredPort[] {
    return rig.coordinators.map(({ name, reportsUrl }) => ({
      address: new URL(reportsUrl).host,
      port: 'reports',
      app: 'rollcall',
      pod: name,
      node: rig.node(0).name,
    }));
  }

  /** Takes a service of a node away and brings it back; a pod that asks for it goes meanwhile. */
  async function outage(number: number): Promise<void> {
    const node = rig.node(0);
    const name = `asks-${number}`;
    const spec = { nodeSelector: { [WS_DAEMON_READY]: 'true' } };
    await createPod(rig.cluster.api, { namespace: 'default', name, nodeName: node.name, ready: true, spec });
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    const isGone = () =>
      rig.cluster.api.get(`${PODS}/${name}`).then(
        ({ metadata }) => (metadata as { deletionTimestamp?: string }).deletionTimestamp !== undefined,
        () => true,
      );
    await waitFor('the pod to be evicted', isGone, { timeoutMs: 20_000 });
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  }

  /** What a kube-scheduler would ask the leader. */
  async function askAll(): Promise<void> {
    const started = await (await rig.leader()).waitForLog('Started');
    const { port } = started['scheduler'] as { port: number };
    const labels = { component: 'workspace', workspaceType: 'regular' };
    const Pod = { metadata: { name: 'ws', namespace: 'default', uid: 'ws', labels }, spec: {} };
    const NodeNames = rig.nodes.map(({ name }) => name);
    for (const verb of ['filter', 'prioritize']) {
      expect((await ask(port, verb, { Pod, NodeNames })).status).toBe(200);
    }
  }

  test('scrapes every agent and coordinator', async () => {
    const all = targets().map(({ address }) => address);
    const healthy = async () => (await prometheus.targets('up')).toSorted().join() === all.toSorted().join();
    await waitFor('every target to be up', healthy, { timeoutMs: 20_000, everyMs: 200 });
    expect(await prometheus.targets()).toHaveLength(all.length);
    const [agent] = await prometheus.query(`rollcall_agent_build_info{node="${rig.node(1).name}"}`);
    expect(agent?.metric).toMatchObject({ namespace: 'rollcall', pod: `rollcall-agent-${rig.node(1).name}` });
  });

  test('has data for every query of the dashboard, once all of it has happened', { timeout: 180_000 }, async () => {
    // A rate needs samples from before what is counted.
    const firstSeen = async () => (await prometheus.query('rollcall_coordinator_build_info')).length === 2;
    await waitFor('the first samples', firstSeen, { everyMs: 200 });
    await askAll();
    for (const number of [1, 2, 3]) {
      const scraped = Date.now() / 1000;
      await outage(number);
      const isLater = async () => {
        const samples = await prometheus.query('min(timestamp(rollcall_coordinator_leader))');
        return Number(samples[0]?.value[1]) > scraped;
      };
      await waitFor('another scrape', isLater, { everyMs: 200 });
    }
    expect(dashboardQueries().length).toBeGreaterThan(40);
    let last: object[] = [];
    const allAnswered = async () => {
      await askAll();
      last = (await prometheus.unanswered()).filter(({ panel }) => !PANELS_OF_FAULTS.includes(panel));
      return last.length === 0;
    };
    await waitFor('data', allAnswered, { timeoutMs: 20_000, everyMs: 1000 }).catch(() => {});
    expect(last).toEqual([]);
  });

  test('evaluates every alert, and none of them is about a rig where all is well', async () => {
    const rules = await prometheus.evaluatedRules();
    expect(rules.map(({ name }) => name).toSorted()).toEqual(ALERTS.map(({ name }) => name).toSorted());
    expect(rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => [name, lastError])).toEqual([]);
    // The services that were down before may be so in the last samples.
    const active = async () => (await prometheus.rules()).filter(({ state }) => state !== 'inactive');
    await waitFor('what was down to be up in samples', async () => (await active()).length === 0).catch(() => {});
    expect((await active()).map(({ name, state }) => [name, state])).toEqual([]);
  });

  test('would find no fault with the metrics of either program', async () => {
    for (const url of [rig.node(1), ...rig.coordinators].map(({ healthUrl }) => healthUrl)) {
      const { body } = await httpGet(`${url}/metrics`);
      const command = 'promtool' in tools ? tools.promtool : '';
      const { code, out, err } = await run(command, ['check', 'metrics'], process.env, { stdin: body });
      expect([code, out, err]).toEqual([0, '', '']);
    }
  });

  test('notices that there is no leader any more', async () => {
    for (const coordinator of [...rig.coordinators]) await coordinator.kill('SIGKILL');
    const state = async (name: string) => (await prometheus.rules()).find((rule) => rule.name === name)?.state;
    const isNoticed = async () => (await state('RollcallNotScraped')) === 'pending';
    await waitFor('RollcallNotScraped to be pending', isNoticed, { timeoutMs: 20_000, everyMs: 200 });
    const isCutOff = async () => (await state('RollcallAgentCannotReport')) === 'pending';
    await waitFor('RollcallAgentCannotReport to be pending', isCutOff, { timeoutMs: 30_000, everyMs: 200 });
  });
});
