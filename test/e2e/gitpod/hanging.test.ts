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

const HANG: Record<string, (standIn: StandIn) => Promise<void>> = {
  'accepts and never answers': (standIn) => standIn.fault('hang'),
  'is stopped with SIGSTOP': (standIn) => standIn.kill('SIGSTOP'),
};

const KEYS = { 'ws-daemon': WS_DAEMON_READY, 'registry-facade': REGISTRY_FACADE_READY };

async function goOn(standIn: StandIn): Promise<void> {
  await standIn.kill('SIGCONT');
  await standIn.fault('none');
}

describe.for(['tcp', 'tls', 'http2'] as const)('with ws-daemon probed by %s', (probe) => {
  let embedded: EmbeddedRig;
  let rig: Rig;
  let node: SimulatedNode;
  let patient: SimulatedNode;
  /** The ws-daemon of a node: one that speaks what its agent asks for. */
  const wsDaemons = new Map<SimulatedNode, StandIn>();

  beforeAll(async () => {
    embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs: [`--ws-daemon-probe=${probe}`] });
    rig = embedded.rig;
    [node, patient] = await Promise.all([addNode(PERIOD_MS), addNode(PATIENCE_MS)]);
    await rig.allReady(60_000);
  });
  afterAll(async () => {
    await Promise.all([...wsDaemons.values()].map((standIn) => standIn.stop()));
    await embedded?.stop();
  });

  async function addNode(timeoutMs: number): Promise<SimulatedNode> {
    const timing = [
      ...['period', 'idle-period'].map((time) => `--probe-${time}-ms=${PERIOD_MS}`),
      `--probe-timeout-ms=${timeoutMs}`,
    ];
    const added = await rig.addNode({ agentArgs: [`--failure-threshold=${FAILURE_THRESHOLD}`, ...timing] });
    const { host, port } = added.service('ws-daemon');
    await added.kill('ws-daemon');
    const args = probe === 'tcp' ? [] : [`--${probe}`];
    wsDaemons.set(added, await startStandIn('ws-daemon', { host, port, args }));
    return added;
  }

  function serviceOn(on: SimulatedNode, kind: StandInKind): StandIn {
    return kind === 'ws-daemon' ? (wsDaemons.get(on) ?? on.service(kind)) : on.service(kind);
  }

  async function probes(on: SimulatedNode, service: StandInKind, verdict: string): Promise<number> {
    const { body } = await httpGet(`${on.healthUrl}/metrics`);
    return sumSamples(body, 'rollcall_agent_probes_total', { service, verdict });
  }

  describe.for(Object.keys(HANG))('a service that %s', (how) => {
    const hang = (standIn: StandIn) => HANG[how]?.(standIn);

    test.runIf(probe !== 'tcp')('is noticed after failure-threshold rounds, as is registry-facade', async () => {
      const asked = { 'ws-daemon': probe, 'registry-facade': 'https' };
      await Promise.all(
        (['ws-daemon', 'registry-facade'] as const).map(async (kind) => {
          const softBefore = await probes(node, kind, 'soft');
          const fromMs = performance.now();
          await hang(serviceOn(node, kind));
          await rig.history.until(node.name, KEYS[kind], undefined, NOTICED_MS);
          const [gone] = rig.history.since(fromMs, KEYS[kind], node.name);
          // Each of the rounds runs into the time limit.
          expect((gone?.atMs ?? 0) - fromMs).toBeGreaterThan((FAILURE_THRESHOLD - 1) * PERIOD_MS);
          expect((await probes(node, kind, 'soft')) - softBefore).toBeGreaterThanOrEqual(FAILURE_THRESHOLD);
          const { reason } = await untilServiceExplained(rig, node.name, kind, ({ state }) => state === 'not-ready');
          const { host, port } = serviceOn(node, kind);
          expect(reason).toBe(`${asked[kind]} ${host}:${port} did not answer within ${PERIOD_MS} ms`);
          await goOn(serviceOn(node, kind));
          await rig.history.until(node.name, KEYS[kind], 'true');
        }),
      );
    });

    test.runIf(probe === 'tcp')('is not noticed, as the kernel takes the connections', async () => {
      const fromMs = performance.now();
      await hang(serviceOn(node, 'ws-daemon'));
      const before = await probes(node, 'ws-daemon', 'healthy');
      const rounds = async () => (await probes(node, 'ws-daemon', 'healthy')) - before;
      await waitFor('many rounds', async () => (await rounds()) > 3 * FAILURE_THRESHOLD, { timeoutMs: 30_000 });
      expect(rig.history.since(fromMs, WS_DAEMON_READY, node.name)).toEqual([]);
      await goOn(serviceOn(node, 'ws-daemon'));
    });

    test.runIf(probe === 'http2').for([
      ['ws-daemon', 'registry-facade'],
      ['registry-facade', 'ws-daemon'],
    ] as const)('does not delay the verdict about the other service: %s', async ([hanging, killed]) => {
      const fromMs = performance.now();
      await hang(serviceOn(patient, hanging));
      const before = await probes(patient, killed, 'healthy');
      // By then a probe of the hanging service waits for its answer.
      const rounds = async () => (await probes(patient, killed, 'healthy')) - before;
      await waitFor('rounds of the other service', async () => (await rounds()) >= 3);
      const killedMs = performance.now();
      await Promise.all(
        [patient, node].map(async (victim) => {
          await serviceOn(victim, killed).fault('refuse');
          await rig.history.until(victim.name, KEYS[killed], undefined, PATIENCE_MS);
          const [gone] = rig.history.since(killedMs, KEYS[killed], victim.name);
          expect((gone?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThan(AT_ONCE_MS);
        }),
      );
      expect(rig.history.since(fromMs, KEYS[hanging], patient.name)).toEqual([]);
      await goOn(serviceOn(patient, hanging));
      await Promise.all(
        [patient, node].map(async (victim) => {
          await serviceOn(victim, killed).fault('none');
          await rig.history.until(victim.name, KEYS[killed], 'true');
        }),
      );
    });
  });
});
