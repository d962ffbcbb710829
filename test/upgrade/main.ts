import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { buildBundles } from '../../build.ts';
import type { KubeObject } from '../control-plane/api-client.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import type { LabelChange } from '../rig/label-history.ts';
import type { LogLine } from '../rig/program.ts';
import { Rig } from '../rig/rig.ts';
import { ROOT } from '../tidy/sources.ts';
import { type ReleasedCluster, releasedCluster } from './cluster.ts';
import { earlierTree, lastTag, protocolOf } from './earlier-tree.ts';

/**
 * npm run test:upgrade [-- REVISION [ARGUMENTS]]: installs the chart and the programs of an earlier revision, upgrades, rolls back,
 * upgrades again and uninstalls, and counts what Nodes lose on the way. Exits with 1 if they lose anything. The arguments
 * are for `helm upgrade`.
 */
const NODES = 3;
/** Why the coordinators changed Nodes. */
const reasons: string[] = [];
const [wanted, ...helmArgs] = process.argv.slice(2);
const POOL = {
  apiVersion: 'labels.banzaicloud.io/v1alpha1',
  kind: 'NodePoolLabelSet',
  metadata: { name: 'pool1', namespace: 'rollcall' },
  spec: { labels: { tier: 'gold' } },
};

const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-upgrade-'));
const earlier = path.join(dir, 'earlier');
let failed = false;
try {
  const revision = wanted ?? (await lastTag());
  const version = await earlierTree(revision, earlier);
  say(`built ${revision} (chart ${version})`);
  const protocol = await protocolOf(earlier);
  if (protocol !== PROTOCOL_VERSION) {
    say(
      `  its protocol is ${protocol ?? 'without a version'}, and that of this tree ${PROTOCOL_VERSION}: coordinators refuse`,
    );
    say('  the reports of agents of the other tree, so that labels may be lost while agents are replaced');
  }
  await buildBundles();
  const cluster = await releasedCluster(earlier);
  try {
    await play(cluster);
  } finally {
    await cluster.stop();
  }
} finally {
  await rm(dir, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

async function play(cluster: ReleasedCluster): Promise<void> {
  const rig = await Rig.start({ cluster, nodes: 0, coordinators: 2, root: earlier, onCoordinatorLog: remember });
  try {
    for (let node = 0; node < NODES; node += 1) await rig.addNode({ labels: { agentpool: 'pool1', mine: 'stays' } });
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(POOL) });
    await rig.allReady(60_000);
    for (const { name } of rig.nodes) await rig.history.until(name, 'tier', 'gold', 60_000);
    say(`${NODES} nodes have their labels`);

    await change(rig, 'helm upgrade', ROOT, () => cluster.upgrade(ROOT, helmArgs));
    await change(rig, 'helm rollback', earlier, () => cluster.rollback());
    await change(rig, 'helm upgrade, again', ROOT, () => cluster.upgrade(ROOT, helmArgs));

    await cluster.uninstall(dir, async () => {
      await Promise.all([...rig.coordinators].map((coordinator) => rig.endCoordinator(coordinator, 'SIGTERM')));
    });
    await report(cluster);
  } catch (error) {
    throw new Error(rig.coordinators.map((each) => each.tail()).join('\n'), { cause: error });
  } finally {
    await rig.stop();
  }
}

/** One change of the release, with a rollout of all programs; tells how many labels were lost, and for how long. */
async function change(rig: Rig, what: string, root: string, helm: () => Promise<unknown>): Promise<void> {
  const fromMs = performance.now();
  await helm();
  rig.root = root;
  const replaced = [...rig.coordinators];
  await Promise.all([
    (async () => {
      for (const before of replaced) {
        const after = await rig.addCoordinator();
        await after.ready();
        await rig.endCoordinator(before, 'SIGTERM');
      }
    })(),
    (async () => {
      for (const node of rig.nodes) await node.replaceAgent(root);
    })(),
  ]);
  const leader = await rig.leader(60_000);
  // Whatever a new leader would take away, it takes away by then: it waits for 30 s at most.
  await waitFor(
    'fresh agents',
    async () => (await leader.metric('rollcall_coordinator_nodes', { state: 'fresh' })) === NODES,
    { timeoutMs: 60_000 },
  );
  await new Promise((resolve) => setTimeout(resolve, 35_000));
  const lost = rig.history.changes.filter(
    ({ atMs, to, from }) => atMs >= fromMs && from !== undefined && to === undefined,
  );
  const changes = rig.history.changes.filter(({ atMs }) => atMs >= fromMs);
  const away = Math.max(0, ...lost.map((each) => awayMs(each, changes)));
  const seconds = Math.round((performance.now() - fromMs) / 1000);
  say(
    `${what}: ${lost.length} labels lost, for ${Math.round(away)} ms at most; ${changes.length} changed, in ${seconds} s`,
  );
  for (const { node, key, atMs } of lost) say(`  after ${Math.round(atMs - fromMs)} ms ${node} lost ${key}`);
  for (const reason of reasons.splice(0)) say(`  ${reason}`);
  failed ||= lost.length > 0;
}

function remember(coordinator: string, { msg, node, changes }: LogLine): void {
  if (msg !== 'Changed a node' || !Array.isArray(changes)) return;
  for (const { key, to, reason } of changes) {
    if (to === undefined) reasons.push(`${coordinator} took ${key} from ${node}: ${reason}`);
  }
}

/** How long a label was away, also where it never came back. */
function awayMs({ node, key, atMs }: LabelChange, changes: readonly LabelChange[]): number {
  const back = changes.find((each) => each.node === node && each.key === key && each.atMs > atMs);
  return (back?.atMs ?? performance.now()) - atMs;
}

/** What is left on Nodes and in the cluster after the release is uninstalled. */
async function report(cluster: ReleasedCluster): Promise<void> {
  const { items } = JSON.parse(await cluster.kubectl(['get', 'nodes', '-o', 'json'])) as { items: KubeObject[] };
  const left = items.flatMap(({ metadata }) => [
    ...Object.keys(metadata.labels ?? {}),
    ...Object.keys(metadata.annotations ?? {}),
  ]);
  const ours = left.filter((key) => /rollcall|gitpod\.io|nodepool\.banzaicloud|^tier$/.test(key));
  say(`helm uninstall: ${ours.length} labels and annotations left on Nodes`);
  const kinds =
    'deployments,daemonsets,services,jobs,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,priorityclasses';
  const objects = await cluster.kubectl(['get', kinds, '-A', '-l', 'app.kubernetes.io/name=rollcall', '-o', 'name']);
  const names = objects.split('\n').filter(Boolean);
  say(`helm uninstall: ${names.length} objects left ${names.join(' ')}`);
  failed ||= ours.length > 0 || names.length > 0;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
