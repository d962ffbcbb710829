import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../control-plane/api-client.ts';
import { createServiceAccount } from '../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { type PodTemplate, renderObjects, type Values, workloads } from './render.ts';

/** The admission of platforms, as far as a real API server shows it: deploy/platforms has the table. */
const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
/** A range of user ids as a project of OpenShift has, and the one that it assigns. */
const UIDS = { first: 1_000_680_000, last: 1_000_689_999 };

let helm: Helm;
let controlPlane: ControlPlane;

beforeAll(async () => {
  [helm, controlPlane] = await Promise.all([ensureHelm(), startControlPlane()]);
  const { api } = controlPlane;
  for (const object of (await renderObjects(helm)).filter(({ kind }) => kind === 'PriorityClass'))
    await api.post('/apis/scheduling.k8s.io/v1/priorityclasses', object);
  for (const level of LEVELS) await namespace(level, level);
  await namespace('openshift', 'restricted');
  await api.post(POLICIES, { metadata: { name: 'like-restricted-v2' }, spec: likeRestrictedV2() });
  await api.post(BINDINGS, {
    metadata: { name: 'like-restricted-v2' },
    spec: {
      policyName: 'like-restricted-v2',
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift' } } },
    },
  });
  const chosen = { runAsUser: 65_532 };
  await waitFor('the policy', async () => (await refusals('openshift', chosen)).length > 0, { timeoutMs: 60_000 });
}, 600_000);

afterAll(() => controlPlane?.stop());

async function namespace(name: string, level: string): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': level };
  await controlPlane.api.post('/api/v1/namespaces', { metadata: { name, labels } });
  const accounts = ['agent', 'coordinator', 'uninstall', 'test'].map((each) => `rollcall-${each}`);
  for (const account of accounts) await createServiceAccount(controlPlane.api, name, account);
}

/** What OpenShift's restricted-v2 refuses, beside what Pod Security restricted does. */
function likeRestrictedV2(): object {
  const { first, last } = UIDS;
  const inRange = (context: string) =>
    `!has(${context}.securityContext) || !has(${context}.securityContext.runAsUser) || (${context}.securityContext.runAsUser >= ${first} && ${context}.securityContext.runAsUser <= ${last})`;
  return {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    },
    validations: [
      { expression: inRange('object.spec'), message: 'the user is not of the range' },
      { expression: `object.spec.containers.all(each, ${inRange('each')})`, message: 'the user is not of the range' },
    ],
  };
}

/** Why the API server refuses the pods of each workload, for a namespace; empty where it lets them in. */
async function refusals(name: string, values: Values, change: (spec: PodTemplate['spec']) => object = (spec) => spec) {
  const found = workloads(await renderObjects(helm, values));
  expect(found.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['DaemonSet', 'Deployment']));
  const refused: string[] = [];
  for (const { kind, template } of found) {
    const pod = { metadata: { ...template.metadata, name: 'tried' }, spec: change(template.spec) };
    await controlPlane.api.post(`/api/v1/namespaces/${name}/pods?dryRun=All`, pod).catch((error: unknown) => {
      if (!(error instanceof ApiError) || (error.status !== 403 && error.status !== 422)) throw error;
      refused.push(
        `${kind}: ${/violates PodSecurity "\w+|not of the range/.exec(error.message)?.[0] ?? error.message}`,
      );
    });
  }
  return refused;
}

describe('Pod Security', () => {
  const options: Readonly<Record<string, unknown>> = {
    deviceTree: true,
    hostNetwork: true,
    probePaths: ['/run'],
    featuresDir: '/etc/features.d',
  };

  test.each(LEVELS)('%s lets the defaults in', async (level) => {
    expect(await refusals(level, {})).toEqual([]);
  });

  test.each(Object.keys(options))('lets agents with %s in where it is privileged alone', async (option) => {
    const values = { agent: { [option]: options[option] } };
    expect(await refusals('privileged', values)).toEqual([]);
    for (const level of ['baseline', 'restricted'])
      expect(await refusals(level, values)).toEqual([`DaemonSet: violates PodSecurity "${level}`]);
  });
});

describe('a platform that assigns users, as OpenShift does,', () => {
  test('lets the defaults in with the user that it assigns', async () => {
    const assigned = (spec: PodTemplate['spec']) => ({
      ...spec,
      securityContext: { ...(spec['securityContext'] as object), runAsUser: UIDS.first, fsGroup: UIDS.first },
    });
    expect(await refusals('openshift', {}, assigned)).toEqual([]);
    expect(await refusals('openshift', {})).toEqual([]);
  });

  test('refuses a user that was chosen', async () => {
    const refused = await refusals('openshift', { runAsUser: 65_532 });
    const kinds = ['DaemonSet', 'Deployment', 'Job'];
    expect(new Set(refused)).toEqual(new Set(kinds.map((kind) => `${kind}: not of the range`)));
  });
});
