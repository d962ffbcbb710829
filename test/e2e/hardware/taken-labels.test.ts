import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { PoolStage } from '../pools/pool-stage.ts';

// Labels that go by a request of their own: who is evicted for them, with the whole coordinator.

const NOTE = 'rollcall.dev/withdrawn-labels';

let stage: PoolStage;
beforeAll(async () => {
  stage = await PoolStage.start({ coordinatorArgs: ['--evict', '--evict-readiness', '--eviction-delay-seconds=1'] });
});
afterAll(() => stage?.stop());

/** Puts a pod with this selector onto a Node, and says whether it was told to go. */
async function podOn(nodeName: string, name: string, nodeSelector: Record<string, string>) {
  await createPod(stage.api, { namespace: 'default', name, nodeName, ready: true, spec: { nodeSelector } });
  return () =>
    stage.api.get(`/api/v1/namespaces/default/pods/${name}`).then(
      ({ metadata }) => (metadata as { deletionTimestamp?: string }).deletionTimestamp !== undefined,
      () => true,
    );
}

const noteOn = (node: string) => stage.states.last(node)?.annotations[NOTE];

test('a service that is killed evicts who asks for its label, and the note goes when it is back', async () => {
  const node = await stage.rig.addNode();
  await stage.rig.allReady();
  const asks = await podOn(node.name, 'asks-for-service', { [WS_DAEMON_READY]: 'true' });
  const other = await podOn(node.name, 'asks-for-nothing', {});
  await node.kill('ws-daemon');
  await stage.until(node.name, { labels: { [WS_DAEMON_READY]: undefined } });
  await waitFor('the note', () => JSON.parse(noteOn(node.name) ?? '{}')[WS_DAEMON_READY] === 'true');
  await waitFor('the pod to be evicted', asks);
  expect(await other()).toBe(false);
  await node.revive('ws-daemon');
  await stage.until(node.name, { labels: { [WS_DAEMON_READY]: 'true' } }, 30_000);
  await waitFor('the note to go', () => noteOn(node.name) === undefined);
});

test('a pool that no longer asks for a label evicts who asks for it', async () => {
  await stage.pool('poor', { tier: 'gold', zone: 'a' });
  const node = await stage.node('poor');
  await stage.until(node, { labels: { tier: 'gold' }, managed: ['tier', 'zone'] });
  const asks = await podOn(node, 'asks-for-tier', { tier: 'gold' });
  const other = await podOn(node, 'asks-for-zone', { zone: 'a' });
  await stage.relabel('poor', { zone: 'a' });
  await waitFor('the note', () => noteOn(node) === '{"tier":"gold"}');
  await waitFor('the pod to be evicted', asks);
  expect(await other()).toBe(false);
});

test('so does one whose label changes its value, but for those whom the new one suits', async () => {
  await stage.pool('rich', { tier: 'gold' });
  const node = await stage.node('rich');
  await stage.until(node, { labels: { tier: 'gold' }, managed: ['tier'] });
  const asks = await podOn(node, 'asks-for-gold', { tier: 'gold' });
  await stage.relabel('rich', { tier: 'silver' });
  await waitFor('the note', () => noteOn(node) === '{"tier":"gold"}');
  const other = await podOn(node, 'asks-for-silver', { tier: 'silver' });
  await waitFor('the pod to be evicted', asks);
  expect(await other()).toBe(false);
});
