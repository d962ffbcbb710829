import { setTimeout as sleep } from 'node:timers/promises';
import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiClient, ApiError } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import {
  createWorkspace,
  listWorkspaces,
  setWorkspaceStatus,
  type WorkspaceRef,
} from '../../control-plane/workspaces.ts';
import { ScaleDownStage } from './scale-down-stage.ts';

/** `ROLLCALL_STORM=full` for the size of a large installation; otherwise what every test run can afford. */
const FULL = process.env['ROLLCALL_STORM'] === 'full';
const {
  workspaces: WORKSPACES,
  nodes: NODES,
  seconds: SECONDS,
} = FULL ? { workspaces: 3000, nodes: 300, seconds: 60 } : { workspaces: 300, nodes: 30, seconds: 6 };
const HELD = 10;
const WORKERS = 8;
/** Between two changes of one worker. */
const PAUSE_MS = 20;

let stage: ScaleDownStage;
let nodes: string[];
let anchored: string[];
let held: string[];
/** The only workspace of its node; deleted while no coordinator runs. */
let unseen: WorkspaceRef;
const movable: WorkspaceRef[] = Array.from({ length: WORKSPACES }, (_, index) => ({ name: `storm-${index}` }));
let changes = 0;

beforeAll(async () => {
  stage = await ScaleDownStage.start();
  nodes = await inParallel(Array.from({ length: NODES }), () => stage.node());
  anchored = nodes.slice(0, HELD);
  held = nodes.slice(-HELD);
  await stage.controlPlane.kubectl(['annotate', 'nodes', ...held, `${SCALE_DOWN_DISABLED}=true`]);
  for (const node of anchored) await stage.workspace(node);
  const aside = await stage.node();
  nodes.push(aside);
  unseen = await stage.workspace(aside);
  await inParallel(movable, async (workspace) => {
    await createWorkspace(stage.api, workspace);
    await stage.move(workspace, someNode());
  });
}, 240_000);
afterAll(() => stage?.stop());

async function inParallel<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = items.values();
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (const item of rest) results.push(await act(item));
    }),
  );
  return results;
}

/** Some nodes are crowded and some nearly empty, so that the last workspace leaves a node often. */
function someNode(): string {
  return nodes[Math.floor(NODES * Math.random() ** 10)] as string;
}

async function changeSomething(workspace: WorkspaceRef): Promise<void> {
  const dice = Math.random();
  if (dice < 0.7) await stage.move(workspace, someNode());
  else if (dice < 0.85) await stage.move(workspace, undefined);
  else if (dice < 0.9) await setWorkspaceStatus(stage.api, workspace, { phase: 'Stopping' });
  else await stage.delete(workspace);
  changes += 1;
}

async function storm(share: readonly WorkspaceRef[], untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    const workspace = share[Math.floor(Math.random() * share.length)] as WorkspaceRef;
    // It was deleted before, or the API server is away.
    await changeSomething(workspace).catch(() => createWorkspace(stage.api, workspace).catch(() => {}));
    await sleep(PAUSE_MS);
  }
}

/** Nodes whose annotation is not what Workspaces and people's holds say. */
async function wrong(): Promise<string[]> {
  const occupied = new Set((await listWorkspaces(stage.api)).map(({ status }) => status?.runtime?.nodeName));
  const wanted = (node: string) => (occupied.has(node) || held.includes(node) ? 'true' : undefined);
  const listed = await stage.api.list('/api/v1/nodes');
  const actual = new Map(listed.map(({ metadata }) => [metadata.name, metadata.annotations?.[SCALE_DOWN_DISABLED]]));
  return nodes.filter((node) => actual.get(node) !== wanted(node));
}

test('after a storm of workspaces with a restart of the API server, every annotation is right', {
  timeout: 60_000 + SECONDS * 2000,
}, async ({ annotate }) => {
  await waitFor('the beginning to be right', async () => (await wrong()).length === 0, { timeoutMs: 30_000 });
  const [coordinator] = stage.rig.coordinators;
  const applied = async () =>
    (await coordinator?.metric('rollcall_coordinator_patches_total', { outcome: 'applied' })) ?? Number.NaN;
  const [patchesBefore, updatesBefore] = [await applied(), stage.updates];
  const untilMs = performance.now() + SECONDS * 1000;
  const shares = Map.groupBy(movable, (_, index) => index % WORKERS);
  const storming = Promise.all([...shares.values()].map((share) => storm(share, untilMs)));
  await sleep(SECONDS * 400);
  await stage.controlPlane.killApiServer();
  await coordinator?.kill('SIGSTOP');
  await stage.controlPlane.restartApiServer();
  await stage.delete(unseen);
  await coordinator?.kill('SIGCONT');
  await storming;
  await waitFor('Workspaces to be listed again', () => isListed(stage.api), { timeoutMs: 30_000 });
  const left = new Set([...held, ...nodes.slice(-2 * HELD, -HELD)]);
  const leaving = (await listWorkspaces(stage.api)).filter(({ status }) => left.has(status?.runtime?.nodeName ?? ''));
  await inParallel(leaving, ({ metadata }) => stage.move({ name: metadata.name }, undefined));
  const lastMs = performance.now();
  await waitFor('every annotation to be right', async () => (await wrong()).length === 0, { timeoutMs: 30_000 });
  const tookMs = Math.round(performance.now() - lastMs);
  await stage.settled();
  expect(await wrong()).toEqual([]);
  const updates = stage.updates - updatesBefore;
  const patches = (await applied()) - patchesBefore;
  await annotate(
    `${changes} changes, ${updates} updates of Nodes, ${patches} PATCHes, all right ${tookMs} ms after the last change`,
  );
  expect(changes).toBeGreaterThan(WORKSPACES / 4);
  expect(nodes.filter((node) => stage.value(node) === undefined).length).toBeGreaterThanOrEqual(HELD);
  expect(patches).toBeLessThan(changes);
  for (const node of [...anchored, ...held]) expect(stage.valuesOf(node)).toEqual(['true']);
});

/** An API server that has just started is not ready for custom resources yet, although it says that it is. */
function isListed(api: ApiClient): Promise<boolean> {
  return listWorkspaces(api).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 429) return false;
      throw error;
    },
  );
}
