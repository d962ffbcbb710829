import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { readyLabel } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPod, createServiceAccount, requestToken } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { Coordinator, coordinatorPorts } from '../../rig/coordinator.ts';
import { type PluginResult, runPlugin, runPluginInTerminal } from '../../rig/run-plugin.ts';
import { Lab } from '../../scale/lab.ts';

const IS_FULL = process.env['ROLLCALL_PLUGIN'] === 'full';
const NODES = IS_FULL ? 5000 : 50;
const COUNT = NODES.toLocaleString('en-US');
const LABEL = readyLabel('ws-daemon', 'default');
/** Has Node.js say at its end how much memory it took. */
const MEASURED = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    "process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS+'\\n'))",
  )}`,
};

let lab: Lab;
let dir: string;
let service: string;
beforeAll(async () => {
  lab = await Lab.open(new Writable({ write: (_chunk, _encoding, done) => done() }));
  await lab.labelled(NODES);
  await lab.fleet.report(['fleet-3'], { ready: false });
  await lab.settled(0, ['fleet-3']);
  const settled = await runPlugin([
    'status',
    '--wait=120s',
    '--only=rollcall',
    `--console-url=${lab.coordinator.consoleUrl}`,
  ]);
  if (settled.exitCode !== 0) throw new Error(settled.stdout + settled.stderr);
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-fleet-'));
  service = path.join(dir, 'service.json');
  await writeFile(
    service,
    JSON.stringify({
      kind: 'NodeService',
      metadata: { name: 'again' },
      spec: {
        checks: [
          { name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { component: 'ws-daemon' } } } },
        ],
      },
    }),
  );
  const labels = { component: 'workspace', workspaceType: 'regular', headless: 'false' };
  await createPod(lab.cluster.api, { namespace: 'default', name: 'build', labels });
}, 600_000);
afterAll(async () => {
  await lab?.stop();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
});

const admin = () => `--kubeconfig=${lab.cluster.controlPlane.kubeconfig}`;
/** `check` asks no console. */
const asked = (args: readonly string[]) =>
  args[0] === 'check' ? [...args, admin()] : [...args, admin(), `--console-url=${lab.coordinator.consoleUrl}`];

type Command = { args: () => string[]; exitCode: number; says: RegExp; golden?: string };

const COMMANDS: Readonly<Record<string, Command>> = {
  status: {
    args: () => ['status'],
    exitCode: 1,
    says: new RegExp(
      `^The work of rollcall is done \\(${COUNT} nodes\\)\\.\nNOT all services are ready \\(2 of 2 services not\\): `,
    ),
    golden: 'status',
  },
  'status -o wide': {
    args: () => ['status', '-o', 'wide', '--only=rollcall'],
    exitCode: 0,
    says: /^settings {2}gate label, silent after 30 s$/m,
  },
  'why node': {
    args: () => ['why', 'node/fleet-3'],
    exitCode: 1,
    says: /^node\/fleet-3: ws-daemon is not ready: .*\n(?:.*\n)?The check probe has to pass/,
  },
  'why node KEY': {
    args: () => ['why', 'node/fleet-1', LABEL],
    exitCode: 0,
    says: new RegExp(
      `^node/fleet-1 has the label ${LABEL}:[\\s\\S]*\nrollcall wants it, and it is present\\.\n[\\s\\S]* owned by rollcall\n`,
    ),
  },
  'why pod': {
    args: () => ['why', 'pod/default/build'],
    exitCode: 0,
    says: new RegExp(
      `^pod/default/build may run on ${(NODES - 1).toLocaleString('en-US')} of ${COUNT} nodes, preferably on fleet-\\d+[\\s\\S]*\n {4}1 {3}ws-daemon and registry-facade are not ready`,
    ),
  },
  audit: {
    args: () => ['audit'],
    exitCode: 0,
    says: new RegExp(
      `^Keys that rollcall writes contradicted the evidence for [\\d,.]+ s per node and day, on ${COUNT} nodes; `,
    ),
  },
  'check --pre': {
    args: () => ['check', '--pre'],
    exitCode: 0,
    says: new RegExp(`^ok {4}${COUNT} nodes can run an agent$`, 'm'),
  },
  diff: {
    args: () => ['diff', '-f', service],
    exitCode: 1,
    says: new RegExp(`^${COUNT} of ${COUNT} nodes would be changed\\.\nnote [^]*\n\nCHANGE +KEY`),
    golden: 'diff',
  },
};

/** What says nothing about the program. */
function withoutVersions(text: string): string {
  return text.replaceAll(/\d+\.\d+\.\d+(?=[ ,\n]|$)/g, 'VERSION');
}

function expectToFit(text: string, columns: number): void {
  // A command is there to be copied.
  const wide = text.split('\n').filter((line) => line.length > columns && !/^ *(fix|older, in the log): /.test(line));
  expect(wide).toEqual([]);
}

describe(`with ${COUNT} nodes`, () => {
  test.each(Object.keys(COMMANDS))('%s, piped and in a terminal', async (name) => {
    const { args, exitCode, says, golden } = COMMANDS[name] as Command;
    const piped = await runPlugin(asked(args()));
    expect(piped.stdout).toMatch(says);
    expect(piped).toMatchObject({ exitCode, stderr: '' });
    const outputs: Record<string, string> = { piped: piped.stdout };
    for (const columns of golden === undefined ? [80] : [80, 200]) {
      const result = await runPluginInTerminal(asked(args()), columns);
      expect(result.exitCode).toBe(exitCode);
      expectToFit(result.stdout, columns);
      outputs[columns] = result.stdout;
    }
    if (golden === undefined || IS_FULL) return;
    for (const [width, text] of Object.entries(outputs)) {
      await expect(withoutVersions(text)).toMatchFileSnapshot(`golden/${golden}-${width}.txt`);
    }
  });

  test.runIf(IS_FULL).for(Object.keys(COMMANDS))('%s: what it takes', async (name, { annotate }) => {
    const { args } = COMMANDS[name] as Command;
    const beganMs = performance.now();
    const { stdout, stderr } = await runPlugin(asked(args()), MEASURED);
    const seconds = (performance.now() - beganMs) / 1000;
    const megabytes = Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1024;
    await annotate(
      `${name}: ${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MiB, ${stdout.length} characters`,
      'figure',
    );
    expect(megabytes).toBeLessThan(512);
  });

  test('console with an address opens nothing, and prints it', async () => {
    const url = lab.coordinator.consoleUrl;
    expect(await runPlugin(['console', '--no-browser', `--console-url=${url}`])).toMatchObject({
      exitCode: 0,
      stdout: `${url}\n`,
    });
  });
});

/** Commands that query the console. */
const QUESTIONS: Readonly<Record<string, () => string[]>> = {
  status: () => ['status'],
  'why node': () => ['why', 'node/fleet-1'],
  'why pod': () => ['why', 'pod/default/build'],
  audit: () => ['audit'],
  diff: () => ['diff', '-f', service],
};

async function toEach(flags: readonly string[]): Promise<Record<string, PluginResult>> {
  const results = Object.entries(QUESTIONS).map(
    async ([name, args]) => [name, await runPlugin([...args(), ...flags])] as const,
  );
  return Object.fromEntries(await Promise.all(results));
}

async function kubeconfigOf(account: string, rules: readonly object[]): Promise<string> {
  const { api } = lab.cluster;
  await createServiceAccount(api, 'default', account);
  const role = '/apis/rbac.authorization.k8s.io/v1/namespaces/rollcall';
  await api.post(`${role}/roles`, { metadata: { name: account }, rules });
  await api.post(`${role}/rolebindings`, {
    metadata: { name: account },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: account },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'default' }],
  });
  const token = await requestToken(api, { namespace: 'default', serviceAccount: account });
  return `--kubeconfig=${await lab.cluster.controlPlane.kubeconfigFor(token)}`;
}

describe('without a precondition, every command names it, and what to do', () => {
  test('where one may not read who leads', async () => {
    const results = await toEach([await kubeconfigOf('nobody', [])]);
    for (const result of Object.values(results)) {
      expect(result).toMatchObject({ exitCode: 3, stdout: '' });
      expect(result.stderr).toMatch(
        /^You may not read the Lease of the leader: leases.* is forbidden[\s\S]*\nfix: ask for the right to get leases in rollcall/,
      );
    }
  });

  test('where one may not forward a port', async () => {
    // While the leader is not a pod, no user can.
    const leader = await runPlugin(['status', admin()]);
    expect(leader.stderr).toMatch(
      /^The leader coordinator is not a pod in rollcall\.\nfix: try again: another replica takes over/,
    );
    await createServiceAccount(lab.cluster.api, 'rollcall', 'default');
    await createPod(lab.cluster.api, { namespace: 'rollcall', name: 'coordinator', nodeName: 'fleet-1' });
    const rules = [
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    ];
    const kubeconfig = await kubeconfigOf('reader', rules);
    const cannot =
      /^The console does not answer: port-forward to pod rollcall\/coordinator: .*\nfix: ask for the right to create pods\/portforward in the namespace of rollcall/;
    await waitFor('the rights', async () => cannot.test((await runPlugin(['status', kubeconfig])).stderr), {
      timeoutMs: 30_000,
    });
    for (const result of Object.values(await toEach([kubeconfig]))) {
      expect(result).toMatchObject({ exitCode: 3, stdout: '', stderr: expect.stringMatching(cannot) });
    }
  });

  test('where only a replica answers that does not lead', async () => {
    const ports = await coordinatorPorts();
    // It has no right to this Lease, and so never leads.
    const standby = new Coordinator({
      ports,
      kubeconfig: lab.cluster.coordinatorKubeconfig,
      name: 'standby',
      args: ['--lease-name=another'],
    });
    try {
      await waitFor(
        'the standby',
        async () => (await standby.explain('fleet-1').catch(() => undefined)) !== undefined,
        {
          timeoutMs: 60_000,
        },
      );
      const results = await toEach([admin(), `--console-url=${standby.consoleUrl}`]);
      for (const { exitCode, stdout, stderr } of Object.values(results)) {
        expect(exitCode).toBe(3);
        expect(stdout + stderr).toMatch(/^The state is unknown[\s\S]*does not lead/);
      }
    } finally {
      await standby.destroy();
    }
  });

  test('where there is no leader', async () => {
    await lab.standDown();
    for (const result of Object.values(await toEach([admin()]))) {
      expect(result).toMatchObject({ exitCode: 3, stdout: '' });
      expect(result.stderr).toMatch(
        /^No coordinator leads in rollcall: the Lease has no holder\.\nfix: see why: kubectl -n rollcall logs /,
      );
    }
  });
});
