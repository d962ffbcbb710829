import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServiceAccount, requestToken } from '../../control-plane/cluster.ts';
import { writeKubeconfig } from '../../control-plane/kubeconfig.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import { runPlugin } from '../../rig/run-plugin.ts';

let embedded: EmbeddedRig;
let rig: Rig;
let admin: readonly string[];
beforeAll(async () => {
  embedded = await startEmbeddedRig({
    nodes: 3,
    coordinators: 2,
    clockSpeed: 4,
    coordinatorArgs: ['--stale-after-seconds=12'],
    agentArgs: ['--probe-period-ms=200', '--probe-idle-period-ms=200'],
  });
  rig = embedded.rig;
  await rig.allReady(60_000);
  admin = [`--kubeconfig=${embedded.controlPlane.kubeconfig}`];
});
afterAll(() => embedded?.stop());

const consoleUrl = async () =>
  `--console-url=http://${String((await (await rig.leader()).waitForLog('Started'))['console'])}`;
const ask = async (...args: string[]) => runPlugin([...args, ...admin, await consoleUrl()]);
const firstLine = ({ stdout }: { stdout: string }) => stdout.split('\n')[0];

describe('status', () => {
  test('says that all is well, and waits until it is', async () => {
    const { exitCode, stdout } = await ask('status', '--wait=60s');
    expect(stdout).toMatch(/^The work of rollcall is done \(3 nodes\)\.\nAll services are ready \(2 services\)\.\n/);
    expect(stdout).toMatch(/^- +ws-daemon +3 +3 +- +-$/m);
    expect(exitCode).toBe(0);
  });

  test('names a service that is not ready, with the command that says why', async () => {
    const { name } = rig.node(0);
    await rig.node(0).service('ws-daemon').fault('refuse');
    await rig.history.until(name, WS_DAEMON_READY, undefined);
    const { stdout, exitCode } = await ask('status', '--wait=1s');
    expect(stdout).toContain(
      `fail  ws-daemon is not ready on 1 node: ${name}\n      fix: kubectl rollcall why node/${name}`,
    );
    expect(exitCode).toBe(1);
    expect((await ask('status', '--wait=60s', '--only=rollcall')).exitCode).toBe(0);
    await rig.node(0).service('ws-daemon').fault('none');
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('fails while an agent is silent, and gives up waiting in the end', async () => {
    const { name, agent } = rig.node(2);
    await agent?.kill('SIGSTOP');
    await rig.history.until(name, WS_DAEMON_READY, undefined);
    const { exitCode, stdout, stderr } = await ask('status', '--wait=2s');
    expect(stdout).toMatch(/^The work of rollcall is NOT done \(3 nodes\)/);
    expect(stdout).toContain(`fail  The agent is silent on 1 node: ${name}`);
    expect(stderr).toContain('Waiting (');
    expect(exitCode).toBe(1);
    await agent?.kill('SIGCONT');
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('is read by programs', async () => {
    const json = JSON.parse((await ask('status', '-o', 'json')).stdout);
    expect(json).toMatchObject({
      nodes: 3,
      replica: { leading: true },
      agents: { fresh: 3 },
      pools: [{ service: 'registry-facade' }, {}],
    });
    const yaml = (await ask('status', '-o', 'yaml')).stdout;
    expect(yaml).toMatch(/^nodes: 3$/m);
  });

  test('of a standby equals the status of the leader', async () => {
    const leader = await rig.leader();
    const standby = rig.coordinators.find((coordinator) => coordinator !== leader);
    const address = String((await standby?.waitForLog('Started'))?.['console']);
    const { exitCode, stdout } = await runPlugin(['status', `--console-url=http://${address}`]);
    expect(stdout).toContain(`leader    ${leader.name}`);
    expect(exitCode).toBe(0);
  });
});

describe('why', () => {
  test('tells the chain of a service that was killed, and who owns the label', async () => {
    const { name } = rig.node(1);
    const well = await ask('why', `node/${name}`, WS_DAEMON_READY);
    expect(well.stdout).toContain('"true", owned by rollcall');
    expect(well.exitCode).toBe(0);
    await rig.node(1).service('ws-daemon').fault('refuse');
    await rig.history.until(name, WS_DAEMON_READY, undefined);
    const { exitCode, stdout } = await ask('why', `node/${name}`);
    expect(stdout).toMatch(new RegExp(`^node/${name}: ws-daemon is not ready: tcp .* refused the connection twice`));
    expect(stdout).toMatch(/^ {2}check +pod passes: pod default\/ws-daemon-.* is Ready\n {2}check +probe fails: tcp /m);
    expect(stdout).toContain(`${WS_DAEMON_READY}: true -> (absent)`);
    expect(exitCode).toBe(1);
    await rig.node(1).service('ws-daemon').fault('none');
    await rig.history.until(name, WS_DAEMON_READY, 'true');
  });

  test('says what it does not know', async () => {
    expect(await ask('why', 'node/nobody')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('does not know the node nobody'),
    });
    const key = await ask('why', `node/${rig.node(0).name}`, 'ws-daemon_ready_ns_default');
    expect(key).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`did you mean ${WS_DAEMON_READY}?`) });
    expect(await ask('why', 'service/x')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('write node/NAME'),
    });
  });
});

test('audit prints the ledger', async () => {
  const result = await ask('audit');
  expect(firstLine(result)).toMatch(/contradicted the evidence for .* s per node and day, on 3 nodes/);
  expect(result.exitCode).toBe(0);
});

describe('without what it takes', () => {
  test('says that it is not installed, and where to look', async () => {
    const { exitCode, stderr } = await runPlugin(['status', ...admin, '-n', 'elsewhere']);
    expect(stderr).toMatch(/^rollcall is not in the namespace elsewhere: .*\nfix: use -n to name the namespace/);
    expect(exitCode).toBe(3);
  });

  test('says which right is missing', async () => {
    const { api } = embedded.controlPlane;
    await createServiceAccount(api, 'default', 'nobody');
    const token = await requestToken(api, { namespace: 'default', serviceAccount: 'nobody' });
    const file = path.join(tmpdir(), `kubectl-rollcall-${process.pid}.kubeconfig`);
    const { url, ca } = embedded.controlPlane;
    await writeKubeconfig(file, url, ca, { token });
    const status = await runPlugin(['status', `--kubeconfig=${file}`]);
    expect(status.stderr).toMatch(/You may not read the Lease of the leader: .*\nfix: ask for the right to get leases/);
    expect(status.exitCode).toBe(3);
    const check = await runPlugin(['check', '--pre', `--kubeconfig=${file}`]);
    expect(check.stdout).toMatch(/fail +You may not create namespaces/);
    expect(check.stdout).toContain('Cannot check everything: nodes is forbidden');
    const why = await runPlugin(['why', `node/${rig.node(0).name}`, `--kubeconfig=${file}`, await consoleUrl()]);
    expect(why.stderr).toMatch(/^The owners of the keys are unknown: nodes .* is forbidden/);
    expect(why.exitCode).toBe(0);
    await rm(file);
  });

  test('says that nothing answers, and that there is no leader', async () => {
    const closed = await runPlugin(['status', '--console-url=http://127.0.0.1:9']);
    expect(closed).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/^The console does not answer: .*\nfix: /),
    });
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'rollcall-coordinator', namespace: 'default' },
    };
    const renewTime = '2026-01-01T00:00:00.000000Z';
    const spec = { holderIdentity: 'gone_1', leaseDurationSeconds: 15, renewTime };
    await embedded.controlPlane.api.post('/apis/coordination.k8s.io/v1/namespaces/default/leases', { ...lease, spec });
    const { exitCode, stderr } = await runPlugin(['status', ...admin, '-n', 'default']);
    expect(stderr).toMatch(/^No coordinator leads in default: gone_1 last renewed the Lease \d+d ago/);
    expect(exitCode).toBe(3);
  });

  test.each([
    [['nonsense']],
    [['status', '--wait=soon']],
    [['status', '-o', 'xml']],
    [['status', '--nonsense']],
    [['why']],
    [['status', '--console-url=ftp://x']],
  ])('refuses %j with the exit code of a wrong command line', async (args) => {
    const { exitCode, stdout, stderr } = await runPlugin(args);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/\(see .* --help\)/);
  });
});

test('help has examples and exit codes', async () => {
  for (const command of ['status', 'why', 'check', 'audit', 'console']) {
    const { exitCode, stdout } = await runPlugin([command, '--help']);
    expect(stdout).toMatch(/Examples:\n {2}kubectl-rollcall /);
    expect(stdout).toContain('Exit codes: 0 ');
    expect(exitCode).toBe(0);
  }
});
