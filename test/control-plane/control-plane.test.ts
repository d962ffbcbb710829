import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createNamespace, createNode, createPod, type PodObject } from './cluster.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { isAlive } from './file-lock.ts';
import { waitFor } from './wait-for.ts';

const started: ControlPlane[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((controlPlane) => controlPlane.stop()));
});

async function start(options?: ControlPlaneOptions): Promise<ControlPlane> {
  const controlPlane = await startControlPlane(options);
  started.push(controlPlane);
  return controlPlane;
}

function pidsOf(controlPlane: ControlPlane): number[] {
  const { etcdPid, apiServerPid, schedulerPid } = controlPlane;
  return [etcdPid, apiServerPid, schedulerPid].filter((pid) => pid !== undefined);
}

describe('startControlPlane', () => {
  it('leaves no process and no directory behind, with or without a scheduler', async () => {
    for (const scheduler of [false, true]) {
      const controlPlane = await start({ scheduler });
      const pids = pidsOf(controlPlane);
      expect(pids).toHaveLength(scheduler ? 3 : 2);
      expect(pids.every(isAlive)).toBe(true);
      await controlPlane.stop();
      expect(pids.some(isAlive)).toBe(false);
      expect(existsSync(controlPlane.dir)).toBe(false);
      await controlPlane.stop();
    }
  });

  it('runs two at once that know nothing of each other', async () => {
    const [one, other] = await Promise.all([start(), start()]);
    await createNamespace(one.api, 'only-here');
    expect(await one.kubectl(['get', 'namespaces', '-o', 'name'])).toContain('namespace/only-here');
    expect(await other.kubectl(['get', 'namespaces', '-o', 'name'])).not.toContain('only-here');
    await one.stop();
    expect(await other.api.list('/api/v1/namespaces')).toHaveLength(4);
  });

  it('keeps what was written when components are killed and restarted', async () => {
    const controlPlane = await start();
    const { api } = controlPlane;
    await createNamespace(api, 'kept');
    const before = controlPlane.apiServerPid;
    await controlPlane.killApiServer();
    expect(controlPlane.apiServerPid).toBeUndefined();
    await expect(api.get('/api/v1/namespaces/kept')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await controlPlane.restartApiServer();
    expect(controlPlane.apiServerPid).not.toBe(before);
    await controlPlane.restartEtcd();
    const kept = await waitFor('the namespace to be readable again', () => api.get('/api/v1/namespaces/kept'));
    expect(kept.metadata.name).toBe('kept');
  });

  it('stops also when a component was stopped or killed before', async () => {
    const controlPlane = await start();
    const pids = pidsOf(controlPlane);
    await controlPlane.killApiServer('SIGSTOP');
    await controlPlane.killEtcd();
    await controlPlane.stop();
    expect(pids.some(isAlive)).toBe(false);
  });

  it('says what the log of a component said that did not start, and cleans up', async () => {
    const ours = () =>
      readdirSync(tmpdir()).filter((entry) => entry.startsWith(`rollcall-control-plane-${process.pid}-`));
    const failure = startControlPlane({ apiServerArgs: ['--no-such-flag'] });
    await expect(failure).rejects.toThrow(
      /kube-apiserver ended \(1\) before it was ready[\s\S]*unknown flag: --no-such-flag/,
    );
    expect(ours()).toEqual([]);
  });

  it('puts pods on nodes by a scheduler that is configured', async () => {
    const configYaml = 'profiles:\n  - schedulerName: careful\n';
    const { api } = await start({ scheduler: { configYaml } });
    await createNamespace(api, 'work');
    await createNode(api, 'full', { taints: [{ key: 'full', effect: 'NoSchedule' }] });
    await createNode(api, 'free');
    await createPod(api, { namespace: 'work', name: 'guest', spec: { schedulerName: 'careful' } });
    const nodeName = await waitFor('the pod to be placed', async () => {
      return (await api.get<PodObject>('/api/v1/namespaces/work/pods/guest')).spec.nodeName;
    });
    expect(nodeName).toBe('free');
  });

  it('writes an audit log and turns feature gates on when asked', async () => {
    const controlPlane = await start({ auditLog: true, featureGates: { AllAlpha: false } });
    await createNode(controlPlane.api, 'audited');
    const events = readFileSync(controlPlane.auditLogFile ?? '', 'utf8')
      .trim()
      .split('\n');
    const creations = events.map((line) => JSON.parse(line)).filter((event) => event.verb === 'create');
    expect(creations.map((event) => event.objectRef)).toContainEqual(
      expect.objectContaining({ resource: 'nodes', name: 'audited' }),
    );
    const options = readFileSync(join('/proc', String(controlPlane.apiServerPid), 'cmdline'), 'utf8');
    expect(options).toContain('--feature-gates=AllAlpha=false');
  });
});
