import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DiffDocument } from '@rollcall/common/console.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createPod } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { type PluginResult, runPlugin } from '../../rig/run-plugin.ts';

const CRDS = path.resolve(import.meta.dirname, '../../../deploy/crds');
const PREFIXES = [...DEFAULT_SERVICE_PREFIXES, 'example.com/'];

let embedded: EmbeddedRig;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-diff-'));
  await mkdir(path.join(dir, 'rules'));
  embedded = await startEmbeddedRig({
    nodes: 3,
    fence: { servicePrefixes: PREFIXES },
    coordinatorArgs: ['--evict', `--services-allowed-prefixes=${PREFIXES}`, `--label-dir=${path.join(dir, 'rules')}`],
  });
  const { controlPlane, rig } = embedded;
  await controlPlane.kubectl(['apply', '-R', '-f', CRDS]);
  await rig.allReady(60_000);
  for (const { name } of rig.nodes.slice(0, 2)) await controlPlane.kubectl(['label', 'node', name, 'agentpool=gold']);
});
afterAll(async () => {
  await embedded?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function write(name: string, content: string | object): Promise<string> {
  const file = path.join(dir, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function plugin(...args: string[]): Promise<PluginResult> {
  const { consoleUrl } = await embedded.rig.leader();
  const admin = `--kubeconfig=${embedded.controlPlane.kubeconfig}`;
  return runPlugin(['diff', ...args, admin, `--console-url=${consoleUrl}`]);
}

async function diff(files: readonly string[]): Promise<{ exitCode: number; document: DiffDocument; stderr: string }> {
  const { exitCode, stdout, stderr } = await plugin(...files.flatMap((file) => ['-f', file]), '-o', 'json');
  return { exitCode, stderr, document: stdout === '' ? ({} as DiffDocument) : JSON.parse(stdout) };
}

/** Sorts lines such as `node key from -> to`. */
const sorted = (lines: readonly string[]) => lines.toSorted();

function told({ nodes }: DiffDocument): string[] {
  return nodes
    .flatMap(({ name, changes }) => changes.map(({ key, from, to }) => `${name} ${key} ${from} -> ${to}`))
    .toSorted();
}

async function labelsOf(node: string): Promise<Record<string, string>> {
  const { metadata } = await embedded.controlPlane.api.get<KubeObject>(`/api/v1/nodes/${node}`);
  return metadata.labels ?? {};
}

test.each<[string, object, RegExp]>([
  [
    'by a rule of the CRD',
    { label: 'node.kubernetes.io/a' },
    /would be refused by the API server: .*a label may not be in/,
  ],
  ['as an unknown field', { lable: 'example.com/a' }, /would be refused by the API server: .*lable/],
  ['by the coordinator', { label: 'other.example.org/a' }, /would not be accepted \(PrefixNotAllowed\)/],
])('what is refused %s is a problem, and nothing is kept', async (_how, publish, said) => {
  const spec = { checks: [{ name: 'port', tcp: { port: 1 } }], publish };
  const metadata = { name: 'refused' };
  const file = await write('refused.json', {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeService',
    metadata,
    spec,
  });
  const { exitCode, document } = await diff([file]);
  expect(exitCode).toBe(1);
  expect(document.problems.join('\n')).toMatch(said);
  const items = await embedded.controlPlane.api.list('/apis/rollcall.dev/v1alpha1/nodeservices');
  expect(items.map((each) => each.metadata.name)).not.toContain('refused');
});

test('a check that becomes one of another kind is no problem, since what is left out of the file goes', async () => {
  const service = (check: object) => ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeService',
    metadata: { name: 'turned' },
    spec: { nodeSelector: { matchLabels: { none: 'true' } }, checks: [{ name: 'port', ...check }] },
  });
  const { kubectl } = embedded.controlPlane;
  await kubectl(['apply', '-f', await write('turned-1.json', service({ tcp: { port: 1 } }))]);
  const file = await write('turned-2.json', service({ grpc: { port: 1 } }));
  const { document } = await diff([file]);
  expect(document.problems).toEqual([]);
  await kubectl(['apply', '-f', file]);
});

test('what it says is what comes of it, and then nothing more would change', async () => {
  const [first = '', second = '', third = ''] = embedded.rig.nodes.map(({ name }) => name);
  const set = await write('set.json', {
    apiVersion: 'labels.banzaicloud.io/v1alpha1',
    kind: 'NodePoolLabelSet',
    metadata: { name: 'gold', namespace: 'rollcall' },
    spec: { labels: { 'example.org/tier': 'gold' } },
  });
  const service = await write('service.json', {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeService',
    metadata: { name: 'again' },
    spec: {
      checks: [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { component: 'ws-daemon' } } } }],
      publish: { label: 'example.com/again' },
    },
  });
  const rule = await write('proposed/accelerators/golden', 'example.org/tier=gold\n');

  await expect
    .poll(async () => told((await diff([set])).document), { timeout: 30_000 })
    .toEqual(sorted([first, second].map((name) => `${name} example.org/tier undefined -> gold`)));
  const { exitCode, document } = await diff([set, service, rule]);
  expect([exitCode, document.problems, document.looked]).toEqual([1, [], 3]);
  expect(told(document)).toEqual(
    sorted([
      `${first} accelerators/golden undefined -> true`,
      `${first} example.com/again undefined -> true`,
      `${first} example.org/tier undefined -> gold`,
      `${second} accelerators/golden undefined -> true`,
      `${second} example.com/again undefined -> true`,
      `${second} example.org/tier undefined -> gold`,
      `${third} example.com/again undefined -> true`,
    ]),
  );
  for (const { name } of embedded.rig.nodes) expect(await labelsOf(name)).not.toHaveProperty(['example.com/again']);

  await embedded.controlPlane.kubectl(['apply', '-f', set, '-f', service]);
  await write('rules/accelerators/golden', 'example.org/tier=gold\n');
  for (const { name, changes } of document.nodes) {
    const expected = Object.fromEntries(changes.map(({ key, to }) => [key, to]));
    const isSo = async () => {
      const labels = await labelsOf(name);
      return Object.entries(expected).every(([key, to]) => labels[key] === to);
    };
    await waitFor(`the labels of ${name}`, isSo, { timeoutMs: 30_000 });
  }
  const after = async () => {
    const { exitCode: code, document: again } = await diff([set, service, rule]);
    return [code, told(again)];
  };
  await expect.poll(after, { timeout: 30_000 }).toEqual([0, []]);

  const changed = await write('changed.json', {
    apiVersion: 'labels.banzaicloud.io/v1alpha1',
    kind: 'NodePoolLabelSet',
    metadata: { name: 'gold', namespace: 'rollcall' },
    spec: { labels: { 'example.org/tier': 'silver' } },
  });
  // A pod that needs what would go.
  await createPod(embedded.controlPlane.api, {
    namespace: 'default',
    name: 'needs-golden',
    nodeName: first,
    ready: true,
    spec: { nodeSelector: { 'accelerators/golden': 'true' } },
  });
  const proposed = (await diff([changed])).document;
  expect(proposed.evicts).toBe(true);
  expect(proposed.nodes.flatMap(({ name, evicted }) => evicted.map((each) => ({ node: name, ...each })))).toEqual([
    { node: first, pod: 'default/needs-golden', misses: ['accelerators/golden=true'] },
  ]);
  const text = await plugin('-f', changed);
  expect(text.stdout).toMatch(/^2 of 3 nodes would be changed, and 1 pod would be evicted\.\n/);
  expect(text.stdout).toMatch(/^EVICTED POD +NODE +REQUIRES\ndefault\/needs-golden +\S+ +accelerators\/golden=true$/m);
  expect(told(proposed)).toEqual(
    sorted(
      [first, second].flatMap((name) => [
        `${name} accelerators/golden true -> undefined`,
        `${name} example.org/tier gold -> silver`,
      ]),
    ),
  );
}, 120_000);

test('says what would not be in force, and what it does not look at', async () => {
  const refused = await write('refused.json', {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeService',
    metadata: { name: 'refused' },
    spec: { checks: [{ name: 'port', http: { port: 9, path: '/' } }], publish: { label: 'elsewhere.org/x' } },
  });
  const other = await write('other.json', { kind: 'ConfigMap', metadata: { name: 'x' } });
  const { exitCode, document } = await diff([refused, other]);
  expect(exitCode).toBe(1);
  expect(document.problems).toEqual([
    expect.stringContaining('ConfigMap x is ignored'),
    expect.stringMatching(/NodeService refused would not be accepted \(\w+\): /),
  ]);
  expect((await diff([path.join(dir, 'none')])).exitCode).toBe(2);
});
