import { DO_NOT_DISRUPT, SCALE_DOWN_DISABLED, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { HoldStage, KARPENTERS, NODE_HOLDS } from './hold-stage.ts';

let stage: HoldStage;
beforeAll(async () => {
  stage = await HoldStage.start();
});
afterAll(() => stage?.stop());

/** One that every test finds, under this name. */
beforeEach(async () => {
  await stage.hold('batch').catch(() => {});
});

const annotate = (node: string, ...changes: string[]) =>
  stage.embedded.controlPlane.kubectl(['annotate', '--overwrite', 'node', node, ...changes]);

describe('a pod that a NodeHold names', () => {
  test.each(['Succeeded', 'Failed'] as const)('keeps its node until it has ended as %s', async (phase) => {
    const node = await stage.node();
    const pod = await stage.pod(node);
    await stage.until(node, 'true');
    await stage.end(pod, phase);
    await stage.until(node, undefined);
  });

  test('keeps it while it is being deleted, and no longer than it is there', async () => {
    const node = await stage.node();
    const pod = await stage.pod(node, { keep: 'true' }, { terminationGracePeriodSeconds: 300 });
    await stage.until(node, 'true');
    await stage.remove(pod);
    await stage.settled();
    expect(await stage.annotations(node)).toMatchObject({ scaleDown: 'true' });
    await stage.api.delete(`/api/v1/namespaces/batch/pods/${pod}`, { gracePeriodSeconds: 0 });
    await stage.until(node, undefined);
  });

  test('is one of many: the last one counts, and others than those named do not', async () => {
    const node = await stage.node();
    const pods = [await stage.pod(node), await stage.pod(node)];
    await stage.until(node, 'true');
    await stage.pod(node, { keep: 'false' });
    for (const [index, pod] of pods.entries()) {
      await stage.remove(pod);
      if (index === 0) await stage.settled();
      if (index === 0) expect(await stage.annotations(node)).toMatchObject({ scaleDown: 'true' });
    }
    await stage.until(node, undefined);
  });
});

describe('a node of Karpenter', () => {
  test('has the annotation for Karpenter as well, and loses it when it is none any more', async () => {
    const [karpenters, other] = [await stage.node(KARPENTERS), await stage.node()];
    for (const node of [karpenters, other]) await stage.pod(node);
    await stage.until(karpenters, 'true', 'true');
    await stage.until(other, 'true');
    const remove = { metadata: { labels: { 'karpenter.sh/nodepool': null } } };
    await stage.api.patch(`/api/v1/nodes/${karpenters}`, remove);
    await stage.until(karpenters, 'true');
  });

  test('is kept by the annotation of a person alone, too', async () => {
    const node = await stage.node(KARPENTERS, { [SCALE_DOWN_HOLD]: 'true' });
    await stage.until(node, 'true', 'true');
    await annotate(node, `${SCALE_DOWN_HOLD}-`);
    await stage.until(node, undefined);
  });

  test('keeps what a person had said before, and has "false" overwritten while it is held', async () => {
    const theirs = { [DO_NOT_DISRUPT]: 'true', [SCALE_DOWN_DISABLED]: 'true' };
    const [kept, overruled] = [await stage.node(KARPENTERS, theirs), await stage.node(KARPENTERS)];
    await annotate(overruled, `${DO_NOT_DISRUPT}=false`);
    const pods = [await stage.pod(kept), await stage.pod(overruled)];
    await stage.until(overruled, 'true', 'true');
    await waitFor('the coordinator to have the annotations of the other, too', async () => {
      const { managedFields = [] } = (await stage.api.get(`/api/v1/nodes/${kept}`)).metadata;
      return (managedFields as { manager: string }[]).some(({ manager }) => manager === 'rollcall');
    });
    for (const pod of pods) await stage.remove(pod);
    await stage.until(overruled, undefined);
    await stage.settled();
    expect(await stage.annotations(kept)).toEqual({ scaleDown: 'true', disrupt: 'true' });
  });
});

describe('a NodeHold', () => {
  test('counts the nodes that it holds, and says that it is in force', async () => {
    const nodes = [await stage.node(), await stage.node()];
    await stage.hold('counted', { counted: 'true' });
    for (const node of [...nodes, nodes[0] ?? '']) await stage.pod(node, { counted: 'true' });
    await waitFor('the count', async () => (await stage.status('counted')).nodesHeld === 2, { timeoutMs: 30_000 });
    expect(await stage.inForce('counted')).toBe('True InForce');
    const shown = await stage.embedded.controlPlane.kubectl(['get', 'nh', 'counted']);
    expect(shown).toMatch(/NAMESPACE +NODES +IN-FORCE/);
    expect(shown).toMatch(/batch +2 +True/);
    await stage.release('counted');
    for (const node of nodes) await stage.until(node, undefined);
  });

  test('follows its own changes', async () => {
    const [one, two] = [await stage.node(), await stage.node()];
    await stage.pod(one, { team: 'red' });
    await stage.pod(two, { team: 'blue' });
    await stage.hold('team', { team: 'red' });
    await stage.until(one, 'true');
    await stage.api.patch(`${NODE_HOLDS}/team`, { spec: { pods: { selector: { matchLabels: { team: 'blue' } } } } });
    await stage.until(two, 'true');
    await stage.until(one, undefined);
    // There are no pods there, nor is there such a namespace.
    await stage.api.patch(`${NODE_HOLDS}/team`, { spec: { pods: { namespace: 'nowhere' } } });
    await stage.until(two, undefined);
    await stage.release('team');
  });

  test('is explained on its node, beside what else keeps it', async () => {
    const node = await stage.node();
    const pod = await stage.pod(node);
    await stage.until(node, 'true');
    const { keys } = await (await stage.rig.leader()).explain(node);
    expect(keys.find(({ key }) => key === SCALE_DOWN_DISABLED)).toMatchObject({
      stance: 'present',
      reason: `pod of a NodeHold on the node: batch/${pod} (batch)`,
    });
  });

  test('without a selector is refused', async () => {
    await expect(stage.hold('all', {})).rejects.toThrow(/an empty selector would select every pod/);
  });
});

describe('while no coordinator runs', () => {
  test('what comes and what ends is made good, and what is as it was is left alone', async () => {
    const [comes, ends, deleted, stays] = [
      await stage.node(KARPENTERS),
      await stage.node(KARPENTERS),
      await stage.node(KARPENTERS),
      await stage.node(KARPENTERS),
    ];
    await stage.hold('brief', { brief: 'true' });
    const pod = await stage.pod(ends);
    await stage.pod(deleted, { brief: 'true' });
    await stage.pod(stays);
    for (const node of [ends, deleted, stays]) await stage.until(node, 'true', 'true');
    const version = async () => (await stage.api.get(`/api/v1/nodes/${stays}`)).metadata.resourceVersion;
    const before = await version();
    await stage.whileDown(async () => {
      await stage.pod(comes);
      await stage.end(pod, 'Succeeded');
      await stage.release('brief');
    });
    await stage.until(comes, 'true', 'true');
    for (const node of [ends, deleted]) await stage.until(node, undefined);
    await stage.settled();
    expect(await version()).toBe(before);
  });
});

test('--prune releases both annotations, and none of another client', async () => {
  const [ours, theirs] = [await stage.node(KARPENTERS), await stage.node(KARPENTERS, { [DO_NOT_DISRUPT]: 'true' })];
  for (const node of [ours, theirs]) await stage.pod(node);
  for (const node of [ours, theirs]) await stage.until(node, 'true', 'true');
  await stage.rig.prune();
  expect(await stage.annotations(ours)).toEqual({ scaleDown: undefined, disrupt: undefined });
  expect(await stage.annotations(theirs)).toEqual({ scaleDown: undefined, disrupt: 'true' });
});
