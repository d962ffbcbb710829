import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../control-plane/api-client.ts';
import { createNamespace, createNode, createPod, type PodObject } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { CHART, fileOf, find, renderObjects, type Values, workloads } from './render.ts';

type Extender = { urlPrefix: string; enableHTTPS?: boolean; tlsConfig?: Record<string, string> };
type Configuration = { extenders: Extender[]; leaderElection: { resourceNamespace: string } };

const SHIPPED = path.join(CHART, '../scheduler/second-scheduler.yaml');
const OPEN = { enabled: true, clientCertificates: false, addressRanges: ['10.0.0.0/24', 'fd00::/64'] };
/** Values that render the file in deploy/scheduler: without certificates. */
const ON = { scheduler: { ...OPEN, configMap: { enabled: true } } };

let helm: Helm;

beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

async function rendered(values: Values, namespace: string): Promise<Configuration> {
  const objects = await renderObjects(helm, values, ['--namespace', namespace]);
  return parse(fileOf(objects, 'rollcall-scheduler', 'config.yaml')) as Configuration;
}

describe('the configuration of a kube-scheduler', () => {
  test('is the one in deploy/scheduler, to the letter', async () => {
    const text = fileOf(await renderObjects(helm, ON), 'rollcall-scheduler', 'config.yaml');
    expect(text).toBe(readFileSync(SHIPPED, 'utf8'));
  });

  test('knows the namespace and the port', async () => {
    const shipped = parse(readFileSync(SHIPPED, 'utf8')) as Configuration;
    const [extender] = shipped.extenders;
    const scheduler = { ...ON.scheduler, port: 9999 };
    expect(await rendered({ scheduler }, 'elsewhere')).toEqual({
      ...shipped,
      leaderElection: { ...shipped.leaderElection, resourceNamespace: 'elsewhere' },
      extenders: [{ ...extender, urlPrefix: 'http://rollcall-coordinator.elsewhere.svc:9999/scheduler' }],
    });
  });

  test('shows a certificate and is asked for one by default', async () => {
    const scheduler = { enabled: true, configMap: { enabled: true }, clientCaConfigMapName: 'schedulers' };
    const objects = await renderObjects(helm, { scheduler });
    const { extenders } = parse(fileOf(objects, 'rollcall-scheduler', 'config.yaml')) as Configuration;
    expect(extenders[0]?.enableHTTPS).toBe(true);
    expect(Object.keys(extenders[0]?.tlsConfig ?? {})).toEqual(['caFile', 'serverName', 'certFile', 'keyFile']);
    const config = parse(fileOf(objects, 'rollcall-coordinator', 'coordinator.yaml')) as Record<string, unknown>;
    expect(config).toMatchObject({ schedulerTls: 'on', schedulerClientCaFile: '/etc/rollcall/scheduler-ca/ca.crt' });
  });

  test('verifies whom it asks where the coordinator speaks TLS', async () => {
    const coordinator = { config: { schedulerTls: 'on' } };
    const { extenders } = await rendered({ ...ON, coordinator }, 'elsewhere');
    expect(extenders).toMatchObject([
      {
        urlPrefix: 'https://rollcall-coordinator.elsewhere.svc:8888/scheduler',
        enableHTTPS: true,
        tlsConfig: { caFile: '/etc/rollcall/ca.crt', serverName: 'rollcall-coordinator.elsewhere.svc' },
      },
    ]);
  });
});

describe('a port for kube-scheduler', () => {
  type Ports = { ports: { name: string; port: number; targetPort: string }[] };
  type Ingress = { ingress: { ports: { port: string }[]; from?: object[] }[] };

  async function told(values: Values) {
    const objects = await renderObjects(helm, { ...values, networkPolicy: { enabled: true } });
    const of = <T>(kind: string) => find<KubeObject & { spec: T }>(objects, kind, 'rollcall-coordinator').spec;
    const container = workloads(objects).find(({ kind }) => kind === 'Deployment')?.template.spec.containers[0];
    const config = parse(fileOf(objects, 'rollcall-coordinator', 'coordinator.yaml')) as Record<string, unknown>;
    return {
      listens: config['schedulerListen'],
      container: ((container?.['ports'] ?? []) as { name: string }[]).filter(({ name }) => name === 'scheduler'),
      service: of<Ports>('Service').ports.filter(({ name }) => name === 'scheduler'),
      letIn: of<Ingress>('NetworkPolicy').ingress.filter(({ ports }) => ports[0]?.port === 'scheduler'),
    };
  }

  test('is nowhere unless asked for', async () => {
    expect(await told({})).toEqual({ listens: 'off', container: [], service: [], letIn: [] });
  });

  test('is listened on, in the Service, and open to pods and nodes alike', async () => {
    expect(await told({ scheduler: { enabled: true, clientCaConfigMapName: 'schedulers', port: 9999 } })).toEqual({
      listens: '[::]:9999',
      container: [{ name: 'scheduler', containerPort: 9999, protocol: 'TCP' }],
      service: [{ name: 'scheduler', port: 9999, targetPort: 'scheduler', protocol: 'TCP' }],
      letIn: [{ ports: [{ port: 'scheduler', protocol: 'TCP' }] }],
    });
  });

  test('is open to coordinators and to the addresses that are told, where any are', async () => {
    const { letIn } = await told({ scheduler: OPEN });
    const labels = { 'app.kubernetes.io/name': 'rollcall', 'app.kubernetes.io/component': 'coordinator' };
    expect(letIn[0]?.from).toEqual([
      { podSelector: { matchLabels: { ...labels, 'app.kubernetes.io/instance': 'rollcall' } } },
      { ipBlock: { cidr: '10.0.0.0/24' } },
      { ipBlock: { cidr: 'fd00::/64' } },
    ]);
  });

  test('needs no addresses without certificates where the chart has no say about the network', async () => {
    const scheduler = { ...OPEN, addressRanges: [] };
    await renderObjects(helm, { scheduler, networkPolicy: { enabled: false } });
  });
});

describe('a real kube-scheduler', () => {
  let controlPlane: ControlPlane | undefined;

  afterAll(() => controlPlane?.stop());

  test('takes the configuration, leads with the rights that are said, and places pods without an answer', async () => {
    const configYaml = fileOf(await renderObjects(helm, ON), 'rollcall-scheduler', 'config.yaml');
    controlPlane = await startControlPlane({ scheduler: { configYaml } });
    const { api } = controlPlane;
    await createNamespace(api, 'rollcall');
    const access = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'gitpod-scheduler' } };
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/rollcall';
    await api.post(`${rbac}/roles`, {
      ...access,
      kind: 'Role',
      rules: [
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          resourceNames: ['gitpod-scheduler'],
          verbs: ['get', 'update'],
        },
      ],
    });
    await api.post(`${rbac}/rolebindings`, {
      ...access,
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'gitpod-scheduler' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-scheduler' }],
    });
    await createNode(api, 'node-1');
    await createPod(api, { namespace: 'rollcall', name: 'ws', spec: { schedulerName: 'gitpod-scheduler' } });
    const placed = async () => (await api.get<PodObject>('/api/v1/namespaces/rollcall/pods/ws')).spec.nodeName;
    expect(await waitFor('the pod to be placed', placed, { timeoutMs: 30_000 })).toBe('node-1');
  }, 120_000);
});
