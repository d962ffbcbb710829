import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createCertificateAuthority, type KeyPairPem } from '../../control-plane/certificates.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { ask } from './ask.ts';
import { SchedulerStage } from './scheduler-stage.ts';

describe('an extender that may be ignored', () => {
  let stage: SchedulerStage;
  beforeAll(async () => {
    stage = await SchedulerStage.start({ nodes: 1, ignorable: true });
  });
  afterAll(() => stage?.stop());

  test('is ignored while it is dead', async () => {
    await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGKILL');
    await stage.workspace('without');
    expect(await stage.nodeOf('without')).toBe(stage.rig.node(0).name);
  });
});

describe('an extender that may not be ignored', () => {
  let stage: SchedulerStage;
  beforeAll(async () => {
    stage = await SchedulerStage.start({ nodes: 1, ignorable: false, clockSpeed: 4 });
  });
  afterAll(() => stage?.stop());

  test('keeps pods waiting while it is dead, and they are scheduled when it is back', async () => {
    await stage.workspace('before');
    await stage.nodeOf('before');
    await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGKILL');
    await stage.workspace('waiting');
    expect(await stage.untilRefused('waiting')).not.toBe('');
    await stage.rig.addCoordinator();
    await stage.rig.leader();
    expect(await stage.nodeOf('waiting', 120_000)).toBe(stage.rig.node(0).name);
  });
});

describe('without a scheduler, which this test is instead,', () => {
  let cluster: EmbeddedCluster;
  beforeAll(async () => {
    cluster = await embeddedCluster();
  });
  afterAll(() => cluster?.stop());

  describe('two coordinators that serve HTTPS to whom they know', () => {
    let rig: Rig;
    let scheduler: KeyPairPem;
    beforeAll(async () => {
      const authority = await createCertificateAuthority('schedulers');
      scheduler = await authority.issue({ commonName: 'system:kube-scheduler' });
      const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-scheduler-ca-'));
      await writeFile(path.join(dir, 'ca.crt'), authority.cert);
      const files = ['--scheduler-tls=on', `--scheduler-client-ca-file=${path.join(dir, 'ca.crt')}`];
      const coordinatorArgs = ['--scheduler-listen=127.0.0.1:0', ...files];
      rig = await Rig.start({ cluster, nodes: 0, coordinators: 2, coordinatorArgs });
      await rm(dir, { recursive: true });
    });
    afterAll(() => rig?.stop());

    /** The status of an answer, or the code of what went wrong. */
    const statusOf = (port: number, tls: object) =>
      new Promise<number | string | undefined>((resolve) => {
        const body = JSON.stringify({ Pod: {}, Nodes: null, NodeNames: [] });
        const headers = { 'content-type': 'application/json', 'content-length': body.length };
        const options = { method: 'POST', headers, agent: false as const, ...tls };
        const outgoing = request(`https://127.0.0.1:${port}/scheduler/filter`, options, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        });
        outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
        outgoing.end(body);
      });

    test('answer a scheduler with a certificate, the standby through the leader, and no other client', async () => {
      const path = '/api/v1/namespaces/rollcall/configmaps/rollcall-coordinator-ca';
      const { data } = await cluster.api.get<KubeObject & { data: Record<string, string> }>(path);
      const ca = data['ca.crt'];
      for (const coordinator of rig.coordinators) {
        const { port } = (await coordinator.waitForLog('Started'))['scheduler'] as { port: number };
        const asked = () => statusOf(port, { ca, servername: 'rollcall-coordinator.rollcall.svc', ...scheduler });
        await waitFor(`${coordinator.name} to answer`, async () => (await asked()) === 200, { timeoutMs: 20_000 });
        expect(await statusOf(port, { ca, servername: 'rollcall-coordinator.rollcall.svc' })).not.toBe(200);
      }
    });
  });

  describe('two coordinators', () => {
    let rig: Rig;
    beforeAll(async () => {
      // Each takes a port of its own.
      const coordinatorArgs = ['--scheduler-listen=127.0.0.1:0'];
      rig = await Rig.start({ cluster, nodes: 1, coordinators: 2, clockSpeed: 4, coordinatorArgs });
      await rig.allReady();
    });
    afterAll(() => rig?.stop());

    const portOf = async (name: string) => {
      const coordinator = rig.coordinators.find((each) => each.name === name);
      const started = await coordinator?.waitForLog('Started');
      return (started?.['scheduler'] as { port: number } | undefined)?.port ?? 0;
    };
    const question = async (port: number) => {
      const pod = { metadata: { name: 'x', namespace: 'default', labels: { component: 'workspace' } } };
      const fromMs = performance.now();
      const answer = await ask(port, 'filter', { Pod: pod, Nodes: null, NodeNames: [rig.node(0).name] });
      return { ...answer, tookMs: performance.now() - fromMs };
    };

    test('a standby passes questions on to the leader, and refuses at once while there is none', async () => {
      const leader = await rig.leader();
      const [standby] = rig.coordinators.filter((each) => each !== leader);
      const port = await portOf(standby?.name ?? '');
      await waitFor('the standby to pass it on', async () => (await question(port)).status === 200);
      expect((await question(port)).body).toBe((await question(await portOf(leader.name))).body);
      await rig.endCoordinator(leader, 'SIGKILL');
      const answers: { status: number; tookMs: number }[] = [];
      await waitFor(
        'the standby to lead and answer itself',
        async () => {
          const answer = await question(port);
          answers.push(answer);
          return answer.status === 200;
        },
        { timeoutMs: 60_000, everyMs: 100 },
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503, 200]));
      expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(3000);
    });
  });
});
