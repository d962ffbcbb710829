import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { type StandIn, type StandInKind, startStandIn } from '../../stand-ins/stand-in.ts';
import { untilServiceExplained } from './explained.ts';

const PERIOD_MS = 300;
const FAILURE_THRESHOLD = 3;
/** The last of the rounds that it takes has failed by then; generous, as machines are busy. */
const NOTICED_MS = 5000;
/** How long the patient agent waits for one answer. */
const PATIENCE_MS = 20_000;
/** Far less than that. */
const AT_ONCE_MS = 2000;

let embedded: EmbeddedRig;
let rig: Rig;
let byTcp: SimulatedNode;
let byTls: SimulatedNode;
let byHttp2: SimulatedNode;
let patient: SimulatedNode;
/** The ws-daemon of a node: one that speaks what the agent there asks for. */
const wsDaemons = new Map<SimulatedNode, StandIn>();

beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 0 });
  rig = embedded.rig;
  [byTcp, byTls, byHttp2, patient] = await Promise.all([
    addNode('tcp', PERIOD_MS),
    addNode('tls', PERIOD_MS),
    addNode('http2', PERIOD_MS),
    addNode('http2', PATIENCE_MS),
  ]);
  await rig.allReady(60_000);
});
afterAll(async () => {
  await Promise.all([...wsDaemons.values()].map((standIn) => standIn.stop()));
  await embedded?.stop();
});

async function addNode(probe: 'tcp' | 'tls' | 'http2', timeoutMs: number): Promise<SimulatedNode> {
  const timing = [`--probe-period-ms=${PERIOD_MS}`, `--probe-timeout-ms=${timeoutMs}`];
  const agentArgs = [`--ws-daemon-probe=${probe}`, `--failure-threshold=${FAILURE_THRESHOLD}`, ...timing];
  const node = await rig.addNode({ agentArgs });
  const { host, port } = node.service('ws-daemon');
  await node.kill('ws-daemon');
  wsDaemons.set(node, await startStandIn('ws-daemon', { host, port, args: probe === 'tcp' ? [] : [`--${probe}`] }));
  return node;
}

function serviceOn(node: SimulatedNode, kind: StandInKind): StandIn {
  return kind === 'ws-daemon' ? (wsDaemons.get(node) ?? node.service(kind)) : node.service(kind);
}

async function probes(node: SimulatedNode, service: StandInKind, verdict: string): Promise<number> {
  const { body } = await httpGet(`${node.healthUrl}/metrics`);
  return sumSamples(body, 'rollcall_agent_probes_total', { service, verdict });
}

const HANG: Record<string, (standIn: StandIn) => Promise<void>> = {
  'accepts and never answers': (standIn) => standIn.fault('hang'),
  'is stopped with SIGSTOP': (standIn) => standIn.kill('SIGSTOP'),
};

async function goOn(standIn: StandIn): Promise<void> {
  await standIn.kill('SIGCONT');
  await standIn.fault('none');
}

describe.for(Object.keys(HANG))('a service that %s', (how) => {
  const hang = (standIn: StandIn) => HANG[how]?.(standIn);

  test('is noticed after failure-threshold rounds by tls, by http2 and by the check of registry-facade', async () => {
    const watched = [
      { node: byTls, kind: 'ws-daemon', key: WS_DAEMON_READY, asked: 'tls' },
      { node: byHttp2, kind: 'ws-daemon', key: WS_DAEMON_READY, asked: 'http2' },
      { node: byTls, kind: 'registry-facade', key: REGISTRY_FACADE_READY, asked: 'https' },
    ] as const;
    await Promise.all(
      watched.map(async ({ node, kind, key, asked }) => {
        const softBefore = await probes(node, kind, 'soft');
        const fromMs = performance.now();
        await hang(serviceOn(node, kind));
        await rig.history.until(node.name, key, undefined, NOTICED_MS);
        const [gone] = rig.history.since(fromMs, key, node.name);
        // Each of the rounds runs into the time limit.
        expect((gone?.atMs ?? 0) - fromMs).toBeGreaterThan((FAILURE_THRESHOLD - 1) * PERIOD_MS);
        expect((await probes(node, kind, 'soft')) - softBefore).toBeGreaterThanOrEqual(FAILURE_THRESHOLD);
        const { reason } = await untilServiceExplained(rig, node.name, kind, ({ state }) => state === 'not-ready');
        const { host, port } = serviceOn(node, kind);
        expect(reason).toBe(`${asked} ${host}:${port} did not answer within ${PERIOD_MS} ms`);
        await goOn(serviceOn(node, kind));
        await rig.history.until(node.name, key, 'true');
      }),
    );
  });

  test('is not noticed by tcp, as the kernel takes the connections', async () => {
    const fromMs = performance.now();
    await hang(serviceOn(byTcp, 'ws-daemon'));
    const before = await probes(byTcp, 'ws-daemon', 'healthy');
    const rounds = async () => (await probes(byTcp, 'ws-daemon', 'healthy')) - before;
    await waitFor('many rounds', async () => (await rounds()) > 3 * FAILURE_THRESHOLD, { timeoutMs: 30_000 });
    expect(rig.history.since(fromMs, WS_DAEMON_READY, byTcp.name)).toEqual([]);
    await goOn(serviceOn(byTcp, 'ws-daemon'));
  });

  test.for([
    ['ws-daemon', 'registry-facade'],
    ['registry-facade', 'ws-daemon'],
  ] as const)('keeps nobody waiting for the verdict about others: %s', async ([hanging, killed]) => {
    const keys = { 'ws-daemon': WS_DAEMON_READY, 'registry-facade': REGISTRY_FACADE_READY };
    const fromMs = performance.now();
    await hang(serviceOn(patient, hanging));
    const before = await probes(patient, killed, 'healthy');
    // By then a probe of the one that hangs waits for its answer.
    const rounds = async () => (await probes(patient, killed, 'healthy')) - before;
    await waitFor('rounds of the other service', async () => (await rounds()) >= 3);
    const victims = [patient, byTcp].map((node) => ({ node, key: keys[killed] }));
    const killedMs = performance.now();
    await Promise.all(
      victims.map(async ({ node, key }) => {
        await serviceOn(node, killed).fault('refuse');
        await rig.history.until(node.name, key, undefined, PATIENCE_MS);
        const [gone] = rig.history.since(killedMs, key, node.name);
        expect((gone?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThan(AT_ONCE_MS);
      }),
    );
    expect(rig.history.since(fromMs, keys[hanging], patient.name)).toEqual([]);
    await goOn(serviceOn(patient, hanging));
    await Promise.all(
      victims.map(async ({ node, key }) => {
        await serviceOn(node, killed).fault('none');
        await rig.history.until(node.name, key, 'true');
      }),
    );
  });
});
