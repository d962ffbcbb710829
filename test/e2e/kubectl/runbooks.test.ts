import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderChart } from '../../chart/render.ts';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { ensureHelm } from '../../helm/helm.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { nodeService } from '../services/node-services.ts';
import { DEPLOY, RunbookPages } from './runbook-pages.ts';

/*
 * The commands of the runbooks, copied out of them and run by a shell: with kubectl, the plugin, and the faults that the
 * runbooks are about. No kubelet runs here, so the plugin is told where the console is, and no pod has a log.
 */
const CONFLICTING = 'node-2';
const WITHOUT_AGENT = 'node-without-agent';
const POOL = {
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'NodePoolLabels',
  metadata: { name: 'pool1', namespace: 'rollcall' },
  spec: { labels: { tier: 'gold', 'node-role.kubernetes.io/control-plane': 'true' } },
};
const SERVICE = nodeService('service1', { checks: [{ name: 'port', tcp: { port: 1 } }] });
/** Takes a kubelet. */
const WITHOUT_KUBELET = /^kubectl -n rollcall logs /;
/** Changes something: run where it is about that. */
const CHANGES = /^kubectl label /;

let embedded: EmbeddedRig;
let rig: Rig;
let pages: RunbookPages;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 3,
    coordinators: 2,
    coordinatorArgs: ['--stale-after-seconds=5', '--pool-labels=agentpool'],
  });
  rig = embedded.rig;
  pages = await RunbookPages.open(embedded.controlPlane);
  pages.consoleUrl = (await rig.leader()).consoleUrl;
  const { kubectl } = embedded.controlPlane;
  await kubectl(['apply', '-f', path.join(DEPLOY, 'crds')]);
  await kubectl(['wait', '--for=condition=Established', 'crd/nodepoollabels.rollcall.dev']);
  // The DaemonSet and the Deployment are objects that no controller acts on here.
  const rendered = await renderChart(await ensureHelm(), { gitpod: { enabled: true } }, [
    '--no-hooks',
    '--set=crds.install=false',
  ]);
  await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin: rendered });
  await rig.allReady(60_000);
  await kubectl(['label', 'node', CONFLICTING, 'tier=silver', '--field-manager=somebody']);
  await kubectl(['label', 'nodes', '--all', 'agentpool=pool1']);
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(POOL) });
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(SERVICE) });
  await rig.history.until('node-1', 'tier', 'gold', 60_000);
  await createNode(embedded.controlPlane.api, WITHOUT_AGENT);
});

afterAll(async () => {
  await embedded?.stop();
  await pages?.close();
});

test('every command that a runbook names runs as it stands', async () => {
  const all = [...new Set(pages.commands().map(({ command }) => command))];
  expect(all.length).toBeGreaterThan(15);
  const failed: string[] = [];
  for (const command of all.filter((each) => !WITHOUT_KUBELET.test(each) && !CHANGES.test(each))) {
    const { code, err } = await pages.run(command);
    // The plugin ends with 1 where something is wrong, which it is here.
    const isFine = code === 0 || (code === 1 && (command.startsWith('kubectl rollcall') || command.includes('grep')));
    if (!isFine || /unknown|error:/i.test(err)) failed.push(`${command}: ${code} ${err}`);
  }
  expect(failed).toEqual([]);
});

describe('what the runbook says is seen, of', () => {
  test('RollcallConflicts of a label that was there before, whose fix gives the label its value', async () => {
    const why = pages.command('RollcallConflicts', /rollcall why/);
    const foreign = async () => (await rig.leader()).metric('rollcall_coordinator_skipped_keys', { cause: 'foreign' });
    expect(await foreign()).toBe(1);
    expect((await pages.run(why, { NODE: CONFLICTING })).out).toMatch(/tier .*set by another client/);
    const fix = pages.command('RollcallConflicts', CHANGES);
    expect(await pages.run(fix, { NODE: CONFLICTING, KEY: 'tier' })).toMatchObject({ code: 0 });
    await rig.history.until(CONFLICTING, 'tier', 'gold');
    await waitFor('the key to be ours', async () => (await foreign()) === 0);
  });

  test('RollcallPoolKeysRefused', async () => {
    const { out } = await pages.run(pages.command('RollcallPoolKeysRefused', /npl NAME/));
    expect(out).toMatch(/refusedKeys:\n[\s\S]*node-role\.kubernetes\.io\/control-plane/);
  });

  test('RollcallAgentsMissing', async () => {
    const { out } = await pages.run(pages.command('RollcallAgentsMissing', /rollcall status/));
    expect(out).toContain(`There is no agent on 1 node: ${WITHOUT_AGENT}`);
  });

  test('RollcallAgentsSilent', async () => {
    const { name, agent } = rig.node(2);
    await agent?.kill('SIGSTOP');
    await rig.history.until(name, WS_DAEMON_READY, undefined);
    const { code, out } = await pages.run(pages.command('RollcallAgentsSilent', /rollcall status/));
    expect(out).toContain(`The agent is silent on 1 node: ${name}`);
    expect(code).toBe(1);
  });

  test('RollcallNoLeader', async () => {
    for (const coordinator of [...rig.coordinators]) await rig.endCoordinator(coordinator, 'SIGKILL');
    const { out } = await pages.run(pages.command('RollcallNoLeader', /get lease/));
    expect(out).toMatch(/holderIdentity: coordinator-\d_/);
    expect(out).toMatch(/renewTime: /);
    const answer = await waitFor('the plugin', () => pages.run('kubectl rollcall status'));
    expect(answer.code).toBe(3);
  });
});
