import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { CA_CONFIG_MAP_NAME } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Coordinator } from '../../rig/coordinator.ts';
import { REGISTRY_FACADE_READY, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import { LabelHistory } from '../../rig/label-history.ts';
import { SimulatedNode } from '../../rig/simulated-node.ts';

const HOST = '[::1]';
const hasIPv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));

describe.runIf(hasIPv6)('with addresses of IPv6 alone', () => {
  let cluster: EmbeddedCluster;
  let link: Server;
  let dir: string;
  let history: LabelHistory;
  let node: SimulatedNode;
  const coordinators: Coordinator[] = [];
  const ports = { wsDaemonPort: 0, registryFacadePort: 0 };

  beforeAll(async () => {
    cluster = await embeddedCluster();
    dir = await mkdtemp(path.join(tmpdir(), 'rollcall-ipv6-'));
    ports.wsDaemonPort = await freePort();
    ports.registryFacadePort = await freePort();
    history = new LabelHistory(cluster.api);
    const kubeconfig = await kubeconfigOverIPv6();
    for (const name of ['coordinator-1', 'coordinator-2']) coordinators.push(await startCoordinator(name, kubeconfig));
    await waitFor('a leader', async () => (await leader()) !== undefined, { timeoutMs: 60_000 });
    const caFile = path.join(dir, 'ca.crt');
    await writeFile(caFile, await publishedCa());
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
    link?.close();
    await cluster?.stop();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  let first: Coordinator | undefined;
  async function leader(): Promise<Coordinator | undefined> {
    for (const each of coordinators) if (await each.leads()) first = each;
    return first;
  }

  /** The coordinator's kubeconfig, with an address of IPv6 that leads to the API server. */
  async function kubeconfigOverIPv6(): Promise<string> {
    const text = await readFile(cluster.coordinatorKubeconfig, 'utf8');
    const [, port = ''] = /https:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? [];
    link = createServer((near) => {
      const far = connect(Number(port), '127.0.0.1');
      near.on('error', () => far.destroy()).on('close', () => far.destroy());
      far.on('error', () => near.destroy()).on('close', () => near.destroy());
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => link.listen(0, '::1', resolve));
    const file = path.join(dir, 'kubeconfig');
    await writeFile(file, text.replace(/127\.0\.0\.1:\d+/, `${HOST}:${(link.address() as AddressInfo).port}`));
    return file;
  }

  async function startCoordinator(name: string, kubeconfig: string): Promise<Coordinator> {
    const listen = { reports: await freePort(), listen: await freePort(), console: await freePort() };
    const args = [`--ws-daemon-port=${ports.wsDaemonPort}`, `--registry-facade-port=${ports.registryFacadePort}`];
    return new Coordinator({ ports: listen, host: HOST, kubeconfig, name, args });
  }

  async function publishedCa(): Promise<string> {
    const object = `/api/v1/namespaces/rollcall/configmaps/${CA_CONFIG_MAP_NAME}`;
    const read = () => cluster.api.get<KubeObject & { data: Record<string, string> }>(object);
    return (await waitFor('the published CA', read, { timeoutMs: 30_000 })).data['ca.crt'] ?? '';
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
});
