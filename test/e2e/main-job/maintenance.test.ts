import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, REGISTRY_FACADE_READY, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { Program } from '../../rig/program.ts';
import type { Rig } from '../../rig/rig.ts';

let embedded: EmbeddedRig;
let rig: Rig;
beforeAll(async () => {
  embedded = await startEmbeddedRig({ nodes: 2, coordinatorArgs: ['--dry-run'] });
  rig = embedded.rig;
});
afterAll(() => embedded?.stop());

function runCoordinator(...args: string[]): Program {
  const listeners = ['--reports-listen=127.0.0.1:0', '--listen=off', '--scheduler-listen=off', '--console-listen=off'];
  return new Program('coordinator', {
    args: [`--kubeconfig=${rig.cluster.coordinatorKubeconfig}`, ...listeners, ...args],
    env: { POD_NAMESPACE: 'rollcall' },
  });
}

test('a dry run takes reports and decides, and writes to no Node', async () => {
  const leader = await rig.leader();
  await waitFor(
    'a decision about both nodes',
    async () => (await leader.metric('rollcall_coordinator_patches_total', { outcome: 'dry-run' })) >= 2,
    {
      timeoutMs: 20_000,
    },
  );
  // One a node is the rig's own, when it creates it.
  expect(await embedded.nodePatches()).toBe(rig.nodes.length);
  expect(rig.history.labels('node-1')).not.toHaveProperty(WS_DAEMON_READY);
});

test('pruning that is stopped before it is done has failed', async () => {
  const prune = runCoordinator('--prune');
  await prune.waitForLog('Waited for the Lease');
  expect(await prune.kill('SIGTERM')).toBe(1);
});

test('pruning removes our keys, no matter who set them, leaves the rest, and exits with 0', async () => {
  const dry = await rig.leader();
  await rig.endCoordinator(dry, 'SIGTERM');
  const real = await rig.addCoordinator(['--dry-run=false']);
  await rig.allReady();
  await embedded.controlPlane.kubectl(['label', 'nodes', '--all', 'team=rnd']);
  await rig.endCoordinator(real, 'SIGTERM');
  await embedded.controlPlane.kubectl(['label', 'node', 'node-1', `${REGISTRY_FACADE_READY}-`]);
  await embedded.controlPlane.kubectl(['label', 'node', 'node-1', `${REGISTRY_FACADE_READY}=true`]);
  const prune = runCoordinator('--prune');
  expect(await prune.exited()).toBe(0);
  for (const { name } of rig.nodes) {
    await rig.history.until(name, WS_DAEMON_READY, undefined);
    await rig.history.until(name, REGISTRY_FACADE_READY, undefined);
    expect(rig.history.labels(name)['team']).toBe('rnd');
  }
  const node = await embedded.controlPlane.kubectl(['get', 'node', 'node-1', '-o', 'json', '--show-managed-fields']);
  expect(node).not.toContain('"manager": "rollcall"');
});

test('a single coordinator that takes part in no election leads', async () => {
  const sole = await rig.addCoordinator(['--dry-run=false', '--leader-elect=false']);
  expect(await rig.leader()).toBe(sole);
  await rig.allReady();
  await rig.endCoordinator(sole, 'SIGTERM');
});

test.each([
  [['--stale-after-seconds=soon'], /--stale-after-seconds/],
  [['--tls=off', '--reports-listen=0.0.0.0:0'], /--tls/],
  [['--tls-cert-file=/nowhere/tls.crt', '--tls-key-file=/nowhere/tls.key'], /--tls-cert-file/],
  [['--lable-dir=x'], /unknown flag --lable-dir/],
  [['--kubeconfig=/nowhere/config'], /--kubeconfig/],
  [['--label-dir=/nowhere'], /--label-dir/],
])('a wrong setting %j is one line that names it, and exit code 2', async (args, expected) => {
  const program = runCoordinator(...args);
  expect(await program.exited()).toBe(2);
  expect(program.logs.map(({ msg }) => msg)).toEqual([expect.stringMatching(expected)]);
});

test.each(['--help', '--version', '--print-config'])('%s prints and exits with 0', async (flag) => {
  const program = runCoordinator(flag);
  expect(await program.exited()).toBe(0);
  expect(program.logs.length).toBeGreaterThan(0);
});
