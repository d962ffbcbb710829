import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 3 });
  rig = embedded.rig;
  await rig.allReady();
});
afterAll(() => embedded?.stop());

describe('a node whose services answer', () => {
  test('has both labels', () => {
    for (const { name } of rig.nodes) {
      expect(rig.history.labels(name)).toMatchObject({ [WS_DAEMON_READY]: 'true', [REGISTRY_FACADE_READY]: 'true' });
    }
  });

  test('loses the label of a service that is killed, at once, and keeps the other', async () => {
    const node = rig.node(0);
    const killedMs = performance.now();
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined, 5000);
    // Half a second on a quiet machine is far away; the limit only tells an event from a probe round that came by.
    const [gone] = rig.history.since(killedMs, WS_DAEMON_READY, node.name);
    expect((gone?.atMs ?? Number.POSITIVE_INFINITY) - killedMs).toBeLessThan(1000);
    expect(rig.history.since(killedMs, REGISTRY_FACADE_READY)).toEqual([]);
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  });

  test('loses the label of a registry-facade that answers with another status', async () => {
    const node = rig.node(1);
    await node.service('registry-facade').fault('status 500');
    await rig.history.until(node.name, REGISTRY_FACADE_READY, undefined);
    await node.service('registry-facade').fault('none');
    await rig.history.until(node.name, REGISTRY_FACADE_READY, 'true');
  });

  test('loses a label when the pod of the service stops being Ready, though the service answers', async () => {
    const { name } = rig.node(0);
    const path = `/api/v1/namespaces/default/pods/ws-daemon-${name}/status`;
    const condition = (status: string) => ({ status: { conditions: [{ type: 'Ready', status }] } });
    await embedded.controlPlane.api.patch(path, condition('False'), 'application/strategic-merge-patch+json');
    await rig.history.until(name, WS_DAEMON_READY, undefined, 2000);
    await embedded.controlPlane.api.patch(path, condition('True'), 'application/strategic-merge-patch+json');
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });
});

describe('a person who changes one of the labels by hand', () => {
  test('is corrected after deleting it', async () => {
    const { name } = rig.node(2);
    await embedded.controlPlane.kubectl(['label', 'node', name, `${WS_DAEMON_READY}-`]);
    await waitFor('the deletion to be seen', () => rig.history.since(0, WS_DAEMON_READY, name).some(({ to }) => !to));
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('is corrected after setting it to another value', async () => {
    const { name } = rig.node(2);
    await embedded.controlPlane.kubectl(['label', 'node', name, '--overwrite', `${WS_DAEMON_READY}=false`]);
    await waitFor('the change to be seen', () =>
      rig.history.since(0, WS_DAEMON_READY, name).some(({ to }) => to === 'false'),
    );
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('is corrected after setting it while the service is down, by kubectl or by another applier', async () => {
    const node = rig.node(2);
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    for (const byApply of [false, true]) {
      const fromMs = performance.now();
      if (byApply) {
        const body = {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: node.name, labels: { [WS_DAEMON_READY]: 'true' } },
        };
        const path = `/api/v1/nodes/${node.name}?fieldManager=somebody`;
        await embedded.controlPlane.api.patch(path, body, 'application/apply-patch+yaml');
      } else {
        await embedded.controlPlane.kubectl(['label', 'node', node.name, `${WS_DAEMON_READY}=true`]);
      }
      await waitFor('the label to be seen', () => rig.history.since(fromMs, WS_DAEMON_READY, node.name).length > 0);
      await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    }
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  });
});

describe('what others own on a node', () => {
  test('is the same to the byte after labels came and went', async () => {
    const node = rig.node(1);
    const { api, kubectl } = embedded.controlPlane;
    await kubectl(['label', 'node', node.name, 'team=rnd', 'example.com/tier=gold']);
    await kubectl(['annotate', 'node', node.name, 'example.com/note=keep me']);
    await kubectl(['taint', 'node', node.name, 'example.com/dedicated=db:NoSchedule', 'other=x:PreferNoSchedule']);
    const foreign = async () => {
      const { metadata, spec } = await api.get<NodeObject>(`/api/v1/nodes/${node.name}`);
      const labels = { ...metadata.labels };
      delete labels[WS_DAEMON_READY];
      return JSON.stringify({ labels, annotations: metadata.annotations, spec });
    };
    const before = await foreign();
    await node.kill('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, undefined);
    expect(await foreign()).toBe(before);
    await node.revive('ws-daemon');
    await rig.history.until(node.name, WS_DAEMON_READY, 'true');
    expect(await foreign()).toBe(before);
  });
});

test('a label that another client put on a node without an agent goes', async () => {
  await embedded.controlPlane.kubectl(['create', '-f', '-'], {
    stdin: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'bare', labels: { [WS_DAEMON_READY]: 'true', other: 'stays' } },
    }),
  });
  await waitFor('the node to be seen', () => rig.history.labels('bare')['other'] === 'stays');
  await rig.history.until('bare', WS_DAEMON_READY, undefined);
  expect(rig.history.labels('bare')['other']).toBe('stays');
});

test('one change of a node costs one PATCH, and rest costs none', async () => {
  const node = rig.node(0);
  const atRest = await embedded.nodePatches();
  await node.kill('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, undefined);
  await node.revive('ws-daemon');
  await rig.history.until(node.name, WS_DAEMON_READY, 'true');
  // Three heartbeats of every agent pass.
  const leader = await rig.leader();
  const heartbeats = () => leader.metric('rollcall_coordinator_reports_total', { result: 'heartbeat' });
  const before = await heartbeats();
  await waitFor('heartbeats', async () => (await heartbeats()) >= before + 6, { timeoutMs: 40_000, everyMs: 500 });
  expect((await embedded.nodePatches()) - atRest).toBe(2);
});

test('a node loses the label of a killed service some 20 ms later, as most of nine kills show', async () => {
  // A service that falls more often is held back.
  const nodes = await Promise.all([1, 2, 3].map(() => rig.addNode()));
  const tookMs: number[] = [];
  for (const node of nodes) {
    for (let time = 0; time < 3; time += 1) {
      await rig.history.until(node.name, WS_DAEMON_READY, 'true', 30_000);
      const killedMs = performance.now();
      await node.kill('ws-daemon');
      await rig.history.until(node.name, WS_DAEMON_READY, undefined, 5000);
      const [gone] = rig.history.since(killedMs, WS_DAEMON_READY, node.name);
      tookMs.push((gone?.atMs ?? Number.POSITIVE_INFINITY) - killedMs);
      await node.revive('ws-daemon');
    }
  }
  expect(tookMs.toSorted((a, b) => a - b)[4]).toBeLessThan(100);
});
