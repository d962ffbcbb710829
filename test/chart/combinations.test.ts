import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError, type KubeObject } from '../control-plane/api-client.ts';
import { createNamespace } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { AXES, combinations } from './combinations.ts';
import { MANIFESTS, OPERATOR, renderObjects, type Values } from './render.ts';

const COUNT = 60;
const NAMESPACES = ['rollcall', 'default', '123', 'ci', 'drivers', 'kube-system', 'pools'];

let helm: Helm;
let controlPlane: ControlPlane;
/** Paths of collections, by apiVersion and kind; `%` stands for the namespace. */
const paths = new Map<string, string>();

beforeAll(async () => {
  [helm, controlPlane] = await Promise.all([ensureHelm(), startControlPlane()]);
  const files = [OPERATOR, path.join(MANIFESTS, '../crds')].flatMap((file) => ['-f', file]);
  await controlPlane.kubectl(['apply', '--server-side', ...files]);
  await controlPlane.kubectl(['wait', '--for=condition=Established', ...files]);
  const there = new Set((await controlPlane.api.list('/api/v1/namespaces')).map(({ metadata }) => metadata.name));
  for (const name of NAMESPACES.filter((each) => !there.has(each))) await createNamespace(controlPlane.api, name);
  const served = await controlPlane.kubectl(['api-resources', '--no-headers']);
  for (const line of served.trim().split('\n')) {
    const [plural = '', ...rest] = line.trim().split(/\s+/);
    const [apiVersion = '', isNamespaced, kind] = rest.slice(-3);
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    paths.set(`${apiVersion} ${kind}`, `${root}${isNamespaced === 'true' ? '/namespaces/%' : ''}/${plural}`);
  }
}, 600_000);

afterAll(() => controlPlane?.stop());

/** Answers of the API server: most objects are the same in many combinations. */
const answers = new Map<string, Promise<string | undefined>>();

/** What the API server has against the object; `undefined` if it would take it. */
function refusalOf(object: KubeObject): Promise<string | undefined> {
  const key = JSON.stringify(object);
  const answer = answers.get(key) ?? ask(object);
  answers.set(key, answer);
  return answer;
}

async function ask(object: KubeObject): Promise<string | undefined> {
  const { name, namespace = '' } = object.metadata;
  const collection = paths.get(`${object.apiVersion} ${object.kind}`)?.replace('%', namespace);
  if (collection === undefined) return `${object.apiVersion} ${object.kind} is not served`;
  const query = 'dryRun=All&fieldManager=helm&force=true&fieldValidation=Strict';
  return controlPlane.api
    .patch(`${collection}/${encodeURIComponent(name)}?${query}`, object, 'application/apply-patch+yaml')
    .then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof ApiError) return `${object.kind} ${name}: ${error.message}`;
        throw error;
      },
    );
}

async function refusals({ policies, ...values }: Values): Promise<string[]> {
  const knowsPolicies = paths.has('admissionregistration.k8s.io/v1 MutatingAdmissionPolicy');
  const objects = await renderObjects(helm, knowsPolicies ? { policies, ...values } : values);
  return (await Promise.all(objects.map(refusalOf))).filter((each) => each !== undefined);
}

const all = combinations(COUNT).map((values, index) => [index, values] as const);

test.each(all)('the API server takes every object of combination %i', async (_, values) => {
  expect(await refusals(values), JSON.stringify(values)).toEqual([]);
});

test('the combinations contain every choice of every axis', () => {
  const drawn = all.map(([, values]) => JSON.stringify(values));
  const missing = Object.values(AXES)
    .flat()
    .flatMap((choice) => leaves(choice))
    .filter((leaf) => !drawn.some((text) => text.includes(leaf)));
  expect(missing).toEqual([]);
});

test('the API server refuses what is wrong, so that it is asked indeed', async () => {
  const tooLong = { commonLabels: { a: 'x'.repeat(64) } };
  const [first] = await renderObjects(helm);
  expect(
    await refusalOf({ ...first, metadata: { ...first?.metadata, labels: tooLong.commonLabels } } as KubeObject),
  ).toMatch(/must be no more than 63/);
});

/** Innermost keys with their values, as in the JSON of a combination. */
function leaves(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    const below = leaves(each);
    return below.length > 0 ? below : [`${JSON.stringify(key)}:${JSON.stringify(each)}`];
  });
}
