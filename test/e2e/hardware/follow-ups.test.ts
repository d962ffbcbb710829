import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { RuleStage } from './rule-stage.ts';

// What follows when a label goes: pods are evicted, and others are told. With the whole coordinator.

type Message = { node: string; labelsAdded: Record<string, string>; labelsDeleted: string[] };

const USB = 'feature.node.kubernetes.io/usb-ff_18d1_9302.present';
const TPU = 'accelerators/edgetpu';

let stage: RuleStage;
let server: Server;
const messages: Message[] = [];
let status = 200;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (status === 200) messages.push(JSON.parse(body) as Message);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  // Three seconds of the machine.
  const args = ['--evict', '--eviction-delay-seconds=12', `--notify-url=127.0.0.1:${port}/told`];
  stage = await RuleStage.start({ [TPU]: `${USB}\n` }, args, 4);
});
afterAll(async () => {
  await stage?.stop();
  server?.close();
});

async function matchingNode(): Promise<string> {
  const node = await stage.node({ [USB]: 'true' });
  await stage.until(node, { [TPU]: 'true' }, [TPU]);
  return node;
}

async function podOn(nodeName: string, name: string, nodeSelector: Record<string, string>): Promise<string> {
  const path = '/api/v1/namespaces/default/pods';
  await createPod(stage.api, { namespace: 'default', name, nodeName, ready: true, spec: { nodeSelector } });
  return `${path}/${name}`;
}

const isGone = (path: string) =>
  stage.api.get(path).then(
    ({ metadata }) => (metadata as { deletionTimestamp?: string }).deletionTimestamp !== undefined,
    () => true,
  );

test('a pod that asks for a label that rollcall took away is evicted, with an Event, and the others stay', async () => {
  const node = await matchingNode();
  const asks = await podOn(node, 'asks', { [TPU]: 'true' });
  const other = await podOn(node, 'other', { 'kubernetes.io/os': 'linux' });
  await stage.edit(node, { [USB]: null });
  await stage.until(node, { [TPU]: undefined });
  await waitFor('the pod to be evicted', () => isGone(asks));
  expect(await isGone(other)).toBe(false);
  const events = () => stage.api.list('/api/v1/namespaces/default/events');
  const reasons = async () => (await events()).map((event) => (event as { reason?: string }).reason);
  await waitFor('the Event', async () => (await reasons()).includes('EvictedLabelRemoved'));
});

test('a label that comes back soon, however often, evicts no pod', async () => {
  const node = await matchingNode();
  const asks = await podOn(node, 'spared', { [TPU]: 'true' });
  for (let flap = 0; flap < 5; flap += 1) {
    await stage.edit(node, { [USB]: null });
    await stage.until(node, { [TPU]: undefined });
    await stage.edit(node, { [USB]: 'true' });
    await stage.until(node, { [TPU]: 'true' }, [TPU]);
  }
  // One that stays away from now on is waited for as long as any flap would have been.
  const other = await matchingNode();
  const goes = await podOn(other, 'goes', { [TPU]: 'true' });
  await stage.edit(other, { [USB]: null });
  await waitFor('the other pod to be evicted', () => isGone(goes));
  expect(await isGone(asks)).toBe(false);
});

test('it is evicted, too, when the coordinator went between the label and the pod', async () => {
  const node = await matchingNode();
  await stage.whileDown(async () => {});
  await stage.edit(node, { [USB]: null });
  await stage.until(node, { [TPU]: undefined });
  for (const each of [...stage.rig.coordinators]) await stage.rig.endCoordinator(each, 'SIGKILL');
  // No coordinator evicts now; a pod that comes meanwhile is out of place as well.
  const asks = await podOn(node, 'late', { [TPU]: 'true' });
  await stage.rig.addCoordinator();
  await waitFor('the pod to be evicted', () => isGone(asks), { timeoutMs: 40_000 });
});

test('the note of what was taken goes when the label is back', async () => {
  const node = await matchingNode();
  const note = async () => (await stage.read(node)).metadata.annotations?.['rollcall.dev/withdrawn-labels'];
  await stage.edit(node, { [USB]: null });
  await waitFor('the note', async () => (await note()) === `{"${TPU}":"true"}`);
  await stage.edit(node, { [USB]: 'true' });
  await waitFor('the note to go', async () => (await note()) === undefined);
});

test('M-1 M-2 M-6 a receiver hears of a node once in full, then of what changes, also after it failed', async () => {
  const node = await stage.node({ [USB]: 'true' });
  const told = () => messages.filter((message) => message.node === node);
  await waitFor('the label to be told', () => told().some(({ labelsAdded }) => labelsAdded[TPU] === 'true'));
  expect(told()[0]?.labelsAdded[USB]).toBe('true');
  const before = told().length;
  status = 500;
  await stage.edit(node, { [USB]: null });
  await stage.until(node, { [TPU]: undefined });
  const leader = await stage.rig.leader();
  const failed = () => leader.metric('rollcall_coordinator_notifications_total', { notifier: '0', outcome: 'failed' });
  await waitFor('a failure', async () => (await failed()) > 0);
  status = 200;
  await waitFor('the rest to be told', () => told().length > before, { timeoutMs: 30_000 });
  const deleted = () =>
    told()
      .slice(before)
      .flatMap(({ labelsDeleted }) => labelsDeleted);
  await waitFor('both labels to be told', () => deleted().includes(USB) && deleted().includes(TPU));
});
