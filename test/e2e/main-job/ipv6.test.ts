import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { applyManifest } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { publishedCa } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Coordinator, coordinatorPorts } from '../../rig/coordinator.ts';
import { REGISTRY_FACADE_READY, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import { LabelHistory } from '../../rig/label-history.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import { SimulatedNode } from '../../rig/simulated-node.ts';

const HOST = '[::1]';
const MANIFEST = path.resolve(import.meta.dirname, '../../../deploy/manifests/install.yaml');
const hasIPv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));

describe.runIf(hasIPv6)('with addresses of IPv6 alone', () => {
  let cluster: EmbeddedCluster;
  let dir: string;
  let history: LabelHistory;
  let node: SimulatedNode;
  const coordinators: Coordinator[] = [];
  const ports = { wsDaemonPort: 0, registryFacadePort: 0 };

  beforeAll(async () => {
    cluster = await embeddedCluster({}, { host: HOST });
    dir = await mkdtemp(path.join(tmpdir(), 'rollcall-ipv6-'));
    ports.wsDaemonPort = await freePort();
    ports.registryFacadePort = await freePort();
    history = new LabelHistory(cluster.api);
    for (const name of ['coordinator-1', 'coordinator-2']) coordinators.push(await startCoordinator(name));
    await waitFor('a leader', async () => (await leader()) !== undefined, { timeoutMs: 60_000 });
    const caFile = path.join(dir, 'ca.crt');
    await writeFile(caFile, await publishedCa(cluster.api));
    // The agent begins with a standby, which sends it on to the address on the Lease.
    const standby = coordinators.find((each) => each.name !== first?.name);
    node = await SimulatedNode.create({
      api: cluster.api,
      name: 'node-1',
      address: '::1',
      podAddress: '::1',
      ...ports,
      coordinatorUrls: [standby?.reportsUrl ?? ''],
      caFile,
      dir,
    });
    node.startAgent();
  }, 180_000);

  afterAll(async () => {
    await node?.stop();
    for (const coordinator of coordinators) await coordinator.destroy();
    history?.stop();
    await cluster?.stop();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  let first: Coordinator | undefined;
  async function leader(): Promise<Coordinator | undefined> {
    for (const each of coordinators) if (await each.leads()) first = each;
    return first;
  }

  async function startCoordinator(name: string): Promise<Coordinator> {
    const listen = await coordinatorPorts();
    const args = [`--ws-daemon-port=${ports.wsDaemonPort}`, `--registry-facade-port=${ports.registryFacadePort}`];
    return new Coordinator({
      ports: listen,
      host: HOST,
      kubeconfig: cluster.coordinatorKubeconfig,
      name,
      args,
      env: { POD_IP: '::1' },
    });
  }

  test('both services get their labels, by probes of ::1', async () => {
    await history.until('node-1', WS_DAEMON_READY, 'true', 60_000);
    await history.until('node-1', REGISTRY_FACADE_READY, 'true', 60_000);
    const document = await first?.explain('node-1');
    expect(JSON.stringify(document)).toContain(`${HOST}:${ports.wsDaemonPort} accepted the connection`);
  });

  test('a service that is killed loses its label, and has it back', async () => {
    await node.kill('ws-daemon');
    await history.until('node-1', WS_DAEMON_READY, undefined);
    await node.revive('ws-daemon');
    await history.until('node-1', WS_DAEMON_READY, 'true', 60_000);
  });

  test('health and metrics answer on both programs', async () => {
    expect(await first?.metric('rollcall_coordinator_nodes', { state: 'fresh' })).toBe(1);

    expect((await httpGet(`${node.healthUrl}/readyz`)).status).toBe(200);
  });

  test('the plugin reads the cluster and the console', async () => {
    const { kubeconfig } = cluster.controlPlane;
    const flags = [`--kubeconfig=${kubeconfig}`, `--console-url=${first?.consoleUrl.replace(/\/$/, '')}`];
    const why = await runPlugin(['why', 'node/node-1', WS_DAEMON_READY, ...flags]);
    expect(why).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`${HOST}:${ports.wsDaemonPort}`) });
    const kubeconfigs = [kubeconfig, cluster.coordinatorKubeconfig].map((file) => readFile(file, 'utf8'));
    expect(String(await Promise.all(kubeconfigs))).not.toContain('127.0.0.1');
  });

  test('the Services that are shipped get addresses of IPv6, and the programs listen on them', async () => {
    const manifest = await readFile(MANIFEST, 'utf8');
    const services = manifest.split(/^---$/m).filter((each) => /^kind: Service$/m.test(each));
    await applyManifest(cluster.controlPlane, services.join('\n---\n'));
    type Service = KubeObject & { spec: { ipFamilies: string[]; clusterIPs: string[] } };
    const made = await cluster.api.list<Service>('/api/v1/namespaces/rollcall/services');
    expect(made).toHaveLength(services.length);
    for (const { spec } of made) expect(spec).toMatchObject({ ipFamilies: ['IPv6'] });
    expect(made.flatMap(({ spec }) => spec.clusterIPs).filter((ip) => isIPv6(ip)).length).toBeGreaterThan(0);
    const listen = [...manifest.matchAll(/listen[:=] ?'?([^\s'"]+)/gi)].map(([, address]) => address);
    expect(listen.filter((address) => address !== 'off')).toEqual(['[::]:8086', '[::]:8443', '[::]:8086']);
  });
});
