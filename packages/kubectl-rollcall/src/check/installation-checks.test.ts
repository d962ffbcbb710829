import type { Taint, Toleration } from '@rollcall/common/tolerations.ts';
import { describe, expect, test } from 'vitest';
import { CA, EXPIRED_MS, evidence, gone, IMAGE, pod, resultOf, workload } from './evidence.test-fixtures.ts';
import type { Evidence } from './evidence.ts';
import {
  agentsRun,
  agentsTolerate,
  certificates,
  clocksAgree,
  gitpodNamespace,
  isInstalled,
  nodeServicesAccepted,
  oneConfiguration,
  oneVersion,
  ownNamespace,
  policiesBound,
  someoneLeads,
} from './installation-checks.ts';
import type { PodObject, Policy } from './objects.ts';

const DAY_MS = 86_400_000;
const CA_ENDS_MS = Date.parse('2035-02-08T08:18:01Z');
const config = (settings: Record<string, unknown>): Partial<Evidence> => ({ config: { value: settings } });

describe('the installation', () => {
  const coordinator = (replicas: number | undefined, readyReplicas: number | undefined): Partial<Evidence> => {
    const { spec = {}, ...rest } = workload('rollcall-coordinator');
    const { replicas: _replicas, ...others } = spec;
    const found = { ...rest, spec: { ...others, ...(replicas === undefined ? {} : { replicas }) } };
    return { coordinator: { value: { ...found, status: readyReplicas === undefined ? {} : { readyReplicas } } } };
  };

  test('is there where both of its parts are', async () => {
    const cure = expect.stringMatching(
      /^use -n .* helm install rollcall deploy\/chart -n rollcall --create-namespace$/,
    );
    expect(await resultOf(isInstalled, { coordinator: gone })).toEqual([
      'fail: There is no Deployment rollcall/rollcall-coordinator',
      cure,
    ]);
    expect(await resultOf(isInstalled, { agent: gone })).toEqual([
      'fail: There is no DaemonSet rollcall/rollcall-agent',
      cure,
    ]);
  });

  test('is well where its coordinators are ready', async () => {
    expect(await resultOf(isInstalled, coordinator(2, 2))).toBe('2 of 2 coordinators are ready');
    expect(await resultOf(isInstalled, coordinator(undefined, 1))).toBe('1 of 1 coordinators are ready');
  });

  test('is doubtful where some are ready, and fails where none is', async () => {
    const cure = 'kubectl -n rollcall describe deployment rollcall-coordinator';
    expect(await resultOf(isInstalled, coordinator(2, 1))).toEqual(['warn: 1 of 2 coordinators are ready', cure]);
    expect(await resultOf(isInstalled, coordinator(undefined, undefined))).toEqual([
      'fail: 0 of 1 coordinators are ready',
      cure,
    ]);
  });

  test('is led by who holds the Lease', async () => {
    expect(await resultOf(someoneLeads)).toBe('a coordinator leads');
    expect((await resultOf(someoneLeads, { lease: gone }))[0]).toBe(
      'fail: No coordinator leads in rollcall: the Lease has no holder',
    );
    await expect(resultOf(someoneLeads, { coordinator: gone })).rejects.toThrow('not found');
  });

  test('has as many agents as it should', async () => {
    const of = (status: object) => resultOf(agentsRun, { agent: { value: { metadata: { name: 'a' }, ...status } } });
    expect(await of({ status: { desiredNumberScheduled: 3, numberReady: 3 } })).toBe('3 of 3 agents are ready');
    expect(await of({})).toBe('0 of 0 agents are ready');
    expect(await of({ status: { desiredNumberScheduled: 1 } })).toEqual([
      'fail: 0 of 1 agents are ready',
      'kubectl -n rollcall get pods -l app.kubernetes.io/component=agent -o wide',
    ]);
  });
});

describe('the tolerations of the agent', () => {
  const WELL = 'the agent tolerates every taint of the nodes';
  const taint: Taint = { key: 'k', value: 'v', effect: 'NoSchedule' };

  function of(tolerations: Toleration[], taints: Taint[] = [taint], nodeSelector?: Record<string, string>) {
    const template = { spec: { tolerations, ...(nodeSelector ? { nodeSelector } : {}) } };
    const nodes = ['node-1', 'node-2'].map((name) => ({ metadata: { name, labels: { name } }, spec: { taints } }));
    return resultOf(agentsTolerate, {
      agent: { value: workload('rollcall-agent', { template }) },
      nodes: { value: nodes },
    });
  }

  test('name the taint that is missing, with the nodes', async () => {
    const cure = 'set agent.tolerations to its default, [{operator: Exists}]';
    expect(await of([])).toEqual([
      'fail: The agent does not tolerate k=v:NoSchedule, so it cannot run on 2 nodes: node-1 and node-2',
      cure,
    ]);
    expect((await of([], [{ key: 'k', effect: 'NoExecute' }]))[0]).toContain('does not tolerate k:NoExecute, ');
  });

  test.each<[Toleration, boolean]>([
    [{ operator: 'Exists' }, true],
    [{ key: '', operator: 'Exists' }, true],
    [{ operator: 'Equal' }, false],
    [{ key: '', value: 'v' }, false],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ key: 'l', operator: 'Exists' }, false],
    [{ key: 'k', value: 'v' }, true],
    [{ key: 'k', operator: 'Equal', value: 'v' }, true],
    [{ key: 'k', value: 'w' }, false],
    [{ key: 'k' }, false],
    [{ key: 'l', value: 'v' }, false],
    [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }, true],
    [{ key: 'k', operator: 'Exists', effect: '' }, true],
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }, false],
  ])('with %j admit it to a node with a taint: %s', async (toleration, isAdmitted) => {
    expect((await of([{ key: 'unrelated' }, toleration])) === WELL).toBe(isAdmitted);
  });

  test('without a value are for taints without one', async () => {
    expect(await of([{ key: 'k' }], [{ key: 'k', effect: 'NoSchedule' }])).toBe(WELL);
  });

  test('are not needed where kube-scheduler only prefers', async () => {
    expect(await of([], [{ ...taint, effect: 'PreferNoSchedule' }])).toBe(WELL);
  });

  test('are not needed on nodes that the agent is not for', async () => {
    expect(await of([], [taint], { name: 'none' })).toBe(WELL);
    expect((await of([], [taint], { name: 'node-2' }))[0]).toContain('cannot run on 1 node: node-2');
  });

  test('are looked for in vain where the agent has none', async () => {
    const agent = { value: { metadata: { name: 'a' } } };
    expect(await resultOf(agentsTolerate, { agent })).toHaveLength(2);
    expect(await resultOf(agentsTolerate, { agent, nodes: { value: [{ metadata: { name: 'n' } }] } })).toBe(WELL);
  });
});

describe('pods', () => {
  const of = (...pods: PodObject[]) => resultOf(oneConfiguration, { pods: { value: pods } });
  const SAME = 'all coordinators have the same configuration';

  test('of coordinators have the same configuration', async () => {
    expect(await of(pod('c-1', 'coordinator'), pod('c-2', 'coordinator'))).toBe(SAME);
    expect(await of(pod('c-1', 'coordinator'), pod('a-1', 'agent', { checksum: 'y' }))).toBe(SAME);
  });

  test.each([{ image: 'other' }, { args: ['--x'] }, { checksum: 'y' }])(
    'of coordinators that differ in %j are a problem',
    async (change) => {
      expect(await of(pod('c-1', 'coordinator'), pod('c-2', 'coordinator', change), pod('c-3', 'coordinator'))).toEqual(
        [
          'fail: Coordinators run with 2 different configurations: c-1, c-3 and c-2',
          'kubectl -n rollcall rollout status deployment/rollcall-coordinator; if it does not finish, use "rollout restart"',
        ],
      );
    },
  );

  test('of coordinators that are not Ready, or are being deleted, do not count', async () => {
    const other = () => pod('c-2', 'coordinator', { checksum: 'y' });
    const ready = pod('c-1', 'coordinator');
    expect(await of(ready, { ...other(), status: { conditions: [{ type: 'Ready', status: 'False' }] } })).toBe(SAME);
    expect(await of(ready, { ...other(), status: { conditions: [{ type: 'Other', status: 'True' }] } })).toBe(SAME);
    expect(await of(ready, { ...other(), status: {} })).toBe(SAME);
    const deleted = other();
    deleted.metadata.deletionTimestamp = '2027-03-01T12:00:00Z';
    expect(await of(ready, deleted)).toBe(SAME);
  });

  test('are nothing to judge where there is no coordinator', async () => {
    await expect(resultOf(oneConfiguration, { coordinator: gone })).rejects.toThrow('not found');
  });

  test('of agents run the version of the DaemonSet', async () => {
    const old = (name: string) => pod(name, 'agent', { image: 'old' });
    const cure = 'kubectl -n rollcall rollout status daemonset/rollcall-agent';
    const versions = (...value: PodObject[]) => resultOf(oneVersion, { pods: { value } });
    expect(await versions(pod('a-1', 'agent'))).toBe(`all agents run ${IMAGE}`);
    expect(await versions(pod('a-1', 'agent'), old('a-2'))).toEqual([
      'warn: 1 agent runs another version than the DaemonSet specifies: on node-1',
      cure,
    ]);
    const pending = { ...old('a-3'), spec: {} };
    expect((await versions(old('a-2'), pending))[0]).toBe(
      'warn: 2 agents run another version than the DaemonSet specifies: on node-1 and ?',
    );
  });

  test('of coordinators and agents run the same version', async () => {
    expect(await resultOf(oneVersion, { coordinator: { value: workload('c', {}, 'old') } })).toEqual([
      `warn: Coordinator and agent run different images: old and ${IMAGE}`,
      'finish the upgrade: helm upgrade updates both',
    ]);
  });
});

test('rollcall has its namespace for itself', async () => {
  expect(await resultOf(ownNamespace)).toBe('rollcall has the namespace rollcall for itself');
  const serviceAccounts = {
    value: ['default', 'builder', 'rollcall-agent', 'argocd'].map((name) => ({ metadata: { name } })),
  };
  const other = { metadata: { name: 'web-1', namespace: 'rollcall', labels: { app: 'web' } } };
  const cure = 'install rollcall into a namespace of its own, or move the others to another one';
  expect(await resultOf(ownNamespace, { serviceAccounts, pods: { value: [other] } })).toEqual([
    'warn: The namespace rollcall also has 1 other account (argocd) and 1 other pod (web-1): what they may do, and what rollcall may do, is open to both',
    cure,
  ]);
  expect((await resultOf(ownNamespace, { serviceAccounts }))[0]).toContain('has 1 other account (argocd): what');
  expect((await resultOf(ownNamespace, { pods: { value: [other] } }))[0]).toContain('has 1 other pod (web-1): what');
});

describe('policies', () => {
  const WELL = 'each admission policy of rollcall has its binding (1)';
  const policy = (name: string): Policy => ({ metadata: { name } });

  test('of rollcall have a binding, of any of both kinds', async () => {
    expect(await resultOf(policiesBound)).toBe(WELL);
    expect(await resultOf(policiesBound, { mutatingPolicies: { value: [policy('others')] } })).toBe(WELL);
    expect(await resultOf(policiesBound, { mutatingPolicies: { value: [policy('rollcall-x')] } })).toEqual([
      'fail: The policy rollcall-x has no binding, so it has no effect',
      'install both again: helm upgrade, or kubectl apply -f deploy/policies',
    ]);
    const bound = { value: [{ metadata: { name: 'b' }, spec: { policyName: 'rollcall-x' } }] };
    const both = { mutatingPolicies: { value: [policy('rollcall-x')] }, mutatingBindings: bound };
    expect(await resultOf(policiesBound, both)).toBe('each admission policy of rollcall has its binding (2)');
  });

  test('contain the fence', async () => {
    const text = 'warn: There is no fence: a stolen token of the coordinator can change everything on Nodes';
    const cure = 'set policies.fence.enabled=true, or kubectl apply -f deploy/policies/fence.yaml';
    expect(await resultOf(policiesBound, { policies: gone })).toEqual([text, cure]);
    expect(await resultOf(policiesBound, { policies: { value: [policy('others')] } })).toEqual([text, cure]);
  });

  test('fence the coordinator of this namespace', async () => {
    const cure = 'install the fence with the chart, which renders it for the namespace of the release';
    expect(await resultOf(policiesBound, { namespace: 'elsewhere' })).toEqual([
      'fail: The fence applies to the coordinator of another namespace, so it has no effect in elsewhere',
      cure,
    ]);
    expect((await resultOf(policiesBound, { policies: { value: [policy('rollcall-fence')] } }))[1]).toBe(cure);
  });
});

describe('the CA that agents trust', () => {
  const CURE = 'kubectl -n rollcall logs -l app.kubernetes.io/component=coordinator | grep -i certificate';
  const at = (nowMs: number) => resultOf(certificates, { nowMs });

  test('is valid for some time', async () => {
    expect(await at(CA_ENDS_MS - 14 * DAY_MS)).toBe('the CA that agents trust is valid for another 14d');
  });

  test('should have been renewed two weeks before it ends', async () => {
    expect(await at(CA_ENDS_MS - 14 * DAY_MS + 1)).toEqual([
      'warn: The CA that agents trust expires in 13d and was not renewed',
      CURE,
    ]);
    expect((await at(CA_ENDS_MS - 1))[0]).toContain('expires in 0s');
  });

  test('has expired when its time is over', async () => {
    expect(await at(CA_ENDS_MS)).toEqual(['fail: The CA that agents trust expired 0s ago', CURE]);
    expect((await at(CA_ENDS_MS + 3 * DAY_MS))[0]).toContain('expired 3d ago');
  });

  test('is not valid yet where the clock of its maker was ahead', async () => {
    expect(await at(Date.parse('2026-11-22T08:18:01Z') - 3_600_000)).toEqual([
      'fail: The CA that agents trust is not valid for another 60m: the clock of the coordinator that made it was ahead',
      expect.stringContaining('synchronize the clocks of the nodes (NTP)'),
    ]);
    expect(await at(Date.parse('2026-11-22T08:18:01Z'))).toMatch(/^the CA that agents trust is valid/);
  });

  test('is one certificate or several', async () => {
    const ca = { value: { metadata: { name: 'ca' }, data: { 'ca.crt': `${CA}\n${CA}\n` } } };
    expect(await resultOf(certificates, { ca })).toMatch(/^the CA that agents trust is valid/);
  });

  test('has to be published', async () => {
    expect(EXPIRED_MS).toBeGreaterThan(CA_ENDS_MS);
    expect(await resultOf(certificates, { ca: { value: { metadata: { name: 'ca' } } } })).toEqual([
      'fail: The CA that agents trust is not published',
      CURE,
    ]);
  });
});

describe('the clocks', () => {
  const renewedAt = (renewTime: string, holderIdentity = 'c-1_x') => ({
    lease: { value: { spec: { holderIdentity, renewTime } } },
  });

  test('agree within a minute', async () => {
    const well = 'the clocks of the API server, the leader and this machine agree';
    expect(await resultOf(clocksAgree)).toBe(well);
    expect(await resultOf(clocksAgree, { lease: gone })).toBe(well);
    expect(await resultOf(clocksAgree, renewedAt('2027-03-01T12:01:00Z'))).toBe(well);
    expect(await resultOf(clocksAgree, renewedAt('2027-03-01T13:00:00Z', ''))).toBe(well);
    for (const clockAheadMs of [60_000, -60_000]) expect(await resultOf(clocksAgree, { clockAheadMs })).toBe(well);
  });

  test('report a leader whose clock is ahead, which locks agents out', async () => {
    expect(await resultOf(clocksAgree, renewedAt('2027-03-01T13:00:00Z'))).toEqual([
      "fail: The clock of the leader c-1_x is 60m ahead of the API server's: agents may refuse certificates that it makes, because they are not valid yet",
      expect.stringContaining('synchronize the clock of its node (NTP)'),
    ]);
  });

  test.each([
    [3_600_000, 'behind'],
    [-3_600_000, 'ahead of'],
  ])('report this machine, by which nothing is judged: %s', async (clockAheadMs, where) => {
    expect((await resultOf(clocksAgree, { clockAheadMs }))[0]).toBe(
      `warn: The clock of this machine is 60m ${where} the API server's`,
    );
  });
});

describe("Gitpod's services", () => {
  const pods = (...namespaces: (string | undefined)[]): Partial<Evidence> => ({
    podsWith: async (selector) => {
      expect(selector).toBe('component in (ws-daemon,registry-facade)');
      return {
        value: namespaces.map((namespace) => ({ metadata: { name: 'p', ...(namespace ? { namespace } : {}) } })),
      };
    },
  });

  test('run in the namespace that is configured', async () => {
    expect(await resultOf(gitpodNamespace, pods('a', 'default'))).toBe(
      "Gitpod's services run in default, the configured namespace",
    );
    expect(await resultOf(gitpodNamespace, { ...pods('a'), ...config({ namespace: 'a' }) })).toBe(
      "Gitpod's services run in a, the configured namespace",
    );
    expect(await resultOf(gitpodNamespace, { ...pods('b', 'c', 'b'), config: gone })).toEqual([
      "fail: Gitpod's services are configured for default, but run in b and c",
      'set gitpod.namespace=b and run helm upgrade',
    ]);
  });

  test('are missing where they have no pod', async () => {
    expect(await resultOf(gitpodNamespace, pods())).toEqual([
      "warn: The cluster has no pod of Gitpod's ws-daemon or registry-facade",
      'if you do not run Gitpod, set gitpod.enabled=false',
    ]);
  });

  test.each([
    ['their support is switched off', config({ gitpod: false })],
    ['rollcall is not installed', { config: gone, coordinator: gone }],
  ])('are named if they run where %s', async (_, change) => {
    expect(await resultOf(gitpodNamespace, { ...pods(), ...change })).toBe(
      'the support for Gitpod is off, and no pods of its services run',
    );
    expect(await resultOf(gitpodNamespace, { ...pods('b', 'b'), ...change })).toEqual([
      "warn: Gitpod's services run in b, and gitpod.enabled is not set",
      'to label nodes by them, set gitpod.enabled=true and gitpod.namespace=b',
    ]);
  });
});

describe('NodeServices', () => {
  const service = (name: string, type: string, status: string) => ({
    metadata: { name },
    status: { conditions: [{ type, status, reason: 'Why', message: 'no' }] },
  });
  const of = (...value: object[]) => resultOf(nodeServicesAccepted, { nodeServices: { value: value as never } });

  test('that are refused are named with the reason', async () => {
    expect(await of(service('a', 'Ready', 'False'), service('b', 'Ready', 'True'))).toEqual([
      'fail: The NodeService a is not in force (Why): no',
      'kubectl edit nodeservice a',
    ]);
  });

  test('that are accepted, or not judged yet, are counted', async () => {
    const well = 'no NodeService is refused (3 in the cluster)';
    expect(await of(service('a', 'Ready', 'True'), service('b', 'Other', 'False'), { metadata: { name: 'c' } })).toBe(
      well,
    );
    expect(await resultOf(nodeServicesAccepted, { nodeServices: gone })).toBe(
      'no NodeService is refused (0 in the cluster)',
    );
    expect(evidence().nodeServices).toEqual({ value: [] });
  });
});
