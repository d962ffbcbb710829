import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig as loadAgent } from '@rollcall/agent/config.ts';
import { loadConfig as loadCoordinator } from '@rollcall/coordinator/model/config.ts';
import type { Service } from '@rollcall/coordinator/model/services.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { MISPLACED } from '../../deploy/source/chart/values.ts';
import type { KubeObject } from '../control-plane/api-client.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { CHART, EVERYTHING, fileOf, find, renderChart, renderObjects, type Values, workloads } from './render.ts';

type Schema = { properties?: Record<string, Schema>; additionalProperties?: unknown; items?: Schema; type?: unknown };

const checking = (check: object) => ({ checks: [{ name: 'check', ...check }] });
const contained = (check: object) => checking({ anyOf: [{ name: 'contained', ...check }] });
const MIRROR = checking({ tcp: { port: 5000 } });
const WITHOUT_GITPOD = { gitpod: { enabled: false, namespace: 'gitpod' } };

let helm: Helm;
let everything: KubeObject[];

beforeAll(async () => {
  helm = await ensureHelm();
  everything = await renderObjects(helm, {}, ['--values', EVERYTHING]);
}, 600_000);

test('every pod has tolerations of its own', () => {
  expect(MISPLACED['tolerations']).toEqual(['agent.tolerations', 'coordinator.tolerations']);
});

describe('values are refused', () => {
  const wrong: [string, Values, RegExp][] = [
    ['that do not exist', { agnet: {} }, /agnet/],
    ...Object.entries(MISPLACED).map(([name, paths]): (typeof wrong)[number] => [
      `of all pods: ${name}`,
      { [name]: [] },
      new RegExp(`${name}: is not a value of all pods; set ${paths.join(' or ')}`),
    ]),
    ...['https://registry.example.com', 'oci://a', 'a b', 'a:5000:1', 'a//b'].flatMap((registry): typeof wrong => [
      [`of the registry ${registry}`, { image: { registry } }, /registry/],
      [`of the registry ${registry} of a parent chart`, { global: { imageRegistry: registry } }, /imageRegistry/],
    ]),
    ['of an image with a scheme', { image: { repository: 'https://a/rollcall' } }, /repository/],
    ['of an image with a tag', { image: { repository: 'a/rollcall:1' } }, /repository/],
    ['of a tag that is none', { image: { tag: 'a/b' } }, /tag/],
    [
      'of which one is missing',
      { scheduler: { port: null } },
      /scheduler\.port: is missing; .*--reset-then-reuse-values/,
    ],
    ['of which a section is missing', { uninstall: null }, /uninstall: is missing; .*--reset-then-reuse-values/],
    ['that no option has', { agent: { config: { probePeriod: 1 } } }, /probePeriod/],
    ['that the chart itself sets', { coordinator: { config: { leaseName: 'mine' } } }, /leaseName/],
    ['of the wrong type', { coordinator: { replicas: 'two' } }, /replicas/],
    ['of the wrong type in an option', { agent: { config: { probePeriodMs: '1000' } } }, /probePeriodMs/],
    ['out of range', { agent: { config: { probePeriodMs: 1 } } }, /probePeriodMs/],
    ['that are none of the choices', { coordinator: { config: { readinessGate: 'none' } } }, /readinessGate/],
    ['in a toleration', { agent: { tolerations: [{ operator: 'Exist' }] } }, /operator/],
    ['that would end a string of CEL', { coordinator: { config: { poolLabels: ["a', 'b"] } } }, /poolLabels/],
    ['of a Lease that no object can be called', { leaseName: 'My_Lease' }, /leaseName/],
    ['of alerts that do not exist', { monitoring: { prometheusRule: { thresholds: { Mine: 1 } } } }, /Mine/],
    [
      'of Gitpod without agents',
      { agent: { enabled: false }, gitpod: { enabled: true } },
      /gitpod\.enabled: agents probe the services of Gitpod/,
    ],
    ...[checking, contained].map((checks): [string, Values, RegExp] => [
      'of a check that needs an agent, without agents',
      { agent: { enabled: false }, services: { a: checks({ tcp: { port: 1 } }) } },
      /services\.a\.checks\..*tcp: needs an agent on each node: set agent\.enabled, or use checks of the kinds pods, condition/,
    ]),
    ['that leave nodes gated for ever', { policies: { startupTaint: { enabled: true } } }, /startupGateRequires/],
    ['of a CA without its Secret', { tls: { caConfigMapName: 'ca' } }, /tls\.secretName/],
    ['of schedulers without a CA for their certificates', { scheduler: { enabled: true } }, /clientCaConfigMapName/],
    [
      'of a port that any client may ask without a certificate',
      { scheduler: { enabled: true, clientCertificates: false } },
      /scheduler\.addressRanges: name the addresses of kube-scheduler, .* scheduler\.clientCertificates=true/,
    ],
    [
      'of PodMonitors for a Prometheus that the NetworkPolicy does not admit',
      { monitoring: { podMonitor: { enabled: true } } },
      /networkPolicy\.scrapers: name the pods of Prometheus/,
    ],
    ['of addresses that are none', { scheduler: { addressRanges: ['10.0.0.1'] } }, /addressRanges/],
    ['of a scheduler without an extender', { scheduler: { configMap: { enabled: true } } }, /scheduler\.enabled/],
    [
      'of a scheduler without the certificate that it needs',
      {
        coordinator: { config: { schedulerTls: 'on', schedulerClientCaFile: '/ca.crt' } },
        scheduler: { enabled: true, configMap: { enabled: true } },
      },
      /schedulerClientCaFile/,
    ],
    ['of no label that names a pool', { coordinator: { config: { poolLabels: [] } } }, /poolLabels/],
    [
      'of agents that are replaced in both ways at once',
      { agent: { rollingUpdate: { maxSurge: 1, maxUnavailable: '10%' } } },
      /agent\.rollingUpdate: of maxSurge \(1\) and maxUnavailable \(10%\)/,
    ],
    [
      'of agents that are never replaced',
      { agent: { rollingUpdate: { maxSurge: '0%', maxUnavailable: 0 } } },
      /agent\.rollingUpdate: .* both 0/,
    ],
    [
      'of two agents in the network of a node',
      { agent: { hostNetwork: true, rollingUpdate: { maxSurge: '10%' } } },
      /agent\.rollingUpdate\.maxSurge: .*hostNetwork/,
    ],
    ['of what watches it', { monitoring: { podMonitor: { interval: '30' } } }, /interval/],
    ['of monitoring that do not exist', { monitoring: { dashboard: { folder: 'x' } } }, /folder/],
    [
      'of rules in a domain of Kubernetes',
      { rules: { files: { 'node-role.kubernetes.io': { accel: 'a' } } } },
      /rules: node-role\.kubernetes\.io is a domain .* rules\.allowedPrefixes .* such as node-role\.kubernetes\.io\//,
    ],
    [
      'of rules of a ConfigMap in a domain of Kubernetes',
      { rules: { configMaps: { 'a.k8s.io': 'a' }, allowedPrefixes: ['b.k8s.io/'] } },
      /rules: a\.k8s\.io is a domain/,
    ],
    ['of a service whose name is none', { services: { My_Mirror: MIRROR } }, /My_Mirror/],
    ['of a service that do not exist', { services: { mirror: { prob: {} } } }, /services\/mirror.*prob/],
    ['of an unknown kind of check', { services: { mirror: checking({ quic: {} }) } }, /checks.*quic/],
    [
      'of a label that services may not have',
      { services: { mirror: { ...MIRROR, publish: { label: 'example.com/mirror' } } } },
      /services\.mirror\.publish\.label: .* services\.allowedPrefixes .*: add example\.com\/ to them/,
    ],
    [
      'of a taint that services may not have',
      { services: { mirror: { ...MIRROR, publish: { taint: { key: 'mine', effect: 'NoSchedule' } } } } },
      /services\.mirror\.publish\.taint\.key: .*: add mine to them/,
    ],
    [
      'of a condition that services may not have',
      { services: { mirror: { ...MIRROR, publish: { condition: 'example.com/Mirror' } } } },
      /services\.mirror\.publish\.condition: .*: add example\.com\/ to them/,
    ],
    [
      'of a condition that begins as only taints may',
      { services: { mirror: { ...MIRROR, publish: { condition: 'readiness.k8s.io/Mirror' } } } },
      /services\.mirror\.publish\.condition: readiness\.k8s\.io\/Mirror begins with a prefix that is for taints only: choose/,
    ],
    [
      'of a label that begins as only taints may',
      { services: { mirror: { ...MIRROR, publish: { label: 'readiness.k8s.io/mirror' } } } },
      /services\.mirror\.publish\.label: .* is in the domain k8s\.io, .*: choose another/,
    ],
    [
      'of a label of Kubernetes, also with a prefix that is allowed',
      {
        services: {
          allowedPrefixes: ['node.kubernetes.io/'],
          mirror: { ...MIRROR, publish: { label: 'node.kubernetes.io/mirror' } },
        },
      },
      /services\.mirror\.publish\.label: .* is in the domain kubernetes\.io, .*: choose another/,
    ],
    [
      'of a taint of Kubernetes',
      { services: { mirror: { ...MIRROR, publish: { taint: { key: 'a.k8s.io/b', effect: 'NoSchedule' } } } } },
      /services\.mirror\.publish\.taint\.key: .* is in the domain k8s\.io, .*: choose another/,
    ],
    [
      'of a taint that evicts',
      { services: { mirror: { ...MIRROR, publish: { taint: { key: 'readiness.k8s.io/a', effect: 'NoExecute' } } } } },
      /services\.mirror\.publish\.taint\.effect: .*coordinator\.config\.allowNoExecute/,
    ],
    [
      'of a socket that agents do not see',
      { services: { csi: checking({ csi: { socket: '/run/a/csi.sock' } }) }, agent: { probePaths: ['/run/ab'] } },
      /services\.csi\.checks\.check\.csi\.socket: .* agent\.probePaths: add \/run\/a to them/,
    ],
    [
      'of a file that agents do not see',
      { services: { log: contained({ file: { path: '/run/log' } }) } },
      /services\.log\.checks\.check\.anyOf\.contained\.file\.path: .*agent\.probePaths/,
    ],
    [
      "of the agent's own loopback",
      { services: { mirror: contained({ tcp: { port: 1, host: 'Loopback' } }) } },
      /services\.mirror\.checks\.check\.anyOf\.contained\.tcp\.host: .*agent\.hostNetwork/,
    ],
    [
      'of what only pods can tell, of agents on the network of the host',
      { services: { net: checking({ kubernetesService: {} }) }, agent: { hostNetwork: true } },
      /services\.net\.checks\.check\.kubernetesService: .*agent\.hostNetwork/,
    ],
    ['of a path that is none', { agent: { probePaths: ['run'] } }, /probePaths/],
    ['of feature files at no path', { agent: { featuresDir: 'features.d' } }, /featuresDir/],
    ['of a namespace that is none', { watchNamespaces: ['a b'] }, /watchNamespaces/],
    ['of a hold without pods', { holds: { builds: {} } }, /holds\/builds/],
    ['of a port on which the coordinator listens already', { scheduler: { port: 8443 } }, /port/],
    ['of a path that leads up', { agent: { probePaths: ['/run/../etc'] } }, /probePaths/],
    ['of a path that is there twice', { agent: { probePaths: ['/run/a', '/run/a'] } }, /probePaths/],
    ['of feature files on a path that leads up', { agent: { featuresDir: '/..' } }, /featuresDir/],
    ['of a label that no object can have', { commonLabels: { a: 'b c' } }, /commonLabels/],
    ['of the name of a label that no pod can have', { agent: { podLabels: { 'a b': 'c' } } }, /podLabels/],
    ['of a prefix that no key has', { rules: { allowedPrefixes: ['a/b/'] } }, /allowedPrefixes/],
    ['of a rule file whose name is no label', { rules: { files: { 'example.com': { 'a b': 'c' } } } }, /files/],
    ['of rules of a domain that is none', { rules: { files: { 'a..b': { c: 'd' } } } }, /files/],
    ['of a range that is none', { scheduler: { addressRanges: ['10.0.0.0/33'] } }, /addressRanges/],
    ['of a Secret that no Secret can be called', { tls: { secretName: 'A_b' } }, /secretName/],
    ['of a Lease with an empty part', { leaseName: 'a..b' }, /leaseName/],
    [
      'of alerts that do not exist, to leave out',
      { monitoring: { prometheusRule: { disabled: ['Mine'] } } },
      /disabled/,
    ],
    [
      'of a tag that a digest overrides',
      { image: { tag: '1', digest: `sha256:${'0'.repeat(64)}` } },
      /image\.tag: image\.digest decides .* set image\.digest to an empty string/,
    ],
    [
      'of users of their own, of agents on the network of the host',
      { agent: { hostNetwork: true, hostUsers: false } },
      /agent\.hostUsers: .* set it to null/,
    ],
    ['of two places for the same rules', { rules: { configMaps: { accelerators: 'mine' } } }, /already/],
  ];

  test.each(wrong)('%s', async (_, values, message) => {
    await expect(renderChart(helm, values)).rejects.toThrow(message);
  });

  test('at every level, as every object of the schema is closed or of one kind of value', () => {
    const schema = JSON.parse(readFileSync(path.join(CHART, 'values.schema.json'), 'utf8')) as Schema;
    const handedOn = ['affinity', 'topologySpreadConstraints[]', 'scrapers[]', 'objectSelector', 'global'];
    const ofPods = [
      'updateStrategy',
      'initContainers[]',
      'dnsConfig',
      'hostAliases[]',
      'podSecurityContext',
      'containerSecurityContext',
    ];
    const lists = ['extraEnv[]', 'extraVolumes[]', 'extraVolumeMounts[]', 'extraObjects[]', 'egress.agent[]'];
    const more = ['egress.coordinator[]', 'relabelings[]', 'metricRelabelings[]'];
    const allowed = [...handedOn, ...ofPods, ...lists, ...more];
    expect(openObjects(schema, '').filter((place) => !allowed.some((name) => place.endsWith(`.${name}`)))).toEqual([]);
  });

  test('not when a chart that depends on this one adds its own', async () => {
    await renderChart(helm, { global: { anything: 1 }, enabled: true });
  });
});

describe('the configuration files', () => {
  test('of the defaults are what the programs take, with their own defaults', async () => {
    const objects = await renderObjects(helm);
    const { command, args } = containerOf(objects, 'DaemonSet');
    const agent = await effective(loadAgent, objects, args);
    expect(agent).toMatchObject({
      listen: '[::]:8086',
      sysfsRoot: '/sys',
      coordinatorCaFile: '/etc/rollcall/ca/ca.crt',
    });
    expect(command.at(-1)).toBe('/app/agent/main.js');
    // A parser in the memory of every node, for nothing.
    expect(args.join()).not.toMatch(/config/);
    const coordinator = await effective(loadCoordinator, objects, containerOf(objects, 'Deployment').args);
    expect(coordinator).toMatchObject({
      agentServiceAccount: 'system:serviceaccount:rollcall:rollcall-agent',
      reportsListen: '[::]:8443',
      rulesAllowedPrefixes: ['accelerators/'],
      schedulerListen: 'off',
      leaseName: 'rollcall-coordinator',
      leaseNamespace: 'rollcall',
    });
  });

  test('allow rules in a domain of Kubernetes that is named', async () => {
    const files = { 'node-role.kubernetes.io': { accel: 'a' }, 'notk8s.io': { b: 'c' } };
    const objects = await renderObjects(helm, { rules: { files, allowedPrefixes: ['node-role.kubernetes.io/a'] } });
    expect(await effective(loadCoordinator, objects, containerOf(objects, 'Deployment').args)).toMatchObject({
      rulesAllowedPrefixes: ['accelerators/', 'notk8s.io/', 'node-role.kubernetes.io/a'],
    });
  });

  test('of an agent hold nothing of Gitpod, and no parser is needed without a file', async () => {
    const gitpod = { enabled: true, wsDaemonPort: 8081 };
    const { args } = containerOf(await renderObjects(helm, { gitpod }), 'DaemonSet');
    expect(args).toEqual(['--listen=[::]:8086']);
  });

  test('of all values are what the programs take', async () => {
    const values = parse(readFileSync(EVERYTHING, 'utf8')) as Record<'agent' | 'coordinator', { config: object }>;
    const agent = await effective(loadAgent, everything, containerOf(everything, 'DaemonSet').args);
    expect(agent).toMatchObject({ ...values.agent.config, listen: '0.0.0.0:18086' });
    const coordinator = await effective(loadCoordinator, everything, containerOf(everything, 'Deployment').args);
    expect(coordinator).toMatchObject({
      ...values.coordinator.config,
      namespace: 'gitpod',
      wsDaemonPort: 8081,
      schedulerListen: '0.0.0.0:8889',
    });
    expect(coordinator).toMatchObject({ tlsCertFile: '/etc/rollcall/tls/tls.crt' });
  });

  test('of the startup gate are those of its section', async () => {
    const { startupGate } = parse(readFileSync(EVERYTHING, 'utf8')) as { startupGate: { daemonSets: object } };
    const coordinator = await effective(loadCoordinator, everything, containerOf(everything, 'Deployment').args);
    const own = Object.entries(coordinator).flatMap(([key, value]) => {
      const [, name = ''] = /^startupGateDaemonSets(\w*)$/.exec(key) ?? [];
      return key.startsWith('startupGateDaemonSets')
        ? [[`${name.charAt(0).toLowerCase()}${name.slice(1)}` || 'enabled', value]]
        : [];
    });
    expect(Object.fromEntries(own)).toEqual(startupGate.daemonSets);
  });

  test('without Gitpod contain nothing of it, whatever else is said', async () => {
    const objects = await renderObjects(helm, WITHOUT_GITPOD);
    expect(containerOf(objects, 'DaemonSet').args).toEqual(['--listen=[::]:8086']);
    for (const kind of ['Deployment', 'Job']) {
      const config = await effective(loadCoordinator, objects, containerOf(objects, kind).args);
      expect(config).toMatchObject({ gitpod: false, namespace: 'default', watchedServices: [] });
    }
  });

  test('tell --prune of the same keys, and of no files that it does not need', async () => {
    const running = await effective(loadCoordinator, everything, containerOf(everything, 'Deployment').args);
    const pruning = await effective(loadCoordinator, everything, containerOf(everything, 'Job').args);
    expect(pruning['prune']).toBe(true);
    for (const key of ['watchedServices', 'poolLabels', 'leaseName', 'leaseNamespace']) {
      expect(pruning[key]).toEqual(running[key]);
    }
    for (const key of ['tlsCertFile', 'registryFacadeCaFile']) expect(pruning[key]).toBeUndefined();
  });

  test('tell the coordinator, and not --prune, of a CA of schedulers that is in no volume of the Job', async () => {
    const config = { schedulerTls: 'on', schedulerClientCaFile: '/etc/schedulers/ca.crt' };
    const objects = await renderObjects(helm, {
      coordinator: { config },
      scheduler: { enabled: true, clientCertificates: false },
    });
    expect(await effective(loadCoordinator, objects, containerOf(objects, 'Deployment').args)).toMatchObject(config);
    const pruning = await effective(loadCoordinator, objects, containerOf(objects, 'Job').args);
    expect([pruning['schedulerTls'], pruning['schedulerClientCaFile']]).toEqual(['off', undefined]);
  });
});

describe('the policies and the coordinator agree', () => {
  test('on labels and taints of services, pools, domains and prefixes of rules', async () => {
    const config = await effective(loadCoordinator, everything, containerOf(everything, 'Deployment').args);
    const services = config['watchedServices'] as Service[];
    const fence = variablesOf(find(everything, 'ValidatingAdmissionPolicy', 'rollcall-fence'));
    expect(fence.get('ownLabels')).toEqual(services.map(({ publish }) => publish.label));
    expect(fence.get('ownTaints')).toEqual(services.map(({ publish }) => publish.taint?.key));
    expect(fence.get('poolLabels')).toEqual(config['poolLabels']);
    expect(fence.get('poolPrefixes')).toEqual(config['poolsAllowedPrefixes']);
    expect(fence.get('reservedDomains')).toEqual(['k8s.io', 'kubernetes.io', 'example.org']);
    expect(fence.get('servicePrefixes')).toEqual(config['servicesAllowedPrefixes']);
    expect(fence.get('ownPrefixes')).toEqual(expect.arrayContaining(config['rulesAllowedPrefixes'] as string[]));
    for (const name of ['rollcall-pool-labels', 'rollcall-pool-label-sets']) {
      const binding = find(everything, 'MutatingAdmissionPolicyBinding', name);
      expect(binding['spec']).toMatchObject({ policyName: name, paramRef: { namespace: config['poolNamespace'] } });
    }
  });

  test('on nothing of Gitpod where there is none', async () => {
    const fence = variablesOf(
      find(await renderObjects(helm, WITHOUT_GITPOD), 'ValidatingAdmissionPolicy', 'rollcall-fence'),
    );
    // No key is empty.
    expect([fence.get('ownLabels'), fence.get('ownTaints')]).toEqual([[''], ['']]);
  });
});

describe('services', () => {
  const pods = { namespace: 'ci', selector: { matchLabels: { app: 'runner' } } };

  test('are NodeServices as they are written', async () => {
    const { services } = parse(readFileSync(EVERYTHING, 'utf8')) as { services: Record<string, object> };
    for (const name of ['registry-mirror', 'ebs-csi']) {
      expect(find(everything, 'NodeService', name)['spec']).toEqual(services[name]);
    }
    expect((await renderObjects(helm)).filter(({ kind }) => kind === 'NodeService')).toEqual([]);
  });

  test('may publish taints with the prefixes for taints, and conditions of another domain of Kubernetes', async () => {
    const publish = {
      taint: { key: 'readiness.k8s.io/mirror', effect: 'NoSchedule' },
      condition: 'example.k8s.io/Mirror',
    };
    const allowedPrefixes = ['readiness.k8s.io/', 'example.k8s.io/'];
    const objects = await renderObjects(helm, { services: { allowedPrefixes, mirror: { ...MIRROR, publish } } });
    expect(find(objects, 'NodeService', 'mirror')['spec']).toMatchObject({ publish });
  });

  test('that hold nodes are NodeHolds', async () => {
    const objects = await renderObjects(helm, { holds: { builds: { pods } } });
    expect(find(objects, 'NodeHold', 'builds')).toMatchObject({
      apiVersion: 'rollcall.dev/v1alpha1',
      spec: { pods },
    });
  });

  test('are probed at sockets where agents see them and may use them', () => {
    const agent = workloads(everything).find(({ kind }) => kind === 'DaemonSet')?.template.spec;
    expect(agent?.containers[0]?.args).toContain('--probe-paths=/var/lib/kubelet/plugins,/run/mirror');
    expect(agent?.['securityContext']).toMatchObject({
      runAsUser: 0,
      runAsGroup: 0,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(agent?.volumes).toContainEqual({
      name: 'probe-0',
      hostPath: { path: '/var/lib/kubelet/plugins', type: 'DirectoryOrCreate' },
    });
    expect(agent?.containers[0]?.['volumeMounts']).toContainEqual({
      name: 'probe-0',
      mountPath: '/var/lib/kubelet/plugins',
      readOnly: true,
      mountPropagation: 'HostToContainer',
    });
  });

  test('are probed at sockets of a group without uid 0', async () => {
    const agent = { probePaths: ['/run/driver'], supplementalGroups: [0, 1234] };
    const pod = workloads(await renderObjects(helm, { agent })).find(({ kind }) => kind === 'DaemonSet')?.template.spec;
    expect(pod?.['securityContext']).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
      supplementalGroups: [0, 1234],
    });
  });
});

type Loader = typeof loadAgent | typeof loadCoordinator;

/** What a program makes of its arguments and of the ConfigMap that they lead to. */
async function effective(
  load: Loader,
  objects: readonly KubeObject[],
  argv: readonly string[],
): Promise<Record<string, unknown>> {
  const of = { Job: 'rollcall-uninstall', agent: 'rollcall-agent', coordinator: 'rollcall-coordinator' };
  const program = load === loadAgent ? 'agent' : 'coordinator';
  const configMap = argv.includes('--prune') ? of.Job : of[program];
  const env = { POD_NAMESPACE: 'rollcall', NODE_NAME: 'node-1' };
  const readFile = (file: string) => fileOf(objects, configMap, path.basename(file));
  const environment = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };
  const sources = { argv: argv as string[], env, readFile };
  const loaded = await (load as typeof loadCoordinator)(sources, environment);
  if (loaded.action !== 'run') throw new Error('It would print something');
  return loaded.values;
}

function containerOf(objects: readonly KubeObject[], kind: string) {
  const container = workloads(objects).find((each) => each.kind === kind)?.template.spec.containers[0];
  if (!container) throw new Error(`There is no ${kind}`);
  return container;
}

/** The lists of strings among the variables of a policy. */
function variablesOf(policy: KubeObject): Map<string, string[]> {
  const { variables } = policy['spec'] as { variables: { name: string; expression: string }[] };
  const lists = variables.filter(({ expression }) => /^\['/.test(expression) && expression.endsWith(']'));
  return new Map(
    lists.map(({ name, expression }) => [name, [...expression.matchAll(/'([^']*)'/g)].map((m) => m[1] ?? '')]),
  );
}

/** Objects of the schema that take any key with any value. */
function openObjects(schema: Schema, place: string): string[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
    openObjects(each, `${place}.${name}`),
  );
  if (schema.items) below.push(...openObjects(schema.items, `${place}[]`));
  const { additionalProperties: more } = schema;
  if (typeof more === 'object' && more !== null) return [...below, ...openObjects(more as Schema, `${place}.*`)];
  const isOpen = schema.type === 'object' && more !== false;
  return isOpen ? [...below, place] : below;
}
