import { systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { createKubeClient } from '@rollcall/coordinator/kube/https-client.ts';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import type { EventNews } from '@rollcall/coordinator/subscribers/events/event-object.ts';
import { EventRecorder } from '@rollcall/coordinator/subscribers/events/event-recorder.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';

type StoredEvent = KubeObject & { count: number; message: string; involvedObject: { name: string; uid: string } };
type Rig = { recorder: EventRecorder; answers: string[]; outcomes(): Promise<string>; stop(): Promise<void> };

const user = 'event-writer';
const events = '/api/v1/namespaces/default/events';

let controlPlane: ControlPlane;
let kubeconfig: string;
let rigs: Rig[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  kubeconfig = await controlPlane.kubeconfigFor({ user });
  await allowEvents();
});
afterEach(async () => {
  await Promise.all(rigs.map((rig) => rig.stop()));
  rigs = [];
});
afterAll(async () => {
  await controlPlane?.stop();
});

/** All that the recorder may do: create and patch Events. */
async function allowEvents(): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const metadata = { name: user };
  await controlPlane.api.post(`/apis/${group}/v1/clusterroles`, {
    metadata,
    rules: [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }],
  });
  await controlPlane.api.post(`/apis/${group}/v1/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', apiGroup: group, name: user }],
  });
  const resourceAttributes = { verb: 'patch', resource: 'events', namespace: 'default' };
  await waitFor('the rights', async () => {
    const review = { metadata: {}, spec: { user, resourceAttributes } };
    const answer = await controlPlane.api.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    return (answer as KubeObject & { status: { allowed: boolean } }).status.allowed;
  });
}

function start(remainingMs: () => number = () => 10_000): Rig {
  const answers: string[] = [];
  const client = createKubeClient(fileAccess({ kubeconfig, master: '' }), {
    userAgent: 'rollcall-coordinator/test',
    maxSockets: 8,
    clock: systemClock,
    onAnswer: (verb, code) => answers.push(`${verb} ${code}`),
  });
  const controller = new AbortController();
  const registry = new Registry();
  const requests = new LeaderRequests({ client, fence: { remainingMs }, signal: controller.signal });
  const recorder = new EventRecorder({
    requests,
    mustYield: () => false,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger(),
    registry,
    instance: 'rollcall-coordinator-0',
    signal: controller.signal,
  });
  const rig: Rig = {
    recorder,
    answers,
    outcomes: () => registry.getSingleMetricAsString('rollcall_coordinator_events_total'),
    async stop() {
      controller.abort();
      await requests.settled();
      client.close();
    },
  };
  rigs.push(rig);
  return rig;
}

/** News of a Node that is made for it. */
async function newsOfNode(name: string, more: Partial<EventNews> = {}): Promise<EventNews> {
  const { metadata } = await createNode(controlPlane.api, name);
  const subject = { apiVersion: 'v1', kind: 'Node', name, uid: metadata.uid ?? '' };
  const message = 'ws-daemon refuses connections on 10.0.0.1:8080';
  return { subject, type: 'Warning', reason: 'ServiceNotReady', message, ...more };
}

async function eventsOf({ subject }: EventNews): Promise<StoredEvent[]> {
  const all = await controlPlane.api.list<StoredEvent>(events);
  return all.filter(({ involvedObject }) => involvedObject.uid === subject.uid);
}

describe('an Event', () => {
  test('of a Node is shown by kubectl describe node, and how often it happened', async () => {
    const { recorder, answers } = start();
    const news = await newsOfNode('described');
    recorder.record(news);
    await waitFor('the first', () => answers.includes('create 201'));
    recorder.record(news);
    await waitFor('the second', () => answers.includes('patch 200'));
    const shown = await controlPlane.kubectl(['describe', 'node', 'described']);
    const line = shown.split('\n').find((each) => each.includes(news.message));
    expect(line).toMatch(
      /^ +Warning +ServiceNotReady +\S+ \(x2 over \S+\) +rollcall +ws-daemon refuses connections on 10\.0\.0\.1:8080$/,
    );
    expect(answers).toEqual(['create 201', 'patch 200']);
  });

  test('is kept as it was sent', async () => {
    const { recorder } = start();
    const news = await newsOfNode('whole', { message: 'ä'.repeat(2000) });
    recorder.record(news);
    const event = await waitFor('the event', async () => (await eventsOf(news))[0]);
    expect(event).toMatchObject({
      type: 'Warning',
      reason: 'ServiceNotReady',
      action: 'ServiceNotReady',
      count: 1,
      source: { component: 'rollcall' },
      reportingComponent: 'rollcall',
      reportingInstance: 'rollcall-coordinator-0',
      involvedObject: news.subject,
    });
    expect(Buffer.byteLength(event.message)).toBeLessThanOrEqual(1024);
  });

  test('of an object in a namespace lies there, under the longest name that an object may have', async () => {
    const { recorder, answers } = start();
    const name = `${'a'.repeat(235)}.${'b'.repeat(17)}`;
    const subject = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: 'u', namespace: 'kube-system' };
    recorder.record({ subject, type: 'Normal', reason: 'KeyRefused', message: 'a key is reserved' });
    await waitFor('the event', () => answers.includes('create 201'));
    const stored = await controlPlane.api.list<StoredEvent>('/api/v1/namespaces/kube-system/events');
    expect(stored.map(({ involvedObject }) => involvedObject.name)).toEqual([name]);
  });

  test('that a person deleted is made anew with its count', async () => {
    const { recorder, answers } = start();
    const news = await newsOfNode('deleted');
    recorder.record(news);
    const event = await waitFor('the event', async () => (await eventsOf(news))[0]);
    await controlPlane.api.delete(`${events}/${event.metadata.name}`);
    recorder.record(news);
    await waitFor('the event again', async () => (await eventsOf(news)).length === 1);
    expect((await eventsOf(news))[0]?.count).toBe(2);
    expect(answers).toEqual(['create 201', 'patch 404', 'create 201']);
  });

  test('is not written where the fence is closed', async () => {
    let remainingMs = 0;
    const { recorder, answers, outcomes } = start(() => remainingMs);
    const news = await newsOfNode('fenced');
    recorder.record({ ...news, reason: 'Early' });
    remainingMs = 10_000;
    recorder.record(news);
    await waitFor('what came after', () => answers.length > 0);
    expect((await eventsOf(news)).map((event) => event['reason'])).toEqual(['ServiceNotReady']);
    expect(await outcomes()).toContain('{outcome="dropped"} 1');
  });
});

describe('a node that flaps', () => {
  test('makes one Event of equal news, with few requests', async () => {
    const { recorder, answers } = start();
    const news = await newsOfNode('flapping');
    for (let index = 0; index < 500; index += 1) recorder.record(news);
    await waitFor('the count', async () => (await eventsOf(news))[0]?.count === 500);
    expect(await eventsOf(news)).toHaveLength(1);
    expect(answers.length).toBeLessThanOrEqual(25);
  });

  test('makes 25 Events and no more of news that always differs, and takes nothing from other nodes', async () => {
    const { recorder, outcomes } = start();
    const news = await newsOfNode('babbling');
    const other = await newsOfNode('quiet');
    for (let index = 0; index < 500; index += 1) recorder.record({ ...news, message: `refused ${index} times` });
    recorder.record(other);
    await waitFor('the other node', async () => (await eventsOf(other)).length === 1);
    await waitFor('all', async () => (await outcomes()).includes('{outcome="created"} 26'));
    expect(await eventsOf(news)).toHaveLength(25);
    expect(await outcomes()).toContain('{outcome="suppressed"} 475');
  });
});

describe('an API server that is killed', () => {
  test('has the Event soon after it is back', async () => {
    const { recorder, answers } = start();
    const news = await newsOfNode('outage');
    await controlPlane.killApiServer();
    recorder.record(news);
    await waitFor('an attempt in vain', () => answers.includes('create error'));
    await controlPlane.restartApiServer();
    await waitFor('the event', async () => (await eventsOf(news)).length === 1, { timeoutMs: 30_000 });
  });

  test('does not keep the recorder from stopping', async () => {
    const { recorder, answers, outcomes, stop } = start();
    const news = await newsOfNode('stopping');
    await controlPlane.killApiServer('SIGSTOP');
    try {
      recorder.record(news);
      const startedMs = performance.now();
      await stop();
      expect(performance.now() - startedMs).toBeLessThan(4000);
    } finally {
      await controlPlane.killApiServer('SIGCONT');
    }
    expect(answers).toEqual(['create error']);
    await waitFor('the outcome', async () => (await outcomes()).includes('{outcome="dropped"} 1'));
  });
});
