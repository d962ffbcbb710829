import { loadConfig } from '@rollcall/coordinator/model/config.ts';
import { beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../control-plane/api-client.ts';
import { ensureHelm } from '../helm/helm.ts';
import { fileOf, find, renderObjects } from './render.ts';

type Rule = { resources: string[] };

let withAgents: KubeObject[];
let without: KubeObject[];

beforeAll(async () => {
  const helm = await ensureHelm();
  withAgents = await renderObjects(helm);
  without = await renderObjects(helm, { agent: { enabled: false } });
}, 600_000);

const names = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

test('the chart without agents has no object that only agents need, and no other', () => {
  const left = new Set(names(without));
  expect(
    names(withAgents)
      .filter((name) => !left.has(name))
      .toSorted(),
  ).toEqual([
    'ConfigMap rollcall-accelerator-rules',
    'ConfigMap rollcall-coordinator-ca',
    'DaemonSet rollcall-agent',
    'NetworkPolicy rollcall-agent',
    'Role rollcall-coordinator-pods',
    'RoleBinding rollcall-coordinator-pods',
    'Secret rollcall-coordinator-tls',
    'ServiceAccount rollcall-agent',
  ]);
  const before = new Set(names(withAgents));
  expect(names(without).filter((name) => !before.has(name))).toEqual([]);
});

test('its coordinator may create no TokenReview and change no Secret, and its configuration is one that starts', async () => {
  for (const kind of ['ClusterRole', 'Role']) {
    const { rules } = find<KubeObject & { rules: Rule[] }>(without, kind, 'rollcall-coordinator');
    const resources = rules.flatMap((rule) => rule.resources);
    expect(resources.filter((each) => ['tokenreviews', 'secrets', 'configmaps'].includes(each))).toEqual([]);
  }
  const text = fileOf(without, 'rollcall-coordinator', 'coordinator.yaml');
  const sources = { argv: ['--config', '/config'], env: {}, readFile: () => text };
  const environment = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };
  const loaded = await loadConfig(sources, environment);
  expect(loaded).toMatchObject({ action: 'run', values: { agents: false, gitpod: false } });
});
