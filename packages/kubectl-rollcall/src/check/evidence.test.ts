import { describe, expect, test } from 'vitest';
import { KubeApi } from '../cluster/kube-api.ts';
import { type Answers, type Asked, kubeConfigFor, kubeStandIn, Status } from '../testing/stand-in.test-fixtures.ts';
import { type Evidence, gather, known, orWhenMissing, podsOf } from './evidence.ts';

const list = (...items: object[]) => ({ items, metadata: {} });
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const REVIEWS = '/apis/authorization.k8s.io/v1';
const object = (name: string) => ({ metadata: { name } });

async function gathered(answers: Answers): Promise<Evidence & { asked: Asked[] }> {
  const { kube, asked } = await kubeStandIn(answers);
  return { ...(await gather(kube, 'ns', 7)), asked };
}

describe('evidence', () => {
  test('is read from the API server', async () => {
    const found = await gathered({
      '/version': { gitVersion: 'v1.36.0' },
      [ADMISSION]: { resources: [{ name: 'kind' }] },
      '/apis/apps/v1/deployments': list(object('a')),
      '/apis/apps/v1/daemonsets': list(object('b')),
      '/api/v1/namespaces/ns/pods': list(object('pod')),
      '/api/v1/namespaces/ns/configmaps/rollcall-coordinator': { data: { 'coordinator.yaml': 'evict: true' } },
      '/api/v1/namespaces/ns/configmaps/rollcall-coordinator-ca': object('ca'),
      '/api/v1/namespaces/ns/configmaps': list(object('rules')),
      '/api/v1/namespaces/ns/serviceaccounts': list(object('account')),
      '/apis/coordination.k8s.io/v1/namespaces/ns/leases/rollcall-coordinator': object('lease'),
      '/apis/apps/v1/namespaces/ns/deployments/rollcall-coordinator': object('coordinator'),
      '/apis/apps/v1/namespaces/ns/daemonsets/rollcall-agent': object('agent'),
      [`${ADMISSION}/validatingadmissionpolicies`]: list(object('p')),
      [`${ADMISSION}/validatingadmissionpolicybindings`]: list(object('q')),
      [`${ADMISSION}/mutatingadmissionpolicies`]: list(object('r')),
      [`${ADMISSION}/mutatingadmissionpolicybindings`]: list(object('s')),
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': list(object('crd')),
      '/apis/rollcall.dev/v1alpha1/nodeservices': list(object('service')),
      '/apis/karpenter.sh/v1/nodepools': list(object('pool')),
      '/apis/readiness.node.x-k8s.io/v1alpha1/nodereadinessrules': list(object('rule')),
      '/apis/networking.k8s.io/v1/namespaces/ns/networkpolicies': list(object('net')),
    });
    expect(found).toMatchObject({
      namespace: 'ns',
      nowMs: 7,
      version: { value: { gitVersion: 'v1.36.0' } },
      admission: { value: ['kind'] },
      workloads: { value: [object('a'), object('b')] },
      pods: { value: [object('pod')] },
      config: { value: { evict: true } },
      ca: { value: object('ca') },
      configMaps: { value: [object('rules')] },
      serviceAccounts: { value: [object('account')] },
      lease: { value: object('lease') },
      coordinator: { value: object('coordinator') },
      agent: { value: object('agent') },
      policies: { value: [object('p')] },
      bindings: { value: [object('q')] },
      mutatingPolicies: { value: [object('r')] },
      mutatingBindings: { value: [object('s')] },
      crds: { value: ['crd'] },
      nodeServices: { value: [object('service')] },
      karpenterPools: { value: [object('pool')] },
      readinessRules: { value: [object('rule')] },
      networkPolicies: { value: [object('net')] },
    });
  });

  test('of a node is its name, its labels and its taints', async () => {
    const full = { metadata: { name: 'a', labels: { l: 'x' }, uid: 'u' }, spec: { taints: [{ key: 't' }], x: 1 } };
    const { nodes } = await gathered({ '/api/v1/nodes': list(full, object('b')) });
    expect(nodes).toEqual({
      value: [
        { metadata: { name: 'a', labels: { l: 'x' } }, spec: { taints: [{ key: 't' }] } },
        { metadata: { name: 'b', labels: {} }, spec: { taints: [] } },
      ],
    });
  });

  test('of the Lease is of the one that is configured', async () => {
    const { lease } = await gathered({
      '/api/v1/namespaces/ns/configmaps/rollcall-coordinator': { data: { 'coordinator.yaml': 'leaseName: mine' } },
      '/apis/coordination.k8s.io/v1/namespaces/ns/leases/mine': object('lease'),
    });
    expect(lease).toEqual({ value: object('lease') });
  });

  test.each(['deployments', 'daemonsets'])('of workloads is not known without %s', async (unread) => {
    const answers = { '/apis/apps/v1/deployments': list(object('a')), '/apis/apps/v1/daemonsets': list(object('b')) };
    const { workloads } = await gathered({ ...answers, [`/apis/apps/v1/${unread}`]: new Status(403) });
    expect(workloads).toEqual({ missing: false, problem: 'it is a 403' });
  });

  test('that is not there is missing, and what may not be read is not', async () => {
    const { version, pods, workloads } = await gathered({
      '/version': new Status(403),
      '/apis/apps/v1/deployments': new Status(403),
      '/apis/apps/v1/daemonsets': list(),
    });
    expect(version).toEqual({ missing: false, problem: 'it is a 403' });
    expect(pods).toEqual({ missing: true, problem: 'it is a 404' });
    expect(workloads).toEqual({ missing: false, problem: 'it is a 403' });
  });

  test('cannot be had without valid credentials, or without an API server', async () => {
    await expect(gathered({ '/version': new Status(401) })).rejects.toThrow('does not accept your credentials');
    await expect(gather(new KubeApi(kubeConfigFor('http://127.0.0.1:1')), 'ns', 7)).rejects.toMatchObject({
      name: 'CommandFailure',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('of pods in all namespaces is by a label', async () => {
    const { podsWith, asked } = await gathered({ '/api/v1/pods': list(object('p')) });
    expect(await podsWith('a in (b,c)')).toEqual({ value: [object('p')] });
    expect(asked.at(-1)?.path).toBe('/api/v1/pods?labelSelector=a%20in%20(b%2Cc)&limit=500');
  });
});

describe('a right', () => {
  const right = { verb: 'get', group: 'g', resource: 'r' };
  const all = { ...right, subresource: 's', name: 'n', namespace: 'ns' };
  const answered = (allowed: boolean) => ({ status: { allowed } });

  test('of oneself is reviewed as such', async () => {
    const path = `POST ${REVIEWS}/selfsubjectaccessreviews`;
    const { may, asked } = await gathered({ [path]: answered(true) });
    expect(await may(right)).toEqual({ value: true });
    expect(asked.at(-1)?.body).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: right },
    });
  });

  test('of an account is reviewed with its groups, and with all that it is about', async () => {
    const { may, asked } = await gathered({ [`POST ${REVIEWS}/subjectaccessreviews`]: answered(true) });
    expect(await may(all, 'system:serviceaccount:ns:a')).toEqual({ value: true });
    expect(asked.at(-1)?.body).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        resourceAttributes: all,
        user: 'system:serviceaccount:ns:a',
        groups: ['system:authenticated', 'system:serviceaccounts', 'system:serviceaccounts:ns'],
      },
    });
  });

  test('is missing unless the API server says that it is there', async () => {
    const of = async (answer: unknown) =>
      (await gathered({ [`POST ${REVIEWS}/selfsubjectaccessreviews`]: answer })).may(right);
    expect(await of(answered(false))).toEqual({ value: false });
    expect(await of({})).toEqual({ value: false });
    expect(await of(new Status(403))).toEqual({ missing: false, problem: 'it is a 403' });
  });
});

describe('what was read', () => {
  const missing = { missing: true, problem: 'not found' };
  const forbidden = { missing: false, problem: 'no' };

  test('is known, or an error', () => {
    expect(known({ value: 0 })).toBe(0);
    expect(() => known(missing)).toThrow(expect.objectContaining({ message: 'not found', isMissing: true }));
    expect(() => known(forbidden)).toThrow(expect.objectContaining({ message: 'no', isMissing: false }));
  });

  test('may be another thing only where it is missing', () => {
    expect(orWhenMissing({ value: 0 }, 1)).toBe(0);
    expect(orWhenMissing(missing, 1)).toBe(1);
    expect(() => orWhenMissing(forbidden, 1)).toThrow('no');
  });

  test('of pods are the pods of a component that are not being deleted', () => {
    const labels = { 'app.kubernetes.io/component': 'agent' };
    const mine = { metadata: { name: 'a', labels } };
    const value = [
      mine,
      { metadata: { name: 'b' } },
      { metadata: { name: 'c', labels: { 'app.kubernetes.io/component': 'coordinator' } } },
      { metadata: { name: 'd', labels, deletionTimestamp: '2027-03-01T12:00:00Z' } },
    ];
    expect(podsOf({ pods: { value } }, 'agent')).toEqual([mine]);
  });
});
