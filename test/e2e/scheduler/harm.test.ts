import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ensureBinaries } from '../../control-plane/binaries.ts';
import { createNamespace, createNode, createPod, type PodObject, setPodReady } from '../../control-plane/cluster.ts';
import type { Component } from '../../control-plane/component.ts';
import { anotherScheduler, SCHEDULER_USER } from '../../control-plane/launch.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { schedulerProfile } from '../../rig/scheduler-profile.ts';
import { SchedulerStage } from './scheduler-stage.ts';

// A real kube-scheduler, and what the extender must not do to the pods of a cluster.

const PODS = '/api/v1/namespaces/default/pods';

let stage: SchedulerStage;
const schedulers: Component[] = [];
beforeAll(async () => {
  stage = await SchedulerStage.start({ nodes: 4, coordinatorArgs: ['--max-starting-per-node=1'] });
  await createNode(stage.api, 'plain', {});
  await createNamespace(stage.api, 'other');
  await stage.api.post('/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'urgent' },
    value: 1000,
  });
});
afterEach(() => stage?.clear());
afterAll(async () => {
  for (const scheduler of schedulers) await scheduler.kill('SIGKILL');
  await stage?.stop();
});

const on = (name: string) => ({ nodeSelector: { 'kubernetes.io/hostname': name } });
const nodeName = (index: number) => stage.rig.node(index).name;
const asking = (cpu: string) => ({ containers: [{ name: 'main', image: 'none', resources: { requests: { cpu } } }] });

async function startScheduler(name: string, configYaml: string): Promise<void> {
  const { controlPlane } = stage.cluster;
  const { 'kube-scheduler': command } = await ensureBinaries({ names: ['kube-scheduler'] });
  const kubeconfig = await controlPlane.kubeconfigFor({ user: SCHEDULER_USER });
  const scheduler = await anotherScheduler(controlPlane, { name, command, kubeconfig, configYaml });
  schedulers.push(scheduler);
  await scheduler.start();
}

test('pods of other namespaces pass at once, whatever their labels are', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `alike-${index}`);
  const spec = { schedulerName: 'gitpod-scheduler', ...on('plain') };
  const fromMs = performance.now();
  const create = (name: string) =>
    createPod(stage.api, { namespace: 'other', name, labels: { component: 'workspace' }, spec });
  await Promise.all(names.map(create));
  const waiting = async () =>
    (await stage.api.list<PodObject>('/api/v1/namespaces/other/pods')).filter(({ spec: { nodeName: at } }) => !at);
  await waitFor('the pods to have a node', async () => (await waiting()).length === 0, { timeoutMs: 20_000 });
  // A wait for each of them would be four seconds.
  expect(performance.now() - fromMs).toBeLessThan(3_000);
});

test('no pod is evicted from nodes that would be refused all the same, and one is where that helps', async () => {
  const fillers = [0, 1, 2, 3].map((index) => `filler-${index}`);
  for (const [index, name] of fillers.entries()) {
    await stage.workspace(`starts-${index}`, {}, { ...on(nodeName(index)), ...asking('100m') });
    await stage.nodeOf(`starts-${index}`);
    await createPod(stage.api, { namespace: 'default', name, nodeName: nodeName(index), spec: asking('15') });
  }
  const left = async () => {
    const pods = await stage.api.list<PodObject>(PODS);
    return fillers.filter((name) => pods.some(({ metadata }) => metadata.name === name));
  };
  const asked = async () =>
    (await stage.rig.leader()).metric('rollcall_coordinator_extender_requests_total', { verb: 'preempt' });
  await stage.workspace('urgent', {}, { ...asking('8'), priorityClassName: 'urgent' });
  await waitFor('an eviction, or a question', async () => (await asked()) > 0 || (await left()).length < 4, {
    timeoutMs: 20_000,
  });
  await stage.untilRefused('urgent');
  expect(await left()).toEqual(fillers);
  await setPodReady(stage.api, 'default', 'starts-2', true);
  expect(await stage.nodeOf('urgent')).toBe(nodeName(2));
  expect(await left()).toEqual(['filler-0', 'filler-1', 'filler-3']);
});

test('a node is not closed by a pod that was Ready once, nor by one that has started for long', async () => {
  const spec = on(nodeName(0));
  await stage.workspace('ran', {}, spec);
  await stage.nodeOf('ran');
  await setPodReady(stage.api, 'default', 'ran', true);
  await setPodReady(stage.api, 'default', 'ran', false);
  await stage.workspace('next', {}, spec);
  expect(await stage.nodeOf('next')).toBe(nodeName(0));
  await stage.workspace('third', {}, spec);
  expect(await stage.untilRefused('third')).toContain('already starting on the node (1)');
  const lastTransitionTime = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime }];
  await stage.api.patch(`${PODS}/next/status`, { status: { conditions } });
  expect(await stage.nodeOf('third')).toBe(nodeName(0));
});

test('a pod that waits for its volume counts on its node also after a failover', async () => {
  await stage.api.post('/apis/storage.k8s.io/v1/storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'never' },
    provisioner: 'never.example.com',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  await stage.api.post('/api/v1/namespaces/default/persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'never' },
    spec: {
      storageClassName: 'never',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    },
  });
  const spec = on(nodeName(3));
  const volumes = [{ name: 'never', persistentVolumeClaim: { claimName: 'never' } }];
  await stage.workspace('volume', {}, { ...spec, volumes });
  await waitFor('kube-scheduler to choose a node', async () => {
    const { status } = await stage.api.get<PodObject & { status: { nominatedNodeName?: string } }>(`${PODS}/volume`);
    return status.nominatedNodeName === nodeName(3);
  });
  await stage.workspace('before', {}, spec);
  expect(await stage.untilRefused('before')).toContain('already starting on the node (1)');
  await stage.restart([], 'SIGKILL');
  await stage.workspace('after', {}, spec);
  expect(await stage.untilRefused('after')).toContain('already starting on the node (1)');
});

test('two schedulers at once give no node more than may start there', async () => {
  const config = (await schedulerProfile(stage.port))
    .replace('schedulerName: default-scheduler', 'schedulerName: another-default')
    .replace('schedulerName: gitpod-scheduler', 'schedulerName: another');
  await startScheduler('kube-scheduler-2', config);
  for (let round = 0; round < 10; round += 1) {
    const names = Array.from({ length: 6 }, (_, index) => `round-${round}-${index}`);
    const schedulerName = (index: number) => (index % 2 ? 'another' : 'gitpod-scheduler');
    await Promise.all(names.map((name, index) => stage.workspace(name, {}, { schedulerName: schedulerName(index) })));
    const placed = async () => {
      const pods = await stage.api.list<PodObject>(PODS);
      return pods.filter(({ metadata, spec }) => names.includes(metadata.name) && spec.nodeName !== undefined);
    };
    await waitFor('four to be placed', async () => (await placed()).length >= 4, { timeoutMs: 30_000 });
    for (const name of names) {
      await waitFor('the others to be refused', async () => {
        const { spec, status } = await stage.api.get<PodObject>(`${PODS}/${name}`);
        return spec.nodeName !== undefined || status.conditions?.some(({ type }) => type === 'PodScheduled');
      });
    }
    const nodes = (await placed()).map(({ spec }) => spec.nodeName);
    expect(new Set(nodes).size, `round ${round}: ${nodes}`).toBe(nodes.length);
    await stage.clear();
  }
});

test('a coordinator that hangs does not hold up the pods of the cluster', async () => {
  const profile = await readFile(path.resolve(import.meta.dirname, '../../../deploy/scheduler/profile.yaml'), 'utf8');
  const config = profile
    .replace('http://rollcall-coordinator.rollcall.svc:8888', `http://127.0.0.1:${stage.port}`)
    .replace('schedulerName: default-scheduler', 'schedulerName: own-default')
    .replace('schedulerName: gitpod-scheduler', 'schedulerName: own');
  await startScheduler('kube-scheduler-3', config);
  const resources = { limits: { 'rollcall.dev/placed': '1' } };
  const own = { schedulerName: 'own', containers: [{ name: 'main', image: 'none', resources }] };
  await stage.workspace('asked', {}, { ...own, ...on('plain') });
  expect(await stage.untilRefused('asked')).toContain('the node is not for regular workspaces');
  await stage.workspace('placed', {}, own);
  expect(await stage.nodeOf('placed')).toMatch(/^node-/);
  const leader = await stage.rig.leader();
  await leader.kill('SIGSTOP');
  const fromMs = performance.now();
  const names = Array.from({ length: 5 }, (_, index) => `plain-${index}`);
  await Promise.all(names.map((name) => stage.pod(name, {}, { schedulerName: 'own-default' })));
  for (const name of names) await stage.nodeOf(name, 60_000);
  expect(performance.now() - fromMs).toBeLessThan(5_000);
  await stage.pod('beside', {}, { schedulerName: 'gitpod-scheduler' });
  const besideMs = performance.now();
  await stage.nodeOf('beside', 60_000);
  expect(performance.now() - besideMs).toBeLessThan(6_000);
  await leader.kill('SIGCONT');
});
