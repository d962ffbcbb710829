import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBinaries } from '../control-plane/binaries.ts';
import { createPod, type PodObject } from '../control-plane/cluster.ts';
import type { Component } from '../control-plane/component.ts';
import { anotherScheduler, SCHEDULER_USER } from '../control-plane/launch.ts';
import { freePort } from '../control-plane/ports.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { schedulerProfile } from '../rig/scheduler-profile.ts';
import { eachOf } from './each-of.ts';
import type { Lab } from './lab.ts';
import type { Bench } from './result.ts';
import { measuresOf, timedReports } from './timed-reports.ts';

const SCHEDULERS = 4;
const PODS_PER_SCHEDULER_MAX = 100;
const PODS = '/api/v1/namespaces/default/pods';
const CONCURRENCY = 16;
const PLACED_WITHIN_MS = 600_000;

/** Several kube-schedulers ask about every node for each of their pods, while the fleet sends its heartbeats. */
export const benchSchedulers: Bench = async (lab, { nodes, idleSeconds }) => {
  const port = await freePort();
  await lab.lead([`--scheduler-listen=127.0.0.1:${port}`]);
  await lab.during('labelling the fleet', () => lab.labelled(nodes));
  await lab.quiet();
  const alone = await lab.during('reports alone', () => timedReports(lab, () => sleep(idleSeconds * 1000)));
  const pods = SCHEDULERS * Math.min(nodes, PODS_PER_SCHEDULER_MAX);
  const names = Array.from({ length: pods }, (_, index) => `workspace-${index}`);
  const schedulers: Component[] = [];
  try {
    for (let index = 0; index < SCHEDULERS; index += 1) schedulers.push(await startScheduler(lab, index, port));
    const questions = async (verb: string) => ({
      count: await lab.coordinator.metric('rollcall_coordinator_extender_duration_seconds_count', { verb }),
      seconds: await lab.coordinator.metric('rollcall_coordinator_extender_duration_seconds_sum', { verb }),
    });
    const before = { filter: await questions('filter'), prioritize: await questions('prioritize') };
    const beside = await lab.during(`${SCHEDULERS} schedulers`, () => timedReports(lab, () => placePods(lab, names)));
    const meanMs = async (verb: 'filter' | 'prioritize') => {
      const after = await questions(verb);
      return (1000 * (after.seconds - before[verb].seconds)) / (after.count - before[verb].count);
    };
    const asked = (await questions('filter')).count - before.filter.count;
    return [
      ...measuresOf('alone', alone),
      ...measuresOf(`beside ${SCHEDULERS} schedulers`, beside),
      { what: 'pods placed a second', value: names.length / beside.seconds, unit: '' },
      { what: 'questions of filter', value: asked, unit: '' },
      { what: 'filter, mean', value: await meanMs('filter'), unit: 'ms' },
      { what: 'prioritize, mean', value: await meanMs('prioritize'), unit: 'ms' },
    ];
  } finally {
    for (const scheduler of schedulers) await scheduler.kill('SIGKILL');
    const remove = (name: string) => lab.cluster.api.delete(`${PODS}/${name}?gracePeriodSeconds=0`).catch(() => {});
    await eachOf(names, CONCURRENCY, remove);
  }
};

/** With names of its own, so that each pod has one scheduler. */
async function startScheduler({ cluster: { controlPlane } }: Lab, index: number, port: number): Promise<Component> {
  const binaries = await ensureBinaries({ names: ['kube-scheduler'] });
  const kubeconfig = await controlPlane.kubeconfigFor({ user: SCHEDULER_USER });
  const configYaml = (await schedulerProfile(port))
    .replace('schedulerName: default-scheduler', `schedulerName: default-${index}`)
    .replace('schedulerName: gitpod-scheduler', `schedulerName: ${schedulerName(index)}`);
  const name = `kube-scheduler-${index}`;
  const command = binaries['kube-scheduler'];
  const scheduler = await anotherScheduler(controlPlane, { name, command, kubeconfig, configYaml });
  await scheduler.start();
  return scheduler;
}

function schedulerName(index: number): string {
  return `bench-${index}`;
}

/** Creates workspaces for all schedulers in turn, and waits until every one has a node. */
async function placePods({ cluster: { api } }: Lab, names: readonly string[]): Promise<void> {
  await eachOf(names, CONCURRENCY, async (name, index) => {
    const labels = { component: 'workspace', workspaceType: 'regular', headless: 'false' };
    // No controller takes the taint of a new Node away.
    const tolerations = [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }];
    const spec = { schedulerName: schedulerName(index % SCHEDULERS), tolerations };
    await createPod(api, { namespace: 'default', name, labels, spec });
  });
  const waiting = async () => {
    const pods = await api.list<PodObject>(`${PODS}?labelSelector=component%3Dworkspace`);
    return pods.filter(({ spec }) => spec.nodeName === undefined).length;
  };
  await waitFor('every workspace to have a node', async () => (await waiting()) === 0, { timeoutMs: PLACED_WITHIN_MS });
}
