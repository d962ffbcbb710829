import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { KubeObject } from '../control-plane/api-client.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import {
  CHART,
  CRD_CHART,
  CRDS,
  EVERYTHING,
  fileOf,
  MANIFESTS,
  objectsIn,
  renderChart,
  renderObjects,
  type Values,
} from './render.ts';

const POLICIES = path.resolve(import.meta.dirname, '../../deploy/policies');
const NOTICE = '# Rendered from deploy/chart with its defaults: vitest run --project e2e test/chart -u\n';
const UNINSTALL = ['--show-only', 'templates/uninstall/job.yaml'];

let helm: Helm;

beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

describe('the chart renders', () => {
  test('with its defaults what is committed for kubectl', async () => {
    const installed = await renderChart(helm, {}, ['--no-hooks', '--set', 'crds.install=false']);
    await expect(`${NOTICE}${withoutHelm(installed)}`).toMatchFileSnapshot(path.join(MANIFESTS, 'install.yaml'));
    const uninstalling = await renderChart(helm, {}, UNINSTALL);
    await expect(`${NOTICE}${withoutHelm(uninstalling)}`).toMatchFileSnapshot(path.join(MANIFESTS, 'uninstall.yaml'));
  });

  test('with everything else than the defaults what is expected', async () => {
    const all = await renderChart(helm, {}, ['--values', EVERYTHING]);
    await expect(all).toMatchFileSnapshot(path.join(import.meta.dirname, 'golden/everything.yaml'));
  });

  test('the same with Helm 4', async () => {
    const helm4 = await ensureHelm(4);
    for (const args of [[], ['--values', EVERYTHING]]) {
      expect(await renderObjects(helm4, {}, args)).toEqual(await renderObjects(helm, {}, args));
    }
  }, 600_000);

  test('the policies as they are in deploy/policies', async () => {
    const values = {
      gitpod: { enabled: true },
      policies: { poolLabels: { enabled: true }, startupTaint: { enabled: true } },
      coordinator: { config: { startupGateRequires: ['example.com/ready'] } },
    };
    const all = (await renderObjects(helm, values)).filter(({ kind }) => /AdmissionPolicy/.test(kind ?? ''));
    const ofChart = all.filter(({ metadata }) => metadata.name !== 'rollcall-uninstall');
    // The Job that uninstalls is behind the same fence, which is not deleted before the Job runs.
    const specs = (name: string) => all.filter(({ metadata }) => metadata.name === name).map(({ spec }) => spec);
    const bound = (spec: unknown) =>
      JSON.stringify(spec).replace('"policyName":"rollcall-uninstall"', '"policyName":"rollcall-fence"');
    expect(specs('rollcall-uninstall').map(bound)).toEqual(specs('rollcall-fence').map(bound));
    const plain = ['fence', 'pool-labels', 'startup-taint'].flatMap((name) =>
      objectsIn(readFileSync(path.join(POLICIES, `${name}.yaml`), 'utf8')),
    );
    expect(plain).toHaveLength(8);
    expect(sorted(ofChart.map(withoutLabels))).toEqual(sorted(plain));
  });

  test('into any namespace, and names no other', async () => {
    const values = {
      scheduler: { enabled: true, clientCaConfigMapName: 'schedulers', configMap: { enabled: true } },
      networkPolicy: { scrapers: [{ namespaceSelector: {} }] },
      monitoring: {
        podMonitor: { enabled: true },
        prometheusRule: { enabled: true },
        dashboard: { enabled: true },
      },
    };
    const text = await renderChart(helm, values, ['--namespace', 'elsewhere']);
    expect(text).toMatch(/serviceaccount:elsewhere:rollcall-coordinator/);
    // Events about Nodes are in the namespace default.
    const others = text
      .split('\n---\n')
      .filter((each) => !/^ {2}name: rollcall-coordinator-events$/m.test(each))
      .flatMap((each) => each.match(/^.*namespace: (?!"elsewhere"( }|$)|metadata\.).*$/gm) ?? []);
    expect(others).toEqual([]);
    expect(text).not.toMatch(/serviceaccount:rollcall|rollcall\.svc|amespace: "?rollcall/);
  });

  test.each(['456', 'on', 'true', 'null'])('into a namespace and as a release called %s, as text', async (name) => {
    const values = {
      agent: { priorityClassName: name },
      coordinator: { priorityClassName: name },
      gitpod: { enabled: true, namespace: name },
      tls: { secretName: name, caConfigMapName: name },
      rules: { configMaps: { [name]: name }, files: { [`${name}1`]: { [name]: name } } },
      scheduler: { enabled: true, clientCaConfigMapName: 'schedulers', configMap: { enabled: true } },
      networkPolicy: { enabled: true, scrapers: [{ namespaceSelector: {} }] },
      monitoring: { podMonitor: { enabled: true }, prometheusRule: { enabled: true }, dashboard: { enabled: true } },
    };
    const args = ['template', name, CHART, '--namespace', name, '--kube-version', '1.36.0', '--values', '-'];
    const objects = objectsIn11(await helm(args, { stdin: JSON.stringify(values) }));
    const isName = /^(.*[nN]amespace|app\.kubernetes\.io\/instance|priorityClassName|secretName|name|key)$/;
    const names = (of: KubeObject[]) =>
      of.flatMap((object) => leavesOf(object, '')).filter(([key]) => isName.test(key));
    expect(names(objects).filter(([, value]) => typeof value !== 'string')).toEqual([]);
    const others = objects.filter(({ metadata }) => metadata.name !== 'rollcall-coordinator-events');
    expect(names(others).filter(([key, value]) => key === 'namespace' && value !== name)).toEqual([]);
    const scheduler = parse(fileOf(objects, 'rollcall-scheduler', 'config.yaml'), { version: '1.1' }) as {
      leaderElection: object;
    };
    expect(scheduler.leaderElection).toMatchObject({ resourceNamespace: name });
  });

  test('its defaults for every supported version, and no policy that the API server does not know', async () => {
    const kinds = (version: string, values = {}) =>
      renderObjects(helm, values, ['--kube-version', version]).then((all) => all.map(({ kind }) => kind));
    expect(await kinds('1.34.0')).toEqual(await kinds('1.36.0'));
    await expect(kinds('1.33.9')).rejects.toThrow(/kubeVersion/);
    const poolLabels = { policies: { poolLabels: { enabled: true } } };
    const startupTaint = {
      policies: { startupTaint: { enabled: true } },
      coordinator: { config: { startupGateRequires: ['example.com/ready'] } },
    };
    for (const [name, values] of Object.entries({ poolLabels, startupTaint })) {
      expect(await kinds('1.36.1-eks-1', values)).toContain('MutatingAdmissionPolicy');
      const refusal = new RegExp(
        `policies\\.${name}: .* 1\\.36 .* v1\\.35\\.9: set policies\\.${name}\\.enabled=false`,
      );
      await expect(kinds('1.35.9', values)).rejects.toThrow(refusal);
    }
  });

  test('the CRDs as they are in deploy/crds, kept by default, and only if they are wanted', async () => {
    const crds = async (values: Values) =>
      (await renderObjects(helm, values)).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expectPlainCrds(await crds({}), await crds({ crds: { keep: false } }));
    expect(await crds({ crds: { install: false } })).toEqual([]);
  });

  test('what helm lint has nothing to say about', async () => {
    for (const args of [[CHART], [CHART, '--values', EVERYTHING], [CRD_CHART]]) {
      expect(await helm(['lint', '--strict', ...args])).toMatch(/0 chart\(s\) failed/);
    }
  });
});

describe('the chart of the CRDs renders', () => {
  const render = (by: Helm, values: Values, args: readonly string[] = []) =>
    by(['template', 'rollcall-crds', CRD_CHART, '--kube-version', '1.36.0', '--values', '-', ...args], {
      stdin: JSON.stringify(values),
    });

  test('the CRDs as they are in deploy/crds, kept by default', async () => {
    const kept = await render(helm, {});
    expectPlainCrds(objectsIn(kept), objectsIn(await render(helm, { keep: false })));
    expect(objectsIn(await render(await ensureHelm(4), {}))).toEqual(objectsIn(kept));
  }, 600_000);

  test('labels and annotations as in the other chart', async () => {
    const values = { commonLabels: { team: 'nodes' }, commonAnnotations: { 'example.com/owner': 'nodes' } };
    const crd = await render(helm, values, ['--show-only', 'templates/nodeholds.yaml']);
    await expect(crd).toMatchFileSnapshot(path.join(import.meta.dirname, 'golden/nodeholds-crd.yaml'));
  });

  test('no value that it does not have', async () => {
    await expect(render(helm, { crds: { keep: false } })).rejects.toThrow(/crds/);
  });
});

/** Compares CRDs of a chart, rendered once with `keep` and once without, with deploy/crds. */
function expectPlainCrds(kept: readonly KubeObject[], notKept: readonly KubeObject[]): void {
  const plain = readdirSync(CRDS)
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => objectsIn(readFileSync(path.join(CRDS, name), 'utf8')));
  expect(kept.map(({ metadata }) => metadata.annotations)).toEqual(
    plain.map(() => ({ 'helm.sh/resource-policy': 'keep' })),
  );
  expect(sorted(notKept.map(withoutLabels))).toEqual(sorted(plain));
}

test('values.yaml holds what the schema allows, and its comments say what each option is', () => {
  const text = readFileSync(path.join(CHART, 'values.yaml'), 'utf8');
  expect((parse(text) as { agent: { config: object } }).agent.config).toEqual({});
  const lines = text.split('\n');
  const values = lines.flatMap((line, index) => (/^\s*[a-zA-Z]+:/.test(line) ? [index] : []));
  const bare = values.filter((index) => !/^\s*#/.test(lines[index - 1] ?? ''));
  // Within what is handed on to Kubernetes no key has a comment of its own.
  const inResources =
    /^\s+(requests|limits|cpu|memory|matchLabels|kubernetes\.io\/os|grafana_dashboard|\w*Affinity|nodeSelector(Terms)?|requiredDuring\w+|operator|values):/;
  expect(bare.map((index) => lines[index]).filter((line) => !inResources.test(line ?? ''))).toEqual([]);
});

/** Parses YAML 1.1, as kubectl does: `on` is a boolean. */
function objectsIn11(yaml: string): KubeObject[] {
  return parseAllDocuments(yaml, { version: '1.1' })
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/** Scalars in the value, each with its key. */
function leavesOf(value: unknown, key: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[key, value]];
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, ''));
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, name));
}

/** Removes the labels that say that Helm manages an object, which kubectl applies. */
function withoutHelm(manifests: string): string {
  return manifests.replace(/^ +(app\.kubernetes\.io\/managed-by|helm\.sh\/chart): .*\n/gm, '');
}

function withoutLabels({ metadata, ...object }: KubeObject): KubeObject {
  const { labels: _, ...rest } = metadata;
  return { metadata: rest, ...object };
}

function sorted(objects: readonly KubeObject[]): KubeObject[] {
  const name = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`;
  return objects.toSorted((a, b) => name(a).localeCompare(name(b)));
}
