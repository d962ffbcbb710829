import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../control-plane/api-client.ts';
import { run } from '../control-plane/run.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { CHART, fileOf, find, objectsIn, renderObjects, type Values, workloads } from './render.ts';

let helm: Helm;

beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

type Spec = Record<string, unknown> & {
  containers: { image: string; args: string[]; securityContext: Record<string, unknown> }[];
};

/** The pods of DaemonSet, Deployment, Job and test, by kind. */
async function podsOf(values: Values): Promise<Record<string, Spec>> {
  const objects = await renderObjects(helm, values);
  const pods = workloads(objects).map(({ kind, template }) => [kind, template.spec]);
  return Object.fromEntries([...pods, ['Pod', find(objects, 'Pod', 'rollcall-test')['spec']]]);
}

const each = <T>(pods: Record<string, Spec>, of: (spec: Spec) => T) => Object.values(pods).map(of);

describe('pods', () => {
  test('run on nodes of the architectures of the image', async () => {
    const affinities = each(await podsOf({}), ({ affinity }) => JSON.stringify(affinity));
    expect(affinities).toHaveLength(4);
    for (const affinity of affinities) {
      expect(affinity).toContain('{"key":"kubernetes.io/arch","operator":"In","values":["amd64","arm64"]}');
    }
  });

  test('of the coordinator run on any node if its affinity is null, as on Fargate', async () => {
    const pods = await podsOf({ coordinator: { affinity: null } });
    expect(['Deployment', 'Job', 'Pod'].filter((kind) => pods[kind] && 'affinity' in pods[kind])).toEqual([]);
  });

  test('take the registry and the secrets of a parent chart', async () => {
    const global = { imageRegistry: 'mirror.example.com/a', imagePullSecrets: ['one', { name: 'two' }] };
    const pods = await podsOf({ global, image: { registry: 'other', tag: '1', pullSecrets: [{ name: 'mine' }] } });
    expect(new Set(each(pods, ({ containers }) => containers[0]?.image))).toEqual(
      new Set(['mirror.example.com/a/rollcall:1']),
    );
    for (const { imagePullSecrets } of Object.values(pods)) {
      expect(imagePullSecrets).toEqual([{ name: 'mine' }, { name: 'one' }, { name: 'two' }]);
    }
  });

  test('run as a user of the range of a project of OpenShift', async () => {
    const pods = await podsOf({ runAsUser: 1_000_740_000 });
    for (const { securityContext } of Object.values(pods)) {
      expect(securityContext).toMatchObject({ runAsUser: 1_000_740_000, runAsGroup: 1_000_740_000 });
    }
  });

  test('have the changes to their security contexts, and the rest as before', async () => {
    const pods = await podsOf({ podSecurityContext: { fsGroup: 7 }, containerSecurityContext: { runAsUser: 8 } });
    for (const { securityContext, containers } of Object.values(pods)) {
      expect(securityContext).toMatchObject({ runAsNonRoot: true, fsGroup: 7 });
      expect(containers[0]?.securityContext).toMatchObject({ runAsUser: 8, readOnlyRootFilesystem: true });
    }
  });

  test('have the arguments, DNS settings, hosts and users of their program', async () => {
    const agent = { extraArgs: ['--verbose'], dnsPolicy: 'None', dnsConfig: { nameservers: ['10.0.0.10'] } };
    const coordinator = { extraArgs: ['--dry-run'], hostAliases: [{ ip: '10.0.0.1' }], hostUsers: false };
    const { DaemonSet, Deployment } = await podsOf({ agent, coordinator });
    expect(DaemonSet).toMatchObject({ dnsPolicy: agent.dnsPolicy, dnsConfig: agent.dnsConfig });
    expect(Deployment).toMatchObject({ hostAliases: coordinator.hostAliases, hostUsers: false });
    expect([DaemonSet, Deployment].map((spec) => spec?.containers[0]?.args.at(-1))).toEqual(['--verbose', '--dry-run']);
    expect(DaemonSet).not.toHaveProperty('hostUsers');
  });

  test('are not replaced because the version of the chart is another', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-chart-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    await cp(CHART, dir, { recursive: true });
    const about = path.join(dir, 'Chart.yaml');
    await writeFile(about, (await readFile(about, 'utf8')).replace(/^(version|appVersion): .*/gm, '$1: 9.9.9'));
    const digest = `sha256:${'0'.repeat(64)}`;
    const of = async (chart: string) => {
      const args = ['template', 'rollcall', chart, '--kube-version', '1.36.0', '--set', `image.digest=${digest}`];
      return workloads(objectsIn(await helm(args))).filter(({ kind }) => kind !== 'Job');
    };
    expect(await of(dir)).toEqual(await of(CHART));
  });

  test('are replaced as their values say', async () => {
    const objects = await renderObjects(helm, {
      agent: { updateStrategy: { type: 'OnDelete' }, minReadySeconds: 7, revisionHistoryLimit: 3 },
      coordinator: { updateStrategy: { type: 'Recreate' } },
    });
    expect(find(objects, 'DaemonSet', 'rollcall-agent')['spec']).toMatchObject({
      updateStrategy: { type: 'OnDelete' },
      minReadySeconds: 7,
      revisionHistoryLimit: 3,
    });
    expect(find(objects, 'Deployment', 'rollcall-coordinator')['spec']).toMatchObject({
      strategy: { type: 'Recreate' },
    });
  });
});

test('common annotations are on every object of the release, beside its own', async () => {
  const objects = await renderObjects(helm, {
    commonAnnotations: { 'example.com/owner': 'me', 'example.com/note': 'common' },
    coordinator: { serviceAnnotations: { 'example.com/note': 'mine' } },
  });
  const annotationsOf = ({ metadata }: KubeObject) => (metadata['annotations'] ?? {}) as Record<string, string>;
  const without = objects.filter((object) => {
    const annotations = annotationsOf(object);
    return annotations['helm.sh/hook'] === undefined && annotations['example.com/owner'] !== 'me';
  });
  expect(without.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  expect(annotationsOf(find(objects, 'Service', 'rollcall-coordinator'))['example.com/note']).toBe('mine');
  const crd = find(objects, 'CustomResourceDefinition', 'nodeservices.rollcall.dev');
  expect(annotationsOf(crd)['helm.sh/resource-policy']).toBe('keep');
});

test('accounts and rights are left out if they come from elsewhere', async () => {
  const objects = await renderObjects(helm, { serviceAccount: { create: false }, rbac: { create: false } });
  const kinds = objects.filter(({ metadata }) => !metadata.name.includes('uninstall')).map(({ kind }) => kind);
  expect(kinds.filter((kind) => /Role|ServiceAccount/.test(kind ?? ''))).toEqual([]);
});

test('rights on the objects of rollcall go to the roles of Kubernetes if that is asked for', async () => {
  const roles = async (values: Values) =>
    (await renderObjects(helm, values)).filter(({ metadata }) => /^rollcall-(view|edit)$/.test(metadata.name));
  expect(await roles({})).toEqual([]);
  const [edit, view] = await roles({ rbac: { aggregate: true } });
  const aggregated = ({ metadata }: KubeObject) =>
    Object.keys(metadata.labels ?? {}).flatMap((key) => /aggregate-to-(\w+)$/.exec(key)?.[1] ?? []);
  expect([edit, view].map((role) => role && [role.metadata.name, aggregated(role).toSorted()])).toEqual([
    ['rollcall-edit', ['admin', 'edit']],
    ['rollcall-view', ['admin', 'edit', 'view']],
  ]);
});

test('alerts are left out one by one, and targets and samples relabelled', async () => {
  const relabelings = [{ action: 'labeldrop', regex: 'pod' }];
  const objects = await renderObjects(helm, {
    networkPolicy: { scrapers: [{ namespaceSelector: {} }] },
    monitoring: {
      podMonitor: { enabled: true, relabelings, metricRelabelings: relabelings },
      prometheusRule: { enabled: true, disabled: ['RollcallNotScraped', 'RollcallTwoLeaders'] },
    },
  });
  const text = JSON.stringify(find(objects, 'PrometheusRule', 'rollcall'));
  const alerts = [...text.matchAll(/"alert":"(\w+)"/g)].map(([, name]) => name);
  expect(alerts.slice(0, 2)).toEqual(['RollcallNoLeader', 'RollcallLeaderFlapping']);
  const { spec } = find<KubeObject & { spec: { podMetricsEndpoints: object[] } }>(
    objects,
    'PodMonitor',
    'rollcall-agent',
  );
  expect(spec.podMetricsEndpoints[0]).toMatchObject({
    relabelings: [{ targetLabel: 'node' }, ...relabelings],
    metricRelabelings: relabelings,
  });
});

test('pods open what is listed, DNS and the coordinator, and anything without a list', async () => {
  const policy = async (name: string, values: Values) =>
    find(await renderObjects(helm, values), 'NetworkPolicy', `rollcall-${name}`)['spec'] as {
      policyTypes: string[];
      egress?: object[];
    };
  const to = [{ ipBlock: { cidr: '10.0.0.0/8' } }];
  for (const name of ['agent', 'coordinator']) {
    expect((await policy(name, {})).policyTypes).toEqual(['Ingress']);
    const { policyTypes, egress } = await policy(name, { networkPolicy: { egress: { [name]: [{ to }] } } });
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(egress).toHaveLength(3);
    expect(egress?.at(-1)).toEqual({ to });
    expect(JSON.stringify(egress?.[1])).toContain('"app.kubernetes.io/component":"coordinator"');
  }
});

test('further objects are installed, with what their templates say', async () => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'more' },
    data: { a: '{{ .Release.Name }}' },
  };
  expect(fileOf(await renderObjects(helm, { extraObjects: [object] }), 'more', 'a')).toBe('rollcall');
});

/** Runs `helm test` against a coordinator that leads, with agents of nodes in these states. */
async function tested(states: Record<string, number>): Promise<string> {
  const lines = Object.entries(states).map(([state, count]) => `rollcall_coordinator_nodes{state="${state}"} ${count}`);
  const server = createServer((_, response) =>
    response.end(['rollcall_coordinator_leader 1', ...lines, ''].join('\n')),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const { out } = await run(process.execPath, [path.join(CHART, 'files/test.mjs')], {
    ROLLCALL_COORDINATOR_SERVICE_HOST: '127.0.0.1',
    ROLLCALL_COORDINATOR_SERVICE_PORT_METRICS: String(port),
    TIMEOUT_MS: '1',
  });
  return out;
}

test('helm test passes with a silent node of many, and not with a larger share', async () => {
  expect(await tested({ fresh: 4999, silent: 1 })).toMatch(/^rollcall works: /);
  expect(await tested({ fresh: 9, unheard: 1, absent: 100 })).toMatch(/^rollcall works: /);
  expect(await tested({ fresh: 8, silent: 1, unheard: 1 })).toMatch(/^rollcall does not work yet: /);
  expect(await tested({ fresh: 0, absent: 3 })).toMatch(/^rollcall does not work yet: /);
});
