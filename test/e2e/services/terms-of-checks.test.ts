import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { tmpdir, uptime } from 'node:os';
import path from 'node:path';
import {
  ISSUER_CERTIFICATE,
  SERVER_CHAIN,
  SERVER_KEY,
  UNRELATED_CERTIFICATE,
} from '@rollcall/agent/probes/testing/certificates.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { dropPci } from '../../fixtures/pci.ts';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];
const GPU = 'pci:10de:2330@0302';
const RESOURCE = 'example.com/gpu';
const GRACE_MS = 4000;

let embedded: EmbeddedRig;
let api: ApiClient;
let host: Host;
/** Rules, files and sockets of the test. */
let directory: string;
let node: SimulatedNode;

beforeAll(async () => {
  host = await unpackHost('gpu-server');
  directory = await mkdtemp(path.join(tmpdir(), 'rollcall-terms-'));
  await writeFile(path.join(directory, 'two-h100'), `${GPU} >= 2\n`);
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: PREFIXES, labelPrefixes: ['two-h100'] },
    coordinatorArgs: [`--services-allowed-prefixes=${PREFIXES}`, '--gitpod=false', `--label-dir=${directory}`],
    agentArgs: [`--probe-paths=${directory}`],
    nodes: 0,
  });
  api = embedded.controlPlane.api;
  node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
});

afterAll(async () => {
  await embedded?.stop();
  await host?.remove();
  if (directory) await rm(directory, { recursive: true });
});

const labelOf = (name: string) => `example.com/${name}`;
const create = (name: string, checks: object[]) =>
  api.post(NODE_SERVICES, nodeService(name, { checks, publish: { label: labelOf(name) } }));
const labelled = (name: string, value: string | undefined) =>
  embedded.rig.history.until(node.name, labelOf(name), value, 30_000);

async function whyOf(name: string): Promise<string> {
  const { services } = await (await embedded.rig.leader()).explain(node.name);
  return services.find((service) => service.name === name)?.reason ?? '';
}

async function refusalOf(check: object): Promise<string> {
  const object = nodeService('refused', { checks: [{ name: 'check', ...check }] });
  const refused = await api.post(`${NODE_SERVICES}?fieldValidation=Strict`, object).catch((error: Error) => error);
  if (!(refused instanceof Error)) throw new Error('It was accepted');
  return refused.message;
}

describe('devices by id', () => {
  test('are counted in rules and in checks, and one that falls off the bus is missed', async () => {
    await create('gpus', [{ name: 'gpus', device: { name: GPU, minCount: 2 } }]);
    await labelled('gpus', 'true');
    await embedded.rig.history.until(node.name, 'two-h100', 'true', 30_000);
    const putBack = await dropPci(host, '0000:18:00.0');
    await labelled('gpus', undefined);
    await embedded.rig.history.until(node.name, 'two-h100', undefined, 30_000);
    expect(await whyOf('gpus')).toBe(`${GPU} >= 2 is required, but the agent sees 1 of ${GPU}`);
    await putBack();
    await labelled('gpus', 'true');
  });

  test('that are not written as ids are refused with the form', async () => {
    expect(await refusalOf({ device: { name: 'pci:10DE' } })).toContain('pci:15b3:101e@0200 or usb:1a6e:089a');
  });
});

describe('the grace of a check', () => {
  const offer = (amount: string) =>
    api.patch(
      `/api/v1/nodes/${node.name}/status`,
      { status: { capacity: { [RESOURCE]: amount }, allocatable: { [RESOURCE]: amount } } },
      'application/strategic-merge-patch+json',
    );

  test('bridges a device plugin that restarts, and ends', async () => {
    await offer('8');
    await create('plugin', [{ name: 'gpus', resource: { name: RESOURCE, grace: `${GRACE_MS}ms` } }]);
    await labelled('plugin', 'true');
    const fromMs = performance.now();
    await offer('0');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await whyOf('plugin')).toMatch(/counts as passed until .* \(grace: 4 s\)$/);
    await offer('8');
    await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
    expect(embedded.rig.history.since(fromMs, labelOf('plugin'), node.name)).toEqual([]);
    const brokenMs = performance.now();
    await offer('0');
    await labelled('plugin', undefined);
    const [gone] = embedded.rig.history.since(brokenMs, labelOf('plugin'), node.name);
    expect((gone?.atMs ?? 0) - brokenMs).toBeGreaterThan(GRACE_MS - 500);
  });

  test('is not for a check that was edited while no coordinator ran, and never passed', async () => {
    await offer('8');
    const check = (name: string) => ({ name: 'gpus', resource: { name, grace: '1h' } });
    await create('edited', [check(RESOURCE)]);
    await labelled('edited', 'true');
    const path = `${NODE_SERVICES}/edited`;
    await waitFor('the status', async () => {
      const { metadata, status } = await api.get<KubeObject & { status?: { observedGeneration?: number } }>(path);
      return status?.observedGeneration === metadata['generation'];
    });
    await embedded.rig.endCoordinator(await embedded.rig.leader(), 'SIGTERM');
    await api.patch(path, { spec: { checks: [check('example.com/never')] } }, 'application/merge-patch+json');
    await embedded.rig.addCoordinator();
    await labelled('edited', undefined);
  });

  test('is for what the coordinator sees', async () => {
    expect(await refusalOf({ tcp: { port: 1, grace: '10s' } })).toMatch(/unknown field.*grace/);
  });
});

describe('a file that has to be newer than', () => {
  const dated = async (name: string, ageMs: number) => {
    const file = path.join(directory, name);
    await writeFile(file, '');
    const seconds = (Date.now() - ageMs) / 1000;
    await utimes(file, seconds, seconds);
    return file;
  };

  test('the boot does not count when it was written before', async () => {
    const upMs = uptime() * 1000;
    const file = await dated('booted', upMs + 60_000);
    await create('booted', [{ name: 'file', file: { path: file, newerThan: 'Boot' }, period: '200ms' }]);
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(await whyOf('booted')).toBe(`file ${file} was not written to since the node started`);
    await dated('booted', 0);
    await labelled('booted', 'true');
  });

  test('its pod counts only once the pod has written it: what an earlier life wrote opens nothing', async () => {
    const file = await dated('driver', 0);
    const start = async (name: string, startTime: string) => {
      await createPod(api, {
        ...{ namespace: 'default', name, nodeName: node.name, labels: { app: 'driver' }, ready: true },
        ...{ podIP: node.podAddress, hostIP: node.address },
      });
      const path = `/api/v1/namespaces/default/pods/${name}/status`;
      await api.patch(path, { status: { startTime } }, 'application/merge-patch+json');
    };
    const at = (ms: number) => new Date(Math.floor((Date.now() + ms) / 1000) * 1000).toISOString();
    await start('driver-1', at(-60_000));
    await create('driver', [
      { name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'driver' } } } },
      { name: 'file', file: { path: file, newerThan: 'Pod' }, period: '200ms' },
    ]);
    await labelled('driver', 'true');
    await api.delete('/api/v1/namespaces/default/pods/driver-1', { gracePeriodSeconds: 0 });
    await labelled('driver', undefined);
    const fromMs = performance.now();
    await start('driver-2', at(2000));
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(embedded.rig.history.since(fromMs, labelOf('driver'), node.name)).toEqual([]);
    expect(await whyOf('driver')).toBe(`file ${file} was not written to since the pod started`);
    await dated('driver', 0);
    await labelled('driver', 'true');
  });

  test('a pod needs a check of pods', async () => {
    expect(await refusalOf({ file: { path: '/run/x', newerThan: 'Pod' } })).toContain(
      'file.newerThan is Pod, but no check is of the kind pods: add one, or use Boot',
    );
  });
});

describe('a service that speaks HTTP/2', () => {
  /** Says SERVING, that the driver is ready, and 204 to a GET. */
  function serve(server: Http2Server): Http2Server {
    server.on('sessionError', () => {});
    return server.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => {}).resume();
      if (headers[':method'] === 'GET') return stream.respond({ ':status': 204 }, { endStream: true });
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      const isHealth = headers[':path'] === '/grpc.health.v1.Health/Check';
      stream.end(isHealth ? Buffer.from([0, 0, 0, 0, 2, 8, 1]) : Buffer.alloc(5));
    });
  }
  const listen = async (server: Http2Server, at: { port: number; host: string } | { path: string }) => {
    const serving = serve(server);
    await new Promise<void>((resolve) => serving.listen(at, () => resolve()));
    const sessions = new Set<{ destroy(): void }>();
    serving.on('session', (session) => sessions.add(session));
    const stop = () => {
      for (const session of sessions) session.destroy();
      serving.close();
    };
    onTestFinished(stop);
    const bound = serving.address();
    return { stop, port: typeof bound === 'object' && bound ? bound.port : 0 };
  };
  const secure = () => createSecureServer({ key: SERVER_KEY, cert: SERVER_CHAIN }) as unknown as Http2Server;
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');

  test('over TLS is asked by grpc and csi, and its certificate is verified against caBundle', async () => {
    const socket = path.join(directory, 'csi.sock');
    const { port, stop } = await listen(secure(), { port: 0, host: node.address });
    const driver = await listen(secure(), { path: socket });
    const over = { tls: true, caBundle: base64(ISSUER_CERTIFICATE) };
    await create('secured', [
      { name: 'health', grpc: { port, ...over }, period: '200ms' },
      { name: 'driver', csi: { socket, ...over }, period: '200ms' },
      { name: 'unverified', grpc: { port, tls: true }, period: '200ms' },
    ]);
    await labelled('secured', 'true');
    await create('doubted', [{ name: 'health', grpc: { port, tls: true, caBundle: base64(UNRELATED_CERTIFICATE) } }]);
    await create('in-clear', [{ name: 'health', grpc: { port } }]);
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(await whyOf('doubted')).toMatch(/^grpc .* failed the probe \(UNABLE_TO_/);
    expect(embedded.rig.history.labels(node.name)).toMatchObject({ [labelOf('secured')]: 'true' });
    for (const name of ['doubted', 'in-clear'])
      expect(embedded.rig.history.labels(node.name)[labelOf(name)]).toBeUndefined();
    driver.stop();
    await labelled('secured', undefined);
    stop();
  });

  test('is asked in times that are no whole binary fractions of a second', async () => {
    const { port, stop } = await listen(createServer(), { port: 0, host: node.address });
    await create('times', [{ name: 'get', tcp: { port }, period: '2.01s', timeout: '100.5ms' }]);
    await labelled('times', 'true');
    stop();
  });

  test('in clear text is asked by http with h2c', async () => {
    const { port, stop } = await listen(createServer(), { port: 0, host: node.address });
    await create('h2c', [{ name: 'get', http: { port, h2c: true, expectedStatuses: ['204'] }, period: '200ms' }]);
    await create('h1', [{ name: 'get', http: { port, expectedStatuses: ['204'] }, period: '200ms' }]);
    await labelled('h2c', 'true');
    expect(embedded.rig.history.labels(node.name)[labelOf('h1')]).toBeUndefined();
    stop();
    await labelled('h2c', undefined);
  });

  test('with a caBundle needs tls', async () => {
    const caBundle = base64(ISSUER_CERTIFICATE);
    const cure = 'caBundle is for a service that speaks TLS: set tls to true, or remove caBundle';
    expect(await refusalOf({ grpc: { port: 1, caBundle } })).toContain(cure);
    expect(await refusalOf({ csi: { socket: '/run/x', tls: false, caBundle } })).toContain(cure);
  });
});
