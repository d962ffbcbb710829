import { waitFor } from '../control-plane/wait-for.ts';
import type { Screen } from './screen.ts';
import { SERVICES, type Stage } from './stage.ts';

type Step = { name: string; run: (stage: Stage) => Promise<string> };

/** The tour, in order. Each step returns what was seen, or throws what did not come true. */
const STEPS: readonly Step[] = [
  { name: 'every node gets both labels', run: everyNodeReady },
  { name: 'a killed service loses its label, the rest stays', run: killedService },
  { name: 'a service that answers wrongly loses its label', run: wrongAnswer },
  { name: 'a person who sets the label by hand is corrected', run: correctedByHand },
  { name: 'a foreign label is never touched', run: foreignLabel },
  { name: 'the leader is killed, the other takes over, no label changes', run: leaderKilled },
  { name: 'removing rollcall leaves nothing behind', run: pruned },
];

/** Whether every step came true. */
export async function runTour(stage: Stage, screen: Screen): Promise<boolean> {
  for (const [index, { name, run }] of STEPS.entries()) {
    const title = `${index + 1}/${STEPS.length} ${name}`;
    try {
      screen.log(`ok   ${title}: ${await run(stage)}`);
    } catch (error) {
      screen.log(`FAIL ${title}: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }
  return true;
}

async function everyNodeReady({ rig }: Stage): Promise<string> {
  await rig.allReady(60_000);
  return `${rig.nodes.length} nodes, ${2 * rig.nodes.length} labels`;
}

async function killedService(stage: Stage): Promise<string> {
  const { rig } = stage;
  const node = rig.node(2);
  const label = rig.readyLabel('ws-daemon');
  const fromMs = performance.now();
  await stage.kill(node, 'ws-daemon');
  await rig.history.until(node.name, label, undefined);
  const goneMs = Math.round((rig.history.since(fromMs, label, node.name)[0]?.atMs ?? 0) - fromMs);
  await stage.revive(node, 'ws-daemon');
  await rig.history.until(node.name, label, 'true');
  const others = rig.history.changes.filter(
    ({ atMs, node: name, key }) => atMs >= fromMs && (name !== node.name || key !== label),
  );
  if (others.length > 0) throw new Error(`another label changed: ${JSON.stringify(others[0])}`);
  return `gone ${goneMs} ms after the kill, and back`;
}

async function wrongAnswer({ rig }: Stage): Promise<string> {
  const node = rig.node(1);
  const label = rig.readyLabel('registry-facade');
  await node.service('registry-facade').fault('status 500');
  await rig.history.until(node.name, label, undefined);
  await node.service('registry-facade').fault('none');
  await rig.history.until(node.name, label, 'true');
  return 'gone after three rounds of 500, and back';
}

async function correctedByHand({ rig }: Stage): Promise<string> {
  const { name } = rig.node(3);
  const label = rig.readyLabel('ws-daemon');
  const patch = (value: string | null) =>
    rig.cluster.api.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { [label]: value } } });
  for (const value of [null, 'false']) {
    const fromMs = performance.now();
    await patch(value);
    await waitFor('the change by hand to be seen', () => rig.history.since(fromMs, label, name).length > 0);
    await rig.history.until(name, label, 'true');
  }
  return 'deleted, and set to false: restored both times';
}

async function foreignLabel({ rig }: Stage): Promise<string> {
  const node = rig.node(4);
  await rig.cluster.api.patch(`/api/v1/nodes/${node.name}`, { metadata: { labels: { 'example.com/team': 'rnd' } } });
  for (const service of SERVICES) {
    await node.kill(service);
    await rig.history.until(node.name, rig.readyLabel(service), undefined);
    await node.revive(service);
    await rig.history.until(node.name, rig.readyLabel(service), 'true');
  }
  if (rig.history.labels(node.name)['example.com/team'] !== 'rnd') throw new Error('example.com/team is gone');
  return 'example.com/team=rnd is still there after both labels came and went';
}

async function leaderKilled({ rig }: Stage): Promise<string> {
  const old = await rig.leader();
  const fromMs = performance.now();
  await rig.endCoordinator(old, 'SIGKILL');
  const next = await rig.leader();
  const tookSeconds = ((performance.now() - fromMs) / 1000).toFixed(1);
  const heard = () => next.metric('rollcall_coordinator_reports_total', { result: 'full' });
  await waitFor('every agent to report to the new leader', async () => (await heard()) >= rig.nodes.length, {
    timeoutMs: 30_000,
  });
  const changed = rig.history.changes.filter(({ atMs, key }) => atMs >= fromMs && key.startsWith('gitpod.io/'));
  if (changed.length > 0) throw new Error(`a label changed: ${JSON.stringify(changed[0])}`);
  return `${next.name} leads after ${tookSeconds} s (the lease runs for 15 s)`;
}

async function pruned({ rig }: Stage): Promise<string> {
  await rig.prune();
  for (const { name } of rig.nodes) {
    for (const service of SERVICES) await rig.history.until(name, rig.readyLabel(service), undefined);
  }
  return 'no label of rollcall is left';
}
