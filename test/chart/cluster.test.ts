import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../control-plane/api-client.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import {
  CHART,
  everythingOn,
  MANIFESTS,
  OPERATOR,
  objectsIn,
  type PodTemplate,
  renderObjects,
  workloads,
} from './render.ts';

const DEPLOY = path.dirname(MANIFESTS);
const CRDS = ['nodepoollabels', 'nodepoollabelsets', 'nodeservices', 'nodeholds'].map((plural) =>
  path.join(DEPLOY, `crds/${plural}.yaml`),
);
const NAMESPACE = path.join(MANIFESTS, 'namespace.yaml');
const INSTALL = path.join(MANIFESTS, 'install.yaml');
/** The API server reports problems of a manifest in warnings. */
const APPLY = ['apply', '--server-side', '--warnings-as-errors', '-o', 'name'];

let helm: Helm;
let controlPlane: ControlPlane;

beforeAll(async () => {
  [helm, controlPlane] = await Promise.all([ensureHelm(), startControlPlane()]);
  // A dry run creates nothing, not even the CRDs of the chart.
  const files = [OPERATOR, ...CRDS].flatMap((file) => ['-f', file]);
  await controlPlane.kubectl(['apply', '--server-side', ...files]);
  await controlPlane.kubectl(['wait', '--for=condition=Established', ...files]);
}, 600_000);

afterAll(() => controlPlane?.stop());

describe('a cluster takes', () => {
  test.each([
    ['the defaults', async () => []],
    ['everything else', () => everythingOn(controlPlane.kubectl)],
  ])('the chart with %s', async (_, valuesOf) => {
    const args = [
      'install',
      'rollcall',
      CHART,
      '--namespace',
      'other',
      '--create-namespace',
      '--dry-run=server',
      '--set',
      'crds.install=false',
    ];
    const said = await helm([...args, ...(await valuesOf())], { kubeconfig: controlPlane.kubeconfig });
    expect(said).toMatch(/STATUS: pending-install/);
  });

  test('the plain manifests, each object of them', async () => {
    const applied = await controlPlane.kubectl([
      ...APPLY,
      '-f',
      NAMESPACE,
      ...CRDS.flatMap((file) => ['-f', file]),
      '-f',
      INSTALL,
    ]);
    const objects = objectsIn(readFileSync(INSTALL, 'utf8'));
    expect(applied.trim().split('\n')).toHaveLength(objects.length + 1 + CRDS.length);
    expect(objects.length).toBeGreaterThan(15);
  });

  test('the manifests that take everything off the nodes, after the others are gone', async () => {
    await controlPlane.kubectl([...APPLY, '-f', path.join(MANIFESTS, 'uninstall.yaml')]);
  });

  test('the kustomize base, which is the same', async () => {
    const built = objectsIn(await controlPlane.kubectl(['kustomize', DEPLOY]));
    const plain = [NAMESPACE, ...CRDS, INSTALL].flatMap((file) => objectsIn(readFileSync(file, 'utf8')));
    const byName = (objects: KubeObject[]) =>
      objects.toSorted((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`));
    expect(byName(built)).toEqual(byName(plain));
    await controlPlane.kubectl([...APPLY, '--dry-run=server', '-k', DEPLOY]);
  });
});

describe('the Pod Security level restricted, enforced on the namespace,', () => {
  /** Whether the API server would let the pod of a workload in. Its service account and its class are there by now. */
  async function admitted({ metadata, spec }: PodTemplate): Promise<boolean> {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'tried' }, spec };
    const post = () => controlPlane.api.post('/api/v1/namespaces/rollcall/pods?dryRun=All', pod);
    return post().then(
      () => true,
      (error: unknown) => {
        if (/violates PodSecurity "restricted/.test(String(error))) return false;
        throw error;
      },
    );
  }

  test('lets the pods of the defaults in', async () => {
    const found = workloads(await renderObjects(helm));
    expect(found).toHaveLength(3);
    for (const { name, template } of found) {
      expect([name, await waitFor('an answer', async () => [await admitted(template)])]).toEqual([name, [true]]);
    }
  });

  test.each([
    ['deviceTree', true],
    ['hostNetwork', true],
    ['probePaths', ['/run']],
    ['featuresDir', '/etc/features.d'],
  ])('does not let agents in with %s', async (option, value) => {
    const found = workloads(await renderObjects(helm, { agent: { [option]: value } }));
    const agent = found.find(({ kind }) => kind === 'DaemonSet');
    expect(agent && (await admitted(agent.template))).toBe(false);
  });
});
