import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { MANAGED, POOL, poolLabelSet, poolsPath } from '../pools/pool-cluster.ts';
import { MigrationStage } from './migration-stage.ts';

// The steps of packages/docs/how-to/migrate.md, of which every command is read from the page, on a cluster as Banzai Cloud's nodepool-labels-operator leaves it.

const NAMESPACE = 'pipeline';
const RELEASE = 'npls';
/** The default field manager of client-go: the name of the program, /app. */
const OPERATOR = 'app';
const CONFIG = { poolNamespace: NAMESPACE, forbiddenLabelDomains: ['google.com'] };

/** The CRD in the operator's chart, where it is a normal object of the release. */
const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: nodepoollabelsets.labels.banzaicloud.io }
spec:
  group: labels.banzaicloud.io
  scope: Namespaced
  names: { kind: NodePoolLabelSet, plural: nodepoollabelsets, singular: nodepoollabelset, shortNames: [npls] }
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [labels]
              properties: { labels: { type: object, additionalProperties: { type: string } } }
`;
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: { name: nodepool-labels-operator }
spec:
  replicas: 1
  selector: { matchLabels: { app: nodepool-labels-operator } }
  template:
    metadata: { labels: { app: nodepool-labels-operator } }
    spec: { containers: [{ name: operator, image: operator }] }
`;

let stage: MigrationStage;
let chart: string;
beforeAll(async () => {
  stage = await MigrationStage.start({ crds: { install: false } });
  chart = await mkdtemp(path.join(tmpdir(), 'rollcall-operator-chart-'));
  await mkdir(path.join(chart, 'templates'));
  await writeFile(path.join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: nodepool-labels-operator\nversion: 0.2.7\n');
  await writeFile(path.join(chart, 'templates/crd.yaml'), CRD);
  await writeFile(path.join(chart, 'templates/deployment.yaml'), DEPLOYMENT);
  await stage.helm(['install', RELEASE, chart, '--namespace', NAMESPACE, '--create-namespace']);
  await waitFor('NodePoolLabelSets to be served', async () => (await stage.api.list(poolsPath(NAMESPACE))).length >= 0);
  await stage.api.post(
    poolsPath(NAMESPACE),
    poolLabelSet('gold', { environment: 'testing', team: 'rnd', [POOL]: 'gold' }),
  );

  const gold = { [POOL]: 'gold' };
  const managed = (list: string, labels: Record<string, string | null> = {}) => ({
    metadata: { labels, annotations: { [MANAGED]: list } },
  });
  const both = { environment: 'testing', team: 'rnd' };
  await createNode(stage.api, 'right', { labels: gold });
  await stage.patch('right', OPERATOR, managed('["team","environment"]', both));
  // Its set asked for more when the operator last wrote; the set was changed while the operator was away.
  await createNode(stage.api, 'stale', { labels: gold });
  await stage.patch('stale', OPERATOR, managed('["old","environment","team"]', { ...both, old: '1' }));
  // If a managed label became forbidden, the operator left and forgot it.
  await createNode(stage.api, 'orphan', { labels: gold });
  await stage.patch('orphan', OPERATOR, managed('["team","environment"]', { ...both, 'cloud.google.com/x': '1' }));
  // It PATCHed nodes of no pool as well.
  await createNode(stage.api, 'poolless', {});
  await stage.patch('poolless', OPERATOR, managed('[]'));
});
afterAll(async () => {
  await stage?.stop();
  if (chart) await rm(chart, { recursive: true, force: true });
});

const crdExists = () =>
  stage.kubectl(['get', 'crd', 'nodepoollabelsets.labels.banzaicloud.io', '--ignore-not-found', '-o', 'name']);

describe('step by step', () => {
  test('beside the operator nothing is written, and what would be is planned', async () => {
    await stage.lookOn(CONFIG);
    await waitFor('the plan', async () => (await stage.planned()).includes('stale'));
    expect(await stage.planned()).toEqual(['orphan', 'poolless', 'right', 'stale']);
    for (const node of ['right', 'stale', 'orphan', 'poolless']) {
      expect(await stage.managers(node)).not.toContain('rollcall');
    }
  });

  test('the CRD is replaced, and its objects stay', async () => {
    await stage.follow('kubectl apply --server-side --force-conflicts -f deploy/crds');
    await waitFor('the set to be served', async () => (await stage.api.list(poolsPath(NAMESPACE))).length === 1);
  });

  test('the change over takes no label away that is right, and everything that is not', async () => {
    await stage.follow('kubectl -n NAMESPACE scale deployment/nodepool-labels-operator --replicas=0', { NAMESPACE });
    const marks = ['right', 'stale', 'orphan'].map((node) => stage.states.mark(node));
    await stage.takeOver();
    await stage.states.until('stale', 'to lose what no set asks for', ({ labels }) => !('old' in labels));
    for (const node of ['right', 'stale', 'orphan']) {
      const list = '["environment","team"]';
      await stage.states.until(node, 'to be taken over', ({ annotations }) => annotations[MANAGED] === list);
    }
    await stage.states.until('poolless', 'to lose the empty list', ({ annotations }) => !(MANAGED in annotations));
    await expect.poll(() => stage.planned(), { timeout: 10_000 }).toEqual([]);
    for (const since of marks) {
      for (const { labels } of since()) {
        expect(labels).toMatchObject({ environment: 'testing', team: 'rnd', [POOL]: 'gold' });
      }
    }
  });

  test('a label that the operator forgot has no owner, and stays until a person removes it', async () => {
    expect(stage.states.last('orphan')?.labels).toHaveProperty(['cloud.google.com/x'], '1');
    await stage.follow('kubectl label node NODE LABEL-', { NODE: 'orphan', LABEL: 'cloud.google.com/x' });
    await stage.states.until('orphan', 'to lose it', ({ labels }) => !('cloud.google.com/x' in labels));
  });

  test('the operator is removed without its CRD, which goes with the release otherwise', async () => {
    await stage.follow('kubectl -n NAMESPACE delete secret -l owner=helm,name=RELEASE', { NAMESPACE, RELEASE });
    await stage.follow('kubectl -n NAMESPACE delete deployment/nodepool-labels-operator', { NAMESPACE });
    expect(await stage.helm(['list', '--namespace', NAMESPACE, '--short'])).toBe('');
    expect(await crdExists()).not.toBe('');
    const left = await stage.api.list(poolsPath(NAMESPACE));
    expect(left).toHaveLength(1);
  });

  test('what the set no longer asks for goes, also from nodes that the operator had labelled', async () => {
    const operations = [{ op: 'replace', path: '/spec/labels', value: { team: 'rnd' } }];
    await stage.api.patch(`${poolsPath(NAMESPACE)}/gold`, operations, 'application/json-patch+json');
    for (const node of ['right', 'stale', 'orphan']) {
      await stage.states.until(
        node,
        'to lose it',
        ({ labels }) => !('environment' in labels) && labels['team'] === 'rnd',
      );
    }
  });

  test('uninstalling the operator’s release instead takes the sets with the CRD, and their labels off the nodes', async () => {
    const crd = 'nodepoollabelsets.labels.banzaicloud.io';
    await stage.helm(['install', RELEASE, chart, '--namespace', NAMESPACE, '--take-ownership']);
    // Helm reads the annotation from its stored release.
    await stage.kubectl(['annotate', 'crd', crd, 'helm.sh/resource-policy=keep']);
    await stage.helm(['uninstall', RELEASE, '--namespace', NAMESPACE]);
    await waitFor('the CRD to go', async () => (await crdExists()) === '');
    await stage.states.until('right', 'to lose the label', ({ labels }) => !('team' in labels), 40_000);
  });
});
