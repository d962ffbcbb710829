import type { Values } from './render.ts';

const PEER = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
const ANYWHERE = { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] };
const pods = (namespace: string) => ({ namespace, selector: { matchLabels: { app: 'a' } } });
const coordinator = (config: object): Values => ({ coordinator: { config } });

/** Values that exclude each other, axis by axis; with each choice of one axis goes any choice of the others. */
export const AXES: Readonly<Record<string, readonly Values[]>> = {
  image: [
    {},
    { image: { registry: 'registry.example.com:5000/a/', tag: '1' } },
    { image: { digest: `sha256:${'0'.repeat(64)}`, pullSecrets: [{ name: '123' }], pullPolicy: 'Never' } },
    { global: { imageRegistry: 'mirror.example.com', imagePullSecrets: ['one', { name: 'two' }] } },
  ],
  gitpod: [{}, { gitpod: { enabled: true } }, { gitpod: { enabled: true, namespace: '123' } }],
  gate: [{}, coordinator({ readinessGate: 'taint' }), coordinator({ readinessGate: 'both', requirePod: false })],
  rights: [
    {},
    coordinator({ evict: true }),
    { watchNamespaces: ['drivers'], watchResources: ['resourceslices', 'nodefeatures'] },
    { startupGate: { daemonSets: { enabled: true, exclude: ['tier=optional'] } } },
    { rbac: { create: false }, serviceAccount: { create: false } },
    { rbac: { aggregate: true } },
  ],
  agents: [
    {},
    { agent: { hostNetwork: true, port: 9000 } },
    { agent: { hostNetwork: true, rollingUpdate: { maxUnavailable: '10%' }, dnsPolicy: 'Default' } },
    { agent: { rollingUpdate: { maxSurge: 1 }, hostUsers: false } },
    { agent: { updateStrategy: { type: 'OnDelete' }, minReadySeconds: 5, revisionHistoryLimit: 2 } },
  ],
  host: [
    {},
    { agent: { probePaths: ['/run/a', '/var/lib/kubelet/plugins/..b'] } },
    { agent: { probePaths: ['/run/a'], supplementalGroups: [0, 2_147_483_647] } },
    { agent: { deviceTree: true, featuresDir: '/etc/features.d' } },
  ],
  pods: [
    {},
    { agent: { nodeSelector: { a: '1' }, affinity: null }, coordinator: { affinity: null, nodeSelector: null } },
    { agent: { tolerations: [] }, coordinator: { awayFromWorkspaces: 'required', tolerations: [{ key: 'on' }] } },
    {
      agent: {
        dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
        podLabels: { a: '1' },
        extraArgs: ['--verbose'],
        daemonSetAnnotations: { 'example.com/b': '1' },
        readinessProbe: { periodSeconds: 7 },
      },
      coordinator: {
        deploymentAnnotations: { 'example.com/c': '1' },
        initContainers: [{ name: 'first', image: 'first' }],
        livenessProbe: { failureThreshold: 9 },
        serviceAccountLabels: { b: '1' },
        serviceIpFamilyPolicy: 'PreferDualStack',
        hostAliases: [{ ip: '10.0.0.1', hostnames: ['notify.example.com'] }],
        podAnnotations: { 'example.com/a': '1' },
        extraArgs: ['--verbose'],
        extraEnv: [{ name: 'A', value: '1' }],
      },
    },
  ],
  replicas: [
    {},
    { coordinator: { replicas: 0, podDisruptionBudget: { enabled: false } } },
    {
      coordinator: {
        replicas: 9,
        updateStrategy: { type: 'Recreate' },
        podDisruptionBudget: { maxUnavailable: '50%' },
      },
    },
  ],
  security: [
    {},
    { runAsUser: 1_000_740_000 },
    { podSecurityContext: { fsGroup: 2000 }, containerSecurityContext: { readOnlyRootFilesystem: false } },
  ],
  names: [
    {},
    { leaseName: '456', priorityClass: { create: false }, tls: { secretName: '789' } },
    { tls: { secretName: 'serving', caConfigMapName: '123' }, agent: { priorityClassName: '1' } },
  ],
  labels: [
    {},
    { commonLabels: { team: '1', 'example.com/on': 'true' } },
    { commonAnnotations: { 'example.com/note': 'on' }, commonLabels: { helm: 'yes' } },
  ],
  rules: [
    {},
    { rules: { accelerators: false } },
    {
      rules: {
        files: { 'example.com': { gpu: 'dra:a >= 1\n', '1': 'nfd:b' } },
        configMaps: { '12': '34' },
        allowedPrefixes: ['a.b/', 'c-'],
      },
    },
  ],
  services: [
    {},
    { services: { a: { checks: [{ name: 'port', tcp: { port: 1 } }] } }, holds: { b: { pods: pods('ci') } } },
    {
      services: {
        allowedPrefixes: ['example.com/'],
        '1': {
          checks: [{ name: 'pod', pods: pods('kube-system') }],
          publish: { taint: { key: 'example.com/a', effect: 'PreferNoSchedule' } },
        },
      },
    },
  ],
  pools: [{}, { pools: { allowedPrefixes: ['tier'] } }, coordinator({ poolNamespace: 'pools', poolLabels: ['a'] })],
  policies: [
    {},
    { policies: { fence: { enabled: false } } },
    { policies: { poolLabels: { enabled: true } } },
    { policies: { startupTaint: { enabled: true } }, ...coordinator({ startupGateRequires: ['example.com/a'] }) },
  ],
  scheduler: [
    {},
    { scheduler: { enabled: true, clientCaConfigMapName: '1', configMap: { enabled: true } } },
    { scheduler: { enabled: true, port: 1, clientCertificates: false, addressRanges: ['10.0.0.0/8', 'fd00::/8'] } },
  ],
  network: [
    {},
    { networkPolicy: { enabled: false } },
    { networkPolicy: { egress: { agent: [ANYWHERE], coordinator: [ANYWHERE] } } },
    {
      networkPolicy: { scrapers: [PEER] },
      monitoring: {
        podMonitor: {
          enabled: true,
          relabelings: [{ action: 'labeldrop', regex: 'pod' }],
          metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
        },
      },
    },
  ],
  monitoring: [
    {},
    { monitoring: { dashboard: { enabled: true }, prometheusRule: { enabled: true } } },
    { monitoring: { prometheusRule: { enabled: true, disabled: ['RollcallNodesLie', 'RollcallTwoLeaders'] } } },
  ],
  more: [
    {},
    { uninstall: { prune: false }, crds: { install: false } },
    {
      extraObjects: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more', namespace: '{{ .Release.Namespace }}' } },
      ],
      crds: { keep: false },
      listenAddress: '0.0.0.0',
    },
  ],
};

/** As many combinations, always the same: the defaults, and then one choice of each axis at random. */
export function combinations(count: number): Values[] {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const drawn = Array.from({ length: count - 1 }, () =>
    Object.values(AXES).reduce((all, choices) => merged(all, choices[random(choices.length)] ?? {}), {} as Values),
  );
  return [{}, ...drawn];
}

function merged(one: Values, other: Values): Values {
  const entries = Object.entries(other).map(([key, value]) => {
    const before = one[key];
    return [key, isMap(before) && isMap(value) ? merged(before, value) : value];
  });
  return { ...one, ...Object.fromEntries(entries) };
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
