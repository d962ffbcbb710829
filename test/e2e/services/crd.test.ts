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
      pods: { ...pods, daemonSet: 'ebs-csi-node' },
      probe: {
        https: {
          ...{ port: 9808, path: '/healthz', headers: { accept: '*/*' }, statuses: ['200-399', '401'] },
          caBundle: base64('# My CA\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'),
        },
        host: 'Node',
        ...{ periodMilliseconds: 1000, timeoutMilliseconds: 500, failureThreshold: 3, successThreshold: 1 },
      },
      csiDriver: 'ebs.csi.aws.com',
      devices: ['edgetpu >= 1', 'driver:nvidia-gpu = nvidia', 'count:gpu', 'driver:gpu in (nvidia, vfio-*)'],
      mode: 'Startup',
      publish: {
        label: 'example.com/ebs-ready',
        taint: { key: 'readiness.k8s.io/ebs', value: '', effect: 'NoExecute' },
        condition: 'example.com/EBSReady',
      },
    });
    expect(problem).toBeUndefined();
  });

  test('is evaluated all the time, and probed once a second, by default', async () => {
    expect(await problemOf({ probe: tcp }, 'defaults')).toBeUndefined();
    const { spec } = await controlPlane.api.get<{ spec: object } & ReturnType<typeof nodeService>>(
      `${NODE_SERVICES}/defaults`,
    );
    expect(spec).toEqual({
      mode: 'Continuous',
      probe: {
        ...tcp,
        ...{ periodMilliseconds: 1000, timeoutMilliseconds: 1000, failureThreshold: 3, successThreshold: 1 },
      },
    });
  });

  test.each([
    { tcp: { port: 1 } },
    { tls: { port: 1 } },
    { http2: { port: 1 } },
    { http: { port: 1, path: '/v2/' } },
    { grpc: { port: 1, service: 'a.b' } },
    { grpc: { socket: '/run/a.sock' } },
    { csi: { socket: '/var/lib/kubelet/plugins/a/csi.sock' } },
    { unix: { path: '/var/lib/kubelet/device-plugins/a.sock' } },
    { file: { path: '/run/ready', maxAgeSeconds: 60 } },
    { file: { path: '/run/..a/.b/...' } },
    { http: { port: 1, headers: { "!#$%&'*+.^_`|~-aZ09": '~ \t', Accept: '' }, statuses: ['200-200', '404'] } },
  ])('may be probed by %j', async (probe) => expect(await problemOf({ probe })).toBeUndefined());

  test('is found by its short name, and shown with what became of it', async () => {
    expect(await problemOf({ probe: tcp }, 'shown')).toBeUndefined();
    const shown = await controlPlane.kubectl(['get', 'nsvc', 'shown']);
    expect(shown.split('\n')[0]).toMatch(/^NAME\s+NODES\s+READY-NODES\s+NOT-READY\s+ACCEPTED\s+READY\s+AGE$/);
  });
});

describe('the API server refuses', () => {
  const published = (publish: object) => ({ probe: tcp, publish });
  test.each<[string, object, RegExp]>([
    ['a service without evidence', {}, /no evidence of readiness: set pods, probe, csiDriver or devices/],
    ['no device at all', { devices: [] }, /spec\.devices/],
    ['a device that is none', { devices: ['edgetpu && x'] }, /a device must have the form "edgetpu >= 1"/],
    ['a probe of no kind', { probe: {} }, /set exactly one kind of probe: tcp, tls/],
    ['a probe of two kinds', { probe: { tcp: { port: 1 }, unix: { path: '/a' } } }, /set exactly one kind of probe/],
    ['a port that is none', { probe: { tcp: { port: 0 } } }, /spec\.probe\.tcp\.port/],
    [
      'gRPC at a port and a socket',
      { probe: { grpc: { port: 1, socket: '/a' } } },
      /grpc needs either a port or a socket/,
    ],
    ['gRPC at neither', { probe: { grpc: {} } }, /grpc needs either a port or a socket/],
    ['a path that is not absolute', { probe: { unix: { path: 'a.sock' } } }, /spec\.probe\.unix\.path/],
    ['a status that is none', { probe: { http: { port: 1, statuses: ['2xx'] } } }, /spec\.probe\.http\.statuses/],
    ['the address of pods where there are none', { probe: { ...tcp, host: 'Pod' } }, /pods is not set/],
    [
      'an empty selector of pods',
      { pods: { namespace: 'a', selector: {} } },
      /an empty selector would select every pod/,
    ],
    [
      'In without values',
      { probe: tcp, nodeSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      /In and NotIn need values/,
    ],
    [
      'Exists with values',
      { probe: tcp, nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } },
      /Exists and DoesNotExist must not have any/,
    ],
    [
      'a selector with a key that is none',
      { probe: tcp, nodeSelector: { matchLabels: { 'a b': 'c' } } },
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
    ['a CA that is no base64', { probe: { https: { port: 1, caBundle: '-----' } } }, /spec\.probe\.https\.caBundle/],
    ['a condition that is none', published({ condition: 'a b' }), /not a valid key/],
    ["a condition of the kubelet's", published({ condition: 'Ready' }), /kubelets and networks write this condition/],
  ])('%s', async (_what, spec, message) => expect(await problemOf(spec)).toMatch(message));

  const sockets = (path: string) => [
    { unix: { path } },
    { file: { path } },
    { csi: { socket: path } },
    { grpc: { socket: path } },
  ];
  test.each(['a.sock', '/run/../a.sock', '/run/./a.sock', '/run//a.sock', '/run/..', '/run/a/', '/'].flatMap(sockets))(
    'what agents find at no path: %j',
    async (probe) =>
      expect(await problemOf({ probe })).toMatch(
        /(path|socket) must be an absolute path .*: write it as it is on the node/,
      ),
  );

  test.each<[object, RegExp]>([
    [{ headers: { 'X Probe': 'a' } }, /a name in headers must be a token of HTTP, .*: write it as in X-Probe/],
    [{ headers: { '': 'a' } }, /a name in headers must be a token of HTTP/],
    [{ headers: { 'X-Probe:': 'a' } }, /a name in headers must be a token of HTTP/],
    [{ headers: { a: 'b\r\nc: d' } }, /the value of a header may only have .*: remove the others/],
    [{ headers: { a: 'ä' } }, /the value of a header may only have/],
    [{ statuses: ['200', '399-200'] }, /a range in statuses must begin with its lower status: write "200-399"/],
  ])('what agents cannot ask by HTTP: %j', async (settings, problem) => {
    expect(await problemOf({ probe: { http: { port: 1, ...settings } } })).toMatch(problem);
    expect(await problemOf({ probe: { https: { port: 1, ...settings } } })).toMatch(problem);
  });

  test.each(['a certificate', '-----BEGIN PRIVATE KEY-----', Uint8Array.of(0x30, 0x82, 0xff)])(
    'a CA that is none: %j',
    async (caBundle) =>
      expect(await problemOf({ probe: { https: { port: 1, caBundle: base64(caBundle) } } })).toMatch(
        /caBundle contains no certificate: set it to the CA certificates in PEM, in base64/,
      ),
  );

  test('a name that is too long for the label that it would be part of', async () => {
    const name = 'a'.repeat(64);
    expect(await problemOf({ probe: tcp }, name)).toMatch(/use at most 63 characters, or set publish/);
    expect(await problemOf(published({ label: 'example.com/a' }), name)).toBeUndefined();
    expect(await problemOf({ probe: tcp }, 'a.b')).toBeUndefined();
  });

  test('a misspelt field, where it is asked to be strict', async () => {
    const misspelt = nodeService('misspelt', { probe: tcp, publsh: { label: 'a' } });
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
  expect(await problemOf({ probe: tcp, publish: { taint: { key, effect: 'NoSchedule' } } })).toBeUndefined(),
);

test.each(['EBSReady', 'example.com/EBSReady', 'readiness.k8s.io/EBSReady'])(
  'a condition may be %s',
  async (condition) => expect(await problemOf({ probe: tcp, publish: { condition } })).toBeUndefined(),
);

test('what an earlier CRD took keeps its status, and can be changed but for what is wrong with it', async () => {
  const { api } = controlPlane;
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeservices.rollcall.dev';
  const withoutRules = (field: string, value: unknown) => (field === 'x-kubernetes-validations' ? undefined : value);
  await api.put(path, JSON.parse(JSON.stringify(await api.get(path), withoutRules)));
  const http = { port: 1, headers: { 'X Probe': 'ä' }, statuses: ['399-200'] };
  await waitFor('the object of before', () => api.post(NODE_SERVICES, nodeService('before', { probe: { http } })));
  await applyNodeServiceCrd(controlPlane);
  const change = (spec: object) => api.patch(`${NODE_SERVICES}/before`, { spec }).then(() => '', String);
  const statuses = ['500-400'];
  await waitFor('the rules', async () => /a range in/.test(await change({ probe: { http: { statuses } } })));
  expect(await change({ probe: { failureThreshold: 7, http: { port: 2 } } })).toBe('');
  await api.patch(`${NODE_SERVICES}/before/status`, { status: { nodesReady: 1 } });
});
