import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { CHART, type Values } from './render.ts';

let helm: Helm;
let controlPlane: ControlPlane;

beforeAll(async () => {
  [helm, controlPlane] = await Promise.all([ensureHelm(), startControlPlane()]);
  // A release with NodeServices needs their CRD.
  const crds = ['-f', path.join(CHART, '../crds')];
  await controlPlane.kubectl(['apply', '--server-side', ...crds]);
  await controlPlane.kubectl(['wait', '--for=condition=Established', ...crds]);
}, 600_000);

afterAll(() => controlPlane?.stop());

/** What Helm prints in the end. */
async function notes(values: Values): Promise<string> {
  const args = ['install', 'rollcall', CHART, '--namespace', 'rollcall', '--dry-run=server', '--values', '-'];
  const { kubeconfig } = controlPlane;
  const said = await helm(args, { kubeconfig, stdin: JSON.stringify({ crds: { install: false }, ...values }) });
  return said.slice(said.indexOf('NOTES:'));
}

test('Helm tells how to make the first NodeService, unless there is one', async () => {
  const first = await notes({ image: { registry: 'registry.example.com' } });
  expect(first).toContain('kind: NodeService');
  expect(first).not.toContain('WARNING');
  const [, service = ''] = /echo '(.*)' \| kubectl apply/.exec(first) ?? [];
  const applied = await controlPlane.kubectl(['apply', '--dry-run=server', '-o', 'name', '-f', '-'], {
    stdin: service,
  });
  expect(applied.trim()).toBe('nodeservice.rollcall.dev/kubelet');
  const mine = { checks: [{ name: 'port', tcp: { port: 1 } }] };
  expect(await notes({ services: { mine } })).not.toContain('kind: NodeService');
  expect(await notes({ gitpod: { enabled: true } })).not.toContain('kind: NodeService');
});

test.each<[string, Values, RegExp]>([
  ['the fence', { policies: { fence: { enabled: false } } }, /policies\.fence\.enabled is false/],
  ['agents that are root', { agent: { probePaths: ['/run/a'] } }, /agents run as uid 0, .* \/run\/a\./],
  ['no registry', { image: { registry: '' } }, /no registry is set .* rollcall:/],
  ['open metrics', { networkPolicy: { scrapers: [{ namespaceSelector: {} }] } }, /every pod of the cluster may read/],
  ['metrics without a policy', { networkPolicy: { enabled: false } }, /every pod of the cluster may read/],
])('Helm warns of %s', async (_, values, warning) => {
  const said = await notes({ image: { registry: 'registry.example.com' }, ...values });
  expect(said.match(/^WARNING: .*/gm)).toEqual([expect.stringMatching(warning)]);
});
