import { FIELD_MANAGER, SCALE_DOWN_DISABLED, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ScaleDownStage } from './scale-down-stage.ts';

let stage: ScaleDownStage;
beforeAll(async () => {
  stage = await ScaleDownStage.start();
});
afterAll(() => stage?.stop());

type ManagedFields = { manager: string; operation: string; fieldsV1: unknown }[];

function managersOf(node: KubeObject): ManagedFields {
  return (node.metadata['managedFields'] ?? []) as ManagedFields;
}

/** Writes the annotation as Gitpod's labeler does: it reads the Node, and puts it back whole. */
async function putAsPredecessor(name: string, value = 'true'): Promise<void> {
  const node = await stage.read(name);
  node.metadata.annotations = { ...node.metadata.annotations, [SCALE_DOWN_DISABLED]: value };
  await stage.api.put(`/api/v1/nodes/${name}?fieldManager=node-labeler`, node);
}

async function applyAs(manager: string, name: string, value: string): Promise<void> {
  const metadata = { name, annotations: { [SCALE_DOWN_DISABLED]: value } };
  const path = `/api/v1/nodes/${name}?fieldManager=${manager}`;
  await stage.api.patch(path, { apiVersion: 'v1', kind: 'Node', metadata }, 'application/apply-patch+yaml');
}

/** A workspace comes to the node, is taken note of, and goes. */
async function comeAndGo(node: string): Promise<void> {
  const workspace = await stage.workspace(node);
  await isApplied(node);
  await stage.delete(workspace);
  await waitFor('rollcall to let go', async () => !(await holds(node)));
  await stage.settled();
}

/** Whether rollcall has the annotation among what it applied. */
async function holds(node: string): Promise<boolean> {
  const own = managersOf(await stage.read(node)).find(({ manager }) => manager === FIELD_MANAGER);
  return JSON.stringify(own?.fieldsV1 ?? {}).includes(SCALE_DOWN_DISABLED);
}

async function isApplied(node: string): Promise<void> {
  await waitFor('rollcall to apply the annotation', () => holds(node));
}

test('a person who annotated a node first is in the way of nothing once the annotations are empty', async () => {
  const node = await stage.node();
  await stage.annotate(node, `${SCALE_DOWN_DISABLED}=false`);
  const first = await stage.workspace(node);
  await stage.until(node, 'true');
  await stage.delete(first);
  await stage.until(node, undefined);
  await stage.workspace(node);
  await stage.until(node, 'true');
});

describe('a hold of another client survives the last workspace', () => {
  test('when a person had annotated the node before', async () => {
    const node = await stage.node();
    await stage.annotate(node, `${SCALE_DOWN_DISABLED}=true`);
    await comeAndGo(node);
    expect(stage.valuesOf(node)).toEqual(['true']);
  });

  test('when it was there from the creation of the node', async () => {
    const node = await stage.node({ [SCALE_DOWN_DISABLED]: 'true' });
    await comeAndGo(node);
    expect(stage.valuesOf(node)).toEqual(['true']);
  });

  test('when another applier has it, whether it came first or second', async () => {
    const [first, second] = [await stage.node(), await stage.node()];
    await applyAs('argo', first, 'true');
    await comeAndGo(first);
    const workspace = await stage.workspace(second);
    await isApplied(second);
    await applyAs('argo', second, 'true');
    await stage.delete(workspace);
    await waitFor('rollcall to let go', async () => !(await holds(second)));
    await stage.settled();
    expect([stage.valuesOf(first), stage.valuesOf(second)]).toEqual([['true'], ['true']]);
  });

  test('when another applier has it beside the predecessor', async () => {
    const node = await stage.node();
    await stage.whileDown(async () => {
      await putAsPredecessor(node);
      await applyAs('argo', node, 'true');
    });
    await comeAndGo(node);
    expect(stage.valuesOf(node)).toEqual(['true']);
  });
});

describe(`${SCALE_DOWN_HOLD}: "true"`, () => {
  test('counts like a workspace, and lets go when it is removed or says something else', async () => {
    const node = await stage.node();
    for (const end of [`${SCALE_DOWN_HOLD}-`, `${SCALE_DOWN_HOLD}=false`]) {
      await stage.annotate(node, `${SCALE_DOWN_HOLD}=true`);
      await stage.until(node, 'true');
      await stage.annotate(node, end);
      await stage.until(node, undefined);
    }
  });

  test('keeps the annotation when the last workspace goes, and a workspace keeps it when the hold goes', async () => {
    const node = await stage.node({ [SCALE_DOWN_HOLD]: 'true' });
    await stage.until(node, 'true');
    const workspace = await stage.workspace(node);
    await stage.settled();
    await stage.delete(workspace);
    await stage.settled();
    await stage.workspace(node);
    await stage.settled();
    await stage.annotate(node, `${SCALE_DOWN_HOLD}-`);
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual(['true']);
  });
});

describe('the value of a predecessor', () => {
  test('is taken over without a flap, and goes with the last workspace', async () => {
    const node = await stage.node();
    let workspace = { name: '' };
    await stage.whileDown(async () => {
      await putAsPredecessor(node);
      workspace = await stage.workspace(node);
    });
    await isApplied(node);
    expect(stage.valuesOf(node)).toEqual(['true']);
    await stage.delete(workspace);
    await stage.until(node, undefined);
    await stage.settled();
    expect(stage.valuesOf(node)).toEqual(['true', undefined]);
  });

  test('is cleaned when it is stale, and "false" of a person is not', async () => {
    const [stale, refused] = [await stage.node(), await stage.node({ [SCALE_DOWN_DISABLED]: 'false' })];
    await stage.whileDown(() => putAsPredecessor(stale));
    await stage.until(stale, undefined);
    await stage.settled();
    expect(stage.valuesOf(refused)).toEqual(['false']);
  });
});

describe('what is written', () => {
  test('is one PATCH for each change, and nothing else on the Node', async () => {
    const node = await stage.node();
    await stage.api.delete(`/api/v1/nodes/${node}`);
    const labels = { 'gitpod.io/workload_workspace_regular': 'true', 'example.com/team': 'red' };
    const annotations = { 'example.com/owner': 'somebody', 'rollcall.dev/other': 'kept' };
    await createNode(stage.api, node, { labels, annotations, taints: [{ key: 'foreign', effect: 'NoSchedule' }] });
    await stage.settled();
    const [before, patches] = [await stage.read(node), await stage.patches()];
    const first = await stage.workspace(node);
    await stage.until(node, 'true');
    await stage.patched(patches + 1);
    expect(rest(await stage.read(node))).toEqual(rest(before));
    const second = await stage.workspace(node);
    await stage.delete(first);
    await stage.patched(patches + 1);
    await stage.delete(second);
    await stage.until(node, undefined);
    await stage.patched(patches + 2);
    const after = await stage.read(node);
    expect(rest(after)).toEqual(rest(before));
    expect(managersOf(after)).toEqual(managersOf(before));
  });

  test('is one PATCH also to overcome "false", to take over from a predecessor, and to clean up after it', async () => {
    const [refused, stale] = [await stage.node({ [SCALE_DOWN_DISABLED]: 'false' }), await stage.node()];
    await stage.settled();
    const patches = await stage.patches();
    const workspace = await stage.workspace(refused);
    await stage.until(refused, 'true');
    await stage.patched(patches + 1);
    await stage.delete(workspace);
    await stage.until(refused, undefined);
    await stage.patched(patches + 2);
    await stage.whileDown(async () => {
      await putAsPredecessor(stale);
      await putAsPredecessor(refused);
      await stage.workspace(refused);
    });
    await stage.until(stale, undefined);
    await stage.patched(patches + 4);
  });

  test('is nothing after a restart and after a failover', async () => {
    for (let index = 0; index < 5; index += 1) await stage.workspace(await stage.node());
    await stage.settled();
    const [patches, changes] = [await stage.patches(), stage.changes.length];
    await stage.whileDown(async () => {});
    await stage.patched(patches);
    const standby = await stage.rig.addCoordinator();
    await standby.ready();
    const [leader] = stage.rig.coordinators;
    if (leader) await stage.rig.endCoordinator(leader, 'SIGTERM');
    expect(await stage.rig.leader()).toBe(standby);
    await stage.patched(patches);
    const marker = stage.changes.at(-1)?.node;
    expect(stage.changes.slice(changes).filter(({ node }) => node !== marker)).toEqual([]);
  });
});

test('what ended while no coordinator ran is let go of when one starts', async () => {
  const [left, kept] = [await stage.node(), await stage.node()];
  const workspace = await stage.workspace(left);
  await stage.workspace(kept);
  for (const node of [left, kept]) await stage.until(node, 'true');
  await stage.whileDown(() => stage.delete(workspace));
  await stage.until(left, undefined);
  await stage.settled();
  expect(stage.valuesOf(kept)).toEqual(['true']);
});

/** Everything of a Node that is not rollcall's business. */
function rest({ metadata, ...node }: KubeObject): object {
  const { managedFields, resourceVersion: _version, annotations = {}, ...others } = metadata;
  const { [SCALE_DOWN_DISABLED]: _annotation, ...foreign } = annotations;
  const managers = (managedFields as ManagedFields).filter(({ manager }) => manager !== FIELD_MANAGER);
  return { ...node, metadata: { ...others, annotations: foreign }, managers };
}
