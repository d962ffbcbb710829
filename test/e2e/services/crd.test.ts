import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  await applyNodeServiceCrd(controlPlane);
});
afterAll(() => controlPlane?.stop());

let created = 0;

/** Creates a NodeService, and returns what the API server has against it, if anything. */
async function problemOf(spec: object, name = `service-${++created}`): Promise<string | undefined> {
  return controlPlane.api.post(NODE_SERVICES, nodeService(name, spec)).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

const pods = { namespace: 'kube-system', selector: { matchLabels: { app: 'ebs-csi-node' } } };
const tcp = { tcp: { port: 5000 } };
const checking = (check: object) => ({ checks: [{ name: 'check', ...check }] });
/** One check that is well, beside what else is asked for. */
const PORT = checking(tcp);
/** The same check as one of a service, and as one of which one must pass. */
const places = (check: object) => [checking(check), checking({ anyOf: [{ name: 'a', ...check }] })];
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64');

describe('a NodeService', () => {
  test('may have every field', async () => {
    const problem = await problemOf({
      nodeSelector: {
        matchLabels: { 'kubernetes.io/os': 'linux' },
        matchExpressions: [
          { key: 'tier', operator: 'In', values: ['a', ''] },
          { key: 'virtual', operator: 'DoesNotExist' },
        ],
      },
      checks: [
        { name: 'pod', pods: { ...pods, daemonSet: 'ebs-csi-node' } },
        {
          name: 'port',
          https: {
            ...{ port: 9808, path: '/healthz', headers: { accept: '*/*' }, expectedStatuses: ['200-399', '401'] },
            caBundle: base64('# My CA\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'),
            host: 'Node',
          },
          ...{ period: '1s', timeout: '500ms', failureThreshold: 3, successThreshold: 1 },
        },
        { name: 'registered', csiNode: { driver: 'ebs.csi.aws.com' } },
        { name: 'gpus', device: { name: 'nvidia-gpu', minCount: 8, driver: 'nvidia' } },
        {
          name: 'offered',
          anyOf: [
            { name: 'plugin', resource: { name: 'nvidia.com/gpu', min: 8 } },
            { name: 'dra', dra: { driver: 'gpu.nvidia.com', min: 8 } },
            { name: 'socket', unix: { path: '/run/a.sock' }, period: '100ms' },
          ],
        },
      ],
      mode: 'Startup',
      startupDeadline: '1h30m',
      publish: {
        label: 'example.com/ebs-ready',
        taint: { key: 'readiness.k8s.io/ebs', value: '', effect: 'NoExecute' },
        condition: 'example.com/EBSReady',
      },
    });
    expect(problem).toBeUndefined();
  });

  test('is evaluated all the time, and asks for one of each thing, by default', async () => {
    const counted = [
      { name: 'gpus', device: { name: 'gpu' } },
      { name: 'offered', resource: { name: 'nvidia.com/gpu' } },
      { name: 'dra', dra: { driver: 'gpu.nvidia.com' } },
    ];
    expect(await problemOf({ checks: [...PORT.checks, ...counted] }, 'defaults')).toBeUndefined();
    const { spec } = await controlPlane.api.get<{ spec: object } & ReturnType<typeof nodeService>>(
      `${NODE_SERVICES}/defaults`,
    );
    expect(spec).toEqual({
      mode: 'Continuous',
      checks: [
        ...PORT.checks,
        { name: 'gpus', device: { name: 'gpu', minCount: 1 } },
        { name: 'offered', resource: { name: 'nvidia.com/gpu', min: 1 } },
        { name: 'dra', dra: { driver: 'gpu.nvidia.com', min: 1 } },
      ],
    });
  });

  test.each([
    { tcp: { port: 1 } },
    { tls: { port: 1, host: 'Node' } },
    { http2: { port: 1, host: 'Loopback' } },
    { http: { port: 1, path: '/v2/' } },
    { grpc: { port: 1, service: 'a.b' } },
    { grpc: { socket: '/run/a.sock' } },
    { csi: { socket: '/var/lib/kubelet/plugins/a/csi.sock' } },
    { unix: { path: '/var/lib/kubelet/device-plugins/a.sock' } },
    { file: { path: '/run/ready', maxAge: '1.5h' } },
    { file: { path: '/run/..a/.b/...' } },
    { http: { port: 1, headers: { "!#$%&'*+.^_`|~-aZ09": '~ \t', Accept: '' }, expectedStatuses: ['200-200', '404'] } },
  ])('may check %j', async (check) => {
    for (const spec of places(check)) expect(await problemOf(spec)).toBeUndefined();
  });

  test('may probe its pods, wherever it checks them', async () => {
    const probe = { name: 'port', tcp: { port: 1, host: 'Pod' } };
    const pod = { name: 'pod', pods };
    expect(await problemOf({ checks: [probe, pod] })).toBeUndefined();
    expect(await problemOf({ checks: [probe, { name: 'any', anyOf: [pod] }] })).toBeUndefined();
    expect(await problemOf({ checks: [pod, { name: 'any', anyOf: [probe] }] })).toBeUndefined();
  });

  test('may have 16 checks, each of 8', async () => {
    const some = (count: number, check: object) =>
      Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...check }));
    expect(await problemOf({ checks: some(16, { anyOf: some(8, tcp) }) })).toBeUndefined();
  });

  test('is found by its short name, and shown with what became of it', async () => {
    expect(await problemOf(PORT, 'shown')).toBeUndefined();
    const status = {
      ready: '1/3',
      nodes: { selected: 3, ready: 1, notReady: 2, unknown: 0 },
      published: [
        { kind: 'Label', key: 'example.com/a' },
        { kind: 'Taint', key: 'example.com/b', effect: 'NoSchedule' },
      ],
    };
    await controlPlane.api.patch(`${NODE_SERVICES}/shown/status`, { status });
    const shown = async (...more: string[]) => {
      const lines = (await controlPlane.kubectl(['get', 'nsvc', 'shown', ...more])).trimEnd().split('\n');
      const titles = [...(lines[0] ?? '').matchAll(/\S+/g)];
      // A cell is below its title, and may be empty.
      return Object.fromEntries(
        titles.map(({ 0: title, index }, nth) => [title, lines[1]?.slice(index, titles[nth + 1]?.index).trim()]),
      );
    };
    const brief = ['NAME', 'READY', 'IN-FORCE', 'NODES-READY', 'AGE'];
    expect(Object.keys(await shown())).toEqual(brief);
    const more = ['NOT-READY', 'UNKNOWN', 'LABEL', 'TAINT', 'CONDITION', 'MESSAGE', 'DRY-RUN'];
    const wide = await shown('-o', 'wide');
    expect(Object.keys(wide)).toEqual([...brief.slice(0, -1), ...more, 'AGE']);
    expect(wide).toMatchObject({
      READY: '1/3',
      'NOT-READY': '2',
      UNKNOWN: '0',
      LABEL: 'example.com/a',
      TAINT: 'example.com/b',
      CONDITION: '',
    });
  });
});

describe('the API server refuses', () => {
  const published = (publish: object) => ({ ...PORT, publish });
  const many = Array.from({ length: 17 }, (_, index) => ({ name: `c${index}`, ...tcp }));
  test.each<[string, object, RegExp]>([
    ['a service without a list of checks', {}, /spec\.checks: Required value/],
    ['a service without checks', { checks: [] }, /spec\.checks: .* should have at least 1 items/],
    ['17 checks', { checks: many }, /spec\.checks: Too many: 17: must have at most 16 items/],
    ['9 checks in anyOf', checking({ anyOf: many.slice(0, 9) }), /anyOf: Too many: 9: must have at most 8 items/],
    ['two checks of one name', { checks: [...PORT.checks, ...PORT.checks] }, /spec\.checks\[1\]: Duplicate value/],
    ['a check without a name', { checks: [tcp] }, /spec\.checks\[0\]\.name: Required value/],
    ['a name that is none', { checks: [{ name: 'A', ...tcp }] }, /spec\.checks\[0\]\.name: Invalid value/],
    [
      'a condition of the kubelet',
      checking({ condition: { type: 'Ready' } }),
      /the kubelet and networks write this condition/,
    ],
    ['a condition without a type', checking({ condition: {} }), /condition\.type: Required value/],
    [
      'a status that no condition has',
      checking({ condition: { type: 'A', status: 'Yes' } }),
      /condition\.status: Unsupported value/,
    ],
    [
      'a reporter without a selector',
      checking({ condition: { type: 'A', reporter: { namespace: 'a' } } }),
      /reporter\.selector: Required value/,
    ],
    ['a name that no DNS has', checking({ dns: { name: 'a b' } }), /dns\.name: Invalid value/],
    ['a check of no kind', checking({}), /a check has exactly one kind: pods, condition, .*, kubernetesService, anyOf/],
    ['a check of an unknown kind', checking({ quic: { port: 1 } }), /a check has exactly one kind: pods/],
    ['a check of two kinds', checking({ ...tcp, unix: { path: '/a' } }), /a check has exactly one kind/],
    ['a check and anyOf', checking({ ...tcp, anyOf: PORT.checks }), /a check has exactly one kind/],
    [
      'a contained check of no kind',
      checking({ anyOf: [{ name: 'a' }] }),
      /a check has exactly one kind: pods, .*, kubernetesService$/,
    ],
    [
      'a check of two kinds in anyOf',
      checking({ anyOf: [{ name: 'a', ...tcp, pods }] }),
      /a check has exactly one kind/,
    ],
    ['an empty anyOf', checking({ anyOf: [] }), /anyOf: .* should have at least 1 items/],
    [
      'a period of a check of pods',
      checking({ pods, period: '1s' }),
      /period, .* are for checks that agents make: tcp,/,
    ],
    ['a threshold of anyOf', checking({ anyOf: PORT.checks, failureThreshold: 1 }), /are for checks that agents make/],
    ['a port that is none', checking({ tcp: { port: 0 } }), /spec\.checks\[0\]\.tcp\.port/],
    [
      'gRPC at a port and a socket',
      checking({ grpc: { port: 1, socket: '/a' } }),
      /grpc needs either a port or a socket/,
    ],
    ['gRPC at neither', checking({ grpc: {} }), /grpc needs either a port or a socket/],
    ['a path that is not absolute', checking({ unix: { path: 'a.sock' } }), /spec\.checks\[0\]\.unix\.path/],
    [
      'a status that is none',
      checking({ http: { port: 1, expectedStatuses: ['2xx'] } }),
      /spec\.checks\[0\]\.http\.expectedStatuses/,
    ],
    ['an unknown host', checking({ tcp: { port: 1, host: 'Service' } }), /Unsupported value: "Service"/],
    [
      'an empty selector of pods',
      checking({ pods: { namespace: 'a', selector: {} } }),
      /an empty selector would select every pod/,
    ],
    ['a resource that is none', checking({ resource: { name: 'a b' } }), /spec\.checks\[0\]\.resource\.name/],
    ['no devices', checking({ device: { name: 'gpu', minCount: 0 } }), /minCount .*greater than or equal to 1/],
    [
      'In without values',
      { ...PORT, nodeSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      /In and NotIn need values/,
    ],
    [
      'Exists with values',
      { ...PORT, nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } },
      /Exists and DoesNotExist must not have any/,
    ],
    [
      'a selector with a key that is none',
      { ...PORT, nodeSelector: { matchLabels: { 'a b': 'c' } } },
      /a key is not a valid label key/,
    ],
    ['an empty publication', published({}), /publish needs a label, a taint or a condition/],
    ['a label that is none', published({ label: 'a/b/c' }), /not a valid key/],
    [
      'a label of Kubernetes',
      published({ label: 'node.kubernetes.io/a' }),
      /may not be in the domains k8s\.io and kubernetes\.io/,
    ],
    [
      'a label with a prefix for taints',
      published({ label: 'readiness.k8s.io/a' }),
      /may not be in the domains .*: choose another key/,
    ],
    [
      'a taint of Kubernetes',
      published({ taint: { key: 'node.kubernetes.io/a', effect: 'NoSchedule' } }),
      /may only begin with/,
    ],
    ['a taint of no effect', published({ taint: { key: 'a', effect: 'NoEntry' } }), /Unsupported value: "NoEntry"/],
    ...[0, -1, '0%', '101%', '5', 'half'].map((maxUnavailable): [string, object, RegExp] => [
      `a taint for ${maxUnavailable} nodes at a time`,
      published({ taint: { key: 'a', effect: 'NoSchedule', maxUnavailable } }),
      /maxUnavailable must be a number of nodes from 1, or a percentage from 1% to 100%/,
    ]),
    ['a CA that is no base64', checking({ https: { port: 1, caBundle: '-----' } }), /\.https\.caBundle/],
    ['a condition that is none', published({ condition: 'a b' }), /not a valid key/],
    [
      'a condition of maintenance',
      published({ condition: 'DrainInProgress' }),
      /those who drain and maintain nodes write/,
    ],
    ["a condition of the kubelet's", published({ condition: 'Ready' }), /kubelets and networks write this condition/],
  ])('%s', async (_what, spec, message) => expect(await problemOf(spec)).toMatch(message));

  test.each(['99ms', '1h1ms', '8760h'])('a period of %s', async (period) => {
    for (const spec of places({ ...tcp, period }))
      expect(await problemOf(spec)).toMatch(/period must be a duration of 100ms to 1h/);
  });

  test('a time-out of more than an hour, which agents would cut', async () => {
    for (const spec of places({ ...tcp, timeout: '61m' }))
      expect(await problemOf(spec)).toMatch(/timeout must be a duration of 10ms to 1h/);
  });

  test.each(['', '1', '10', '1 s', '-1s', '1d', '9ms', '8761h', 's', '1.s'])(
    'a duration that is none: %j',
    async (value) => {
      const problem = (field: string, range: string) =>
        new RegExp(`${field} must be a duration of ${range}, such as 500ms, 10s or 1m30s`);
      for (const [field, range] of [
        ['period', '100ms to 1h'],
        ['timeout', '10ms to 1h'],
      ] as const) {
        for (const spec of places({ ...tcp, [field]: value }))
          expect(await problemOf(spec)).toMatch(problem(field, range));
      }
      expect(await problemOf(checking({ file: { path: '/a', maxAge: value } }))).toMatch(
        problem('maxAge', '10ms to 8760h'),
      );
      expect(await problemOf({ ...PORT, startupDeadline: value })).toMatch(problem('startupDeadline', '10ms to 8760h'));
    },
  );

  test.each(['tcp', 'tls', 'http2', 'http', 'https', 'grpc'])(
    'the address of pods where none are checked: %s',
    async (kind) => {
      for (const spec of places({ [kind]: { port: 1, host: 'Pod' } }))
        expect(await problemOf(spec)).toMatch(/host is Pod, but no check is of the kind pods: add one, or use Node/);
    },
  );

  const sockets = (path: string) => [
    { unix: { path } },
    { file: { path } },
    { csi: { socket: path } },
    { grpc: { socket: path } },
  ];
  test.each(['a.sock', '/run/../a.sock', '/run/./a.sock', '/run//a.sock', '/run/..', '/run/a/', '/'].flatMap(sockets))(
    'what agents find at no path: %j',
    async (check) =>
      expect(await problemOf(checking(check))).toMatch(
        /(path|socket) must be an absolute path .*: write it as it is on the node/,
      ),
  );

  test.each<[object, RegExp]>([
    [{ headers: { 'X Probe': 'a' } }, /a name in headers must be a token of HTTP, .*: write it as in X-Probe/],
    [{ headers: { '': 'a' } }, /a name in headers must be a token of HTTP/],
    [{ headers: { 'X-Probe:': 'a' } }, /a name in headers must be a token of HTTP/],
    [{ headers: { a: 'b\r\nc: d' } }, /the value of a header may only have .*: remove the others/],
    [{ headers: { a: 'ä' } }, /the value of a header may only have/],
    [
      { expectedStatuses: ['200', '399-200'] },
      /a range in expectedStatuses must begin with its lower status: write "200-399"/,
    ],
  ])('what agents cannot ask by HTTP: %j', async (settings, problem) => {
    expect(await problemOf(checking({ http: { port: 1, ...settings } }))).toMatch(problem);
    expect(await problemOf(checking({ https: { port: 1, ...settings } }))).toMatch(problem);
  });

  test.each(['a certificate', '-----BEGIN PRIVATE KEY-----', Uint8Array.of(0x30, 0x82, 0xff)])(
    'a CA that is none: %j',
    async (caBundle) =>
      expect(await problemOf(checking({ https: { port: 1, caBundle: base64(caBundle) } }))).toMatch(
        /caBundle contains no certificate: set it to the CA certificates in PEM, in base64/,
      ),
  );

  test('a name that is too long for the label that it would be part of', async () => {
    const name = 'a'.repeat(64);
    expect(await problemOf(PORT, name)).toMatch(/use at most 63 characters, or set publish/);
    expect(await problemOf(published({ label: 'example.com/a' }), name)).toBeUndefined();
    expect(await problemOf(PORT, 'a.b')).toBeUndefined();
  });

  test('a misspelt field, where it is asked to be strict', async () => {
    const misspelt = nodeService('misspelt', { ...PORT, publsh: { label: 'a' } });
    const strict = controlPlane.api.post(`${NODE_SERVICES}?fieldValidation=Strict`, misspelt);
    await expect(strict).rejects.toThrow(/unknown field "spec\.publsh"/);
  });
});

test.each([
  'readiness.k8s.io/a',
  'startup-taint.cluster-autoscaler.kubernetes.io/a',
  'status-taint.cluster-autoscaler.kubernetes.io/a',
  'example.com/a',
  'mykubernetes.io/a',
])('a taint may be %s', async (key) =>
  expect(await problemOf({ ...PORT, publish: { taint: { key, effect: 'NoSchedule' } } })).toBeUndefined(),
);

test.each(['EBSReady', 'example.com/EBSReady', 'readiness.k8s.io/EBSReady'])(
  'a condition may be %s',
  async (condition) => expect(await problemOf({ ...PORT, publish: { condition } })).toBeUndefined(),
);

test('what an earlier CRD took keeps its status, and can be changed but for what is wrong with it', async () => {
  const { api } = controlPlane;
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeservices.rollcall.dev';
  const withoutRules = (field: string, value: unknown) => (field === 'x-kubernetes-validations' ? undefined : value);
  await api.put(path, JSON.parse(JSON.stringify(await api.get(path), withoutRules)));
  const http = { port: 1, headers: { 'X Probe': 'ä' }, expectedStatuses: ['399-200'] };
  await waitFor('the object of before', () => api.post(NODE_SERVICES, nodeService('before', checking({ http }))));
  await applyNodeServiceCrd(controlPlane);
  const change = (spec: object) => api.patch(`${NODE_SERVICES}/before`, { spec }).then(() => '', String);
  const wrong = { ...http, expectedStatuses: ['500-400'] };
  await waitFor('the rules', async () => /a range in/.test(await change(checking({ http: wrong }))));
  expect(await change(checking({ failureThreshold: 7, http: { ...http, port: 2 } }))).toBe('');
  await api.patch(`${NODE_SERVICES}/before/status`, { status: { ready: '1/1' } });
});
