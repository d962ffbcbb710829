import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNamespace, createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { finishWorkspace, setWorkspaceStatus } from '../../control-plane/workspaces.ts';
import { watchWithDeafWorkspaces } from './deaf-watch.ts';
import { ScaleDownStage } from './scale-down-stage.ts';

let stage: ScaleDownStage;
beforeAll(async () => {
  stage = await ScaleDownStage.start();
});
afterAll(() => stage?.stop());

describe('the annotation follows workspaces', () => {
  test('T1, S1: it goes when the last of two workspaces is deleted', async () => {
    const node = await stage.node();
    const workspaces = [await stage.workspace(), await stage.workspace()];
    for (const each of workspaces) await stage.move(each, node);
    await stage.until(node, 'true');
    for (const each of workspaces) await stage.delete(each);
    await stage.until(node, undefined);
    expect(stage.valuesOf(node)).toEqual(['true', undefined]);
  });

  test('T2, S2: it is set when a workspace with a finalizer is assigned to the node', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace(undefined, { finalizer: true });
    await stage.settled();
    expect(stage.value(node)).toBeUndefined();
    await stage.move(workspace, node);
    await stage.until(node, 'true');
  });

  test('T3, S3: it stays, without a moment of absence, when the first of two is deleted', async () => {
    const node = await stage.node();
    const [first, second] = [await stage.workspace(node), await stage.workspace(node)];
    await stage.until(node, 'true');
    await stage.delete(first);
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual(['true']);
    await stage.delete(second);
    await stage.until(node, undefined);
  });

  test('T4, S4: each node has its own', async () => {
    const [one, two] = [await stage.node(), await stage.node()];
    const workspace = await stage.workspace(one);
    await stage.workspace(two);
    for (const node of [one, two]) await stage.until(node, 'true');
    await stage.delete(workspace);
    await stage.until(one, undefined);
    await stage.settled();
    expect(stage.valuesOf(two)).toEqual(['true']);
  });

  test('S5: a workspace that has its node when it is first seen counts', async () => {
    const node = await stage.node();
    await stage.whileDown(async () => {
      await stage.workspace(node);
    });
    await stage.until(node, 'true');
  });

  test('S6: when a workspace is on another node, both are looked at', async () => {
    const [one, two] = [await stage.node(), await stage.node()];
    const workspace = await stage.workspace(one);
    await stage.until(one, 'true');
    await stage.move(workspace, two);
    await stage.until(two, 'true');
    await stage.until(one, undefined);
  });

  test('S7: a runtime that is empty first and has its node later counts from then on', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace();
    await setWorkspaceStatus(stage.api, workspace, { phase: 'Creating', runtime: {} });
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual([]);
    await stage.move(workspace, node);
    await stage.until(node, 'true');
  });

  test('W18: a runtime that is taken back, as when the pod is made anew, lets go of the node', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace(node);
    await stage.until(node, 'true');
    await stage.move(workspace, undefined);
    await stage.until(node, undefined);
  });

  test('S8: a change of the status that does not move the workspace writes nothing', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace(node);
    await stage.until(node, 'true');
    await stage.settled();
    const { resourceVersion } = (await stage.read(node)).metadata;
    const patches = await stage.patches();
    await setWorkspaceStatus(stage.api, workspace, { phase: 'Stopping', url: 'https://example.com' });
    await setWorkspaceStatus(stage.api, workspace, { runtime: { podName: 'ws-pod', podIP: '10.1.2.3' } });
    await stage.patched(patches);
    expect((await stage.read(node)).metadata.resourceVersion).toBe(resourceVersion);
  });

  test('S9: a workspace that is being deleted counts until it is gone, since its backup may still run', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace(node, { finalizer: true });
    await stage.until(node, 'true');
    await stage.delete(workspace);
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual(['true']);
    await finishWorkspace(stage.api, workspace);
    await stage.until(node, undefined);
  });

  test('S10: a workspace counts in whatever phase it is', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace();
    await setWorkspaceStatus(stage.api, workspace, { phase: 'Stopped', runtime: { nodeName: node } });
    await stage.until(node, 'true');
    for (const phase of ['Unknown', 'Pending', 'Running', 'Stopped']) {
      await setWorkspaceStatus(stage.api, workspace, { phase });
    }
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual(['true']);
  });

  test('S11: "false" is overwritten while workspaces are there, and left alone with none', async () => {
    const node = await stage.node({ [SCALE_DOWN_DISABLED]: 'false' });
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual(['false']);
    const workspace = await stage.workspace(node);
    await stage.until(node, 'true');
    await stage.annotate(node, `${SCALE_DOWN_DISABLED}=false`);
    await waitFor('the third value', () => stage.valuesOf(node).length === 4);
    expect(stage.valuesOf(node)).toEqual(['false', 'true', 'false', 'true']);
    await stage.delete(workspace);
    await stage.until(node, undefined);
    await stage.annotate(node, `${SCALE_DOWN_DISABLED}=false`);
    await stage.settled();
    expect(stage.value(node)).toBe('false');
  });

  test('S12: an annotation that another client removed is back at once', async () => {
    const node = await stage.node();
    await stage.workspace(node);
    await stage.until(node, 'true');
    await stage.annotate(node, `${SCALE_DOWN_DISABLED}-`);
    await waitFor('it to be back', () => stage.valuesOf(node).length === 3);
    expect(stage.valuesOf(node)).toEqual(['true', undefined, 'true']);
  });

  test('S12: what the watch does not tell, a fresh list tells within five minutes', async () => {
    const node = await stage.node();
    const told = await stage.workspace(node);
    const watched = watchWithDeafWorkspaces(stage.controlPlane);
    try {
      const seen = () => watched.fleet.snapshot(node)?.workspaces?.map(({ name }) => name);
      await waitFor('the first list', () => seen()?.includes(told.name));
      const untold = await stage.workspace(node);
      await stage.delete(told);
      await waitFor('the second list', () => String(seen()) === untold.name);
      expect(watched.listedAfterMs()).toBeGreaterThanOrEqual(300_000);
    } finally {
      await watched.stop();
    }
  });

  test('S13: a workspace on a node that is gone does no harm, and counts again when the node is back', async () => {
    const [gone, other] = [await stage.node(), await stage.node()];
    await stage.workspace(gone);
    const nowhere = await stage.workspace('no-such-node');
    await stage.until(gone, 'true');
    const [coordinator] = stage.rig.coordinators;
    await stage.api.delete(`/api/v1/nodes/${gone}`);
    await stage.until(gone, undefined);
    await stage.workspace(other);
    await stage.until(other, 'true');
    await stage.delete(nowhere);
    expect((await coordinator?.get('/healthz'))?.status).toBe(200);
    expect(coordinator?.logs.filter(({ level }) => level === 'error')).toEqual([]);
    await createNode(stage.api, gone);
    await stage.until(gone, 'true');
  });

  test('S14: workspaces of other namespaces do not count', async () => {
    const node = await stage.node();
    await createNamespace(stage.api, 'elsewhere');
    await stage.workspace(node, { namespace: 'elsewhere' });
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual([]);
  });

  test('within a second of the event', async () => {
    const node = await stage.node();
    const workspace = await stage.workspace();
    const tookMs: number[] = [];
    for (const to of [node, undefined, node, undefined, node]) {
      const fromMs = performance.now();
      await stage.move(workspace, to);
      await stage.until(node, to && 'true');
      tookMs.push(performance.now() - fromMs);
    }
    const median = tookMs.toSorted((a, b) => a - b)[2];
    expect(median).toBeLessThan(1000);
  });
});
