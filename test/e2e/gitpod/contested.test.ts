import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { setPodReady } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { keyIn, untilExplained } from './explained.ts';
import { firstPod } from './service-pods.ts';

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 2 });
  rig = embedded.rig;
  await rig.allReady(60_000);
});
afterAll(() => embedded?.stop());

test('a readiness label that another client restores is withdrawn each time, and reported by Event, metric and console', async () => {
  const { api } = embedded.controlPlane;
  const node = rig.node(0);
  let stopped = false;
  const path = `/api/v1/nodes/${node.name}?fieldManager=old-labeler`;
  const stopWatch = watchNodes(api, ({ object: { metadata } }) => {
    if (stopped || metadata.name !== node.name || metadata.labels?.[WS_DAEMON_READY] === 'true') return;
    void api.patch(path, { metadata: { labels: { [WS_DAEMON_READY]: 'true' } } });
  });
  try {
    const began = performance.now();
    await setPodReady(api, 'default', firstPod(node, 'ws-daemon'), false);
    // Who it is becomes known by a read of the Node, a moment after the key is known to be contested.
    const page = await untilExplained(
      rig,
      node.name,
      (document) => keyIn(document, WS_DAEMON_READY).contested?.rival === 'old-labeler',
    );
    expect(keyIn(page, WS_DAEMON_READY)).toMatchObject({ stance: 'absent' });
    const selector = `involvedObject.kind=Node,involvedObject.name=${node.name},reason=KeyContested`;
    const events = await waitFor('the Event', async () => {
      const found = await api.list(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
      return found.length > 0 ? (found as (KubeObject & { message: string; count: number })[]) : undefined;
    });
    expect(events).toMatchObject([
      { count: 1, message: expect.stringContaining(`keeps changing the label ${WS_DAEMON_READY}: `) },
    ]);
    expect(events[0]?.message).toContain('old-labeler');
    const leader = await rig.leader();
    expect(await leader.metric('rollcall_coordinator_contested_keys')).toBe(1);
    await waitFor('a fight', () => performance.now() - began > 10_000, { timeoutMs: 15_000 });
    const withdrawals = await leader.metric('rollcall_coordinator_patches_total', { kind: 'withdraw' });
    // At once, three times more, and after 1, 2, 4 and 8 s.
    expect(withdrawals).toBeGreaterThanOrEqual(6);
    expect(withdrawals).toBeLessThanOrEqual(9);
    expect(leader.logs.filter(({ msg }) => msg === 'Found keys that are changed back')).toHaveLength(1);
  } finally {
    stopped = true;
    stopWatch();
  }
  await rig.history.until(node.name, WS_DAEMON_READY, undefined, 12_000);
  // A contest for one key of one node does not affect another node.
  expect(rig.history.since(0, WS_DAEMON_READY, rig.node(1).name).filter(({ to }) => to === undefined)).toEqual([]);
});
