import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ACCOUNT_NAMES,
  type Account,
  GRANTS,
  type Grant,
  placeOf,
  resourceOf,
  type Verb,
} from '../../../deploy/source/manifests/accounts.ts';
import { DEFAULT_SETTINGS } from '../../../deploy/source/manifests/settings.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { createNamespace, createPod, createServiceAccount, requestToken } from '../../control-plane/cluster.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedCluster, embeddedCluster } from '../../rig/cluster.ts';
import { Rig } from '../../rig/rig.ts';
import { type StandIn, startStandIn } from '../../stand-ins/stand-in.ts';
import {
  applyCrd as applyPoolCrds,
  nodePoolLabels,
  POOL,
  poolLabelSet,
  poolLabelsPath,
  poolsPath,
} from '../pools/pool-cluster.ts';
import { applyCrd, NODE_SERVICES, nodeService } from '../services/node-services.ts';

// What an account may do is what the product does: the API server records a run in which everything is done once, and
// the record is compared with the description that rights and fence are made from.

const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - level: Request
    users: [${Object.values(ACCOUNT_NAMES)
      .map((name) => `system:serviceaccount:rollcall:${name}`)
      .join(', ')}]
  - level: None
`;

type Recorded = {
  verb: Verb;
  stage: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string; name?: string; apiGroup?: string };
  responseStatus?: { code: number };
  requestObject?: unknown;
};
type Body = Partial<KubeObject>;

/** What was looked for and is not there was permitted as well. */
const isDone = (code = 500) => code < 300 || code === 404;

let cluster: EmbeddedCluster;
let rig: Rig;
let service: StandIn;
let recorded: Recorded[];

beforeAll(async () => {
  cluster = await embeddedCluster({}, { auditLog: { policyYaml: POLICY } });
  const { controlPlane, api } = cluster;
  await applyPoolCrds({ controlPlane, api });
  await applyCrd(controlPlane, 'nodeservices');
  await createNamespace(api, 'batch');
  await mayUninstall();
  rig = await Rig.start({ cluster, nodes: 2, coordinators: 2, coordinatorArgs: ['--readiness-gate=both'] });
  await play();
  const { auditLogFile = '' } = controlPlane;
  const lines = (await readFile(auditLogFile, 'utf8')).trim().split('\n');
  recorded = lines
    .map((line) => JSON.parse(line) as Recorded)
    .filter(({ stage, responseStatus }) => stage !== 'RequestReceived' && isDone(responseStatus?.code));
}, 180_000);
afterAll(async () => {
  await service?.stop();
  await rig?.stop();
  await cluster?.stop();
});

/** Installs the account of the Job that uninstalls, with the rights of the description. */
async function mayUninstall(): Promise<void> {
  const { api } = cluster;
  const name = ACCOUNT_NAMES.uninstall;
  await createServiceAccount(api, 'rollcall', name);
  const group = '/apis/rbac.authorization.k8s.io/v1';
  const rules = GRANTS.filter(({ accounts }) => accounts.includes('uninstall')).map((grant) => ({
    apiGroups: [grant.group],
    resources: [resourceOf(grant)],
    verbs: grant.verbs,
    ...(grant.name === undefined ? {} : { resourceNames: [grant.name] }),
  }));
  await api.post(`${group}/clusterroles`, { metadata: { name }, rules });
  await api.post(`${group}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'rollcall' }],
  });
}

/** Services that come, fail and go; pools; a hold; a new leader; and the uninstallation. */
async function play(): Promise<void> {
  const { api, controlPlane } = cluster;
  const [{ name, address }] = [rig.node(0)];
  const node = () =>
    api.get<{ metadata: { labels: object; annotations: object }; spec: object; status: object } & Body>(
      `/api/v1/nodes/${name}`,
    );
  const until = (what: string, text: string, isThere = true) =>
    waitFor(what, async () => JSON.stringify(await node()).includes(text) === isThere, { timeoutMs: 60_000 });
  const port = await freePort();
  service = await startStandIn('http-service', { host: address, port });
  const publish = {
    label: 'service.rollcall.dev/mirror',
    taint: { key: 'readiness.k8s.io/mirror', effect: 'NoSchedule', maxUnavailable: '100%' },
    condition: 'service.rollcall.dev/Mirror',
  };
  await rig.allReady();
  await api.post(
    NODE_SERVICES,
    nodeService('mirror', { checks: [{ name: 'port', http: { port, path: '/healthz' } }], publish }),
  );
  await until('the service to be ready', '"service.rollcall.dev/mirror":"true"');
  await service.kill('SIGKILL');
  await until('the taint', '"key":"readiness.k8s.io/mirror"');
  await api.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { [POOL]: 'gold' } } });
  await api.post(poolLabelsPath(), nodePoolLabels('gold', { tier: 'gold' }));
  await api.post(poolsPath(), poolLabelSet('silver', { tier: 'silver' }));
  await until('the label of the pool', '"tier":"gold"');
  await api.post('/apis/rollcall.dev/v1alpha1/nodeholds', {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeHold',
    metadata: { name: 'batch' },
    spec: { pods: { namespace: 'batch', selector: { matchLabels: { keep: 'true' } } } },
  });
  await createPod(api, { namespace: 'batch', name: 'kept', nodeName: name, labels: { keep: 'true' }, ready: true });
  await until('the hold', '"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true"');
  const written = async (path: string) => {
    await waitFor(
      `the status of ${path}`,
      async () => !JSON.stringify((await api.get(path))['status']).includes('Pending'),
    );
  };
  for (const path of [`${poolLabelsPath()}/gold`, `${poolsPath()}/silver`, `${NODE_SERVICES}/mirror`])
    await written(path);
  await written('/apis/rollcall.dev/v1alpha1/nodeholds/batch');
  await waitFor('an Event', async () => (await api.list('/api/v1/namespaces/default/events')).length > 0);
  await rig.endCoordinator(await rig.leader(), 'SIGTERM');
  await rig.leader();
  await api.delete(`${NODE_SERVICES}/mirror`);
  await until('the taint to go', '"key":"readiness.k8s.io/mirror"', false);
  // A person deletes the Lease.
  await api.delete('/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator');
  await waitFor('the Lease', () =>
    api.get('/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator'),
  );
  const token = await requestToken(api, {
    namespace: 'rollcall',
    serviceAccount: ACCOUNT_NAMES.uninstall,
    expirationSeconds: 3600,
  });
  cluster.coordinatorKubeconfig = await controlPlane.kubeconfigFor(token);
  await rig.prune();
  expect(JSON.stringify((await node()).metadata.labels)).not.toContain('gitpod.io/');
}

const accountOf = ({ user }: Recorded) =>
  (Object.keys(ACCOUNT_NAMES) as Account[]).find((account) => user.username.endsWith(`:${ACCOUNT_NAMES[account]}`));

/** The grant that a request used. */
function grantOf(request: Recorded): Grant | undefined {
  const { resource, subresource, name, apiGroup = '' } = request.objectRef ?? {};
  const account = accountOf(request);
  return GRANTS.find(
    (grant) =>
      account !== undefined &&
      grant.accounts.includes(account) &&
      grant.group === apiGroup &&
      grant.resource === resource &&
      grant.subresource === subresource &&
      (grant.name === undefined || name === undefined || grant.name === name),
  );
}

/** An apply that creates an object needs the right to create it as well. */
const verbsOf = ({ verb, responseStatus }: Recorded): Verb[] =>
  verb === 'patch' && responseStatus?.code === 201 ? ['patch', 'create'] : [verb];

describe('in a recorded run', () => {
  test('the accounts did nothing that the description does not grant', () => {
    expect(recorded.length).toBeGreaterThan(100);
    const foreign = recorded.filter((request) => {
      const { resource } = request.objectRef ?? {};
      const isOwn = resource === 'selfsubjectaccessreviews' || request.objectRef === undefined;
      return !isOwn && verbsOf(request).some((verb) => !grantOf(request)?.verbs.includes(verb));
    });
    expect(foreign.map(({ verb, user, objectRef }) => ({ verb, user: user.username, objectRef }))).toEqual([]);
  });

  test.each(GRANTS.flatMap((grant) => grant.accounts.map((account) => ({ account, place: placeOf(grant), grant }))))(
    'the account $account used its right to $place, or the description says why not',
    ({ account, grant }) => {
      const used = new Set(
        recorded.filter((each) => accountOf(each) === account && grantOf(each) === grant).flatMap(verbsOf),
      );
      const reasons = grant.unused ?? {};
      const silent = grant.verbs.filter((verb) => !used.has(verb) && (reasons[verb] ?? '') === '');
      expect(silent).toEqual([]);
    },
  );

  test.each(GRANTS.filter(({ changes }) => changes !== undefined).map((grant) => [placeOf(grant), grant] as const))(
    'what was changed of %s is what the fence lets change',
    (_place, grant) => {
      const { field = 'data', keys = [], annotations = [] } = grant.changes ?? {};
      const bodies = recorded
        .filter((each) => grantOf(each) === grant && each.requestObject)
        .map(({ requestObject }) => requestObject as Body);
      const changed = new Set(bodies.flatMap((body) => Object.keys((body[field] ?? {}) as object)));
      const noted = new Set(bodies.flatMap(({ metadata }) => Object.keys(metadata?.annotations ?? {})));
      expect([...changed].filter((key) => !keys.includes(key))).toEqual([]);
      expect([...noted].filter((key) => !annotations.includes(key))).toEqual([]);
      const never = [...keys.filter((key) => !changed.has(key)), ...annotations.filter((key) => !noted.has(key))];
      expect(never.filter((key) => (grant.unusedKeys?.[key] ?? '') === '')).toEqual([]);
      expect(Object.keys(grant.unusedKeys ?? {}).filter((key) => !never.includes(key))).toEqual([]);
    },
  );

  test('of Nodes nothing was changed but labels, annotations, taints and conditions that are rollcall’s', () => {
    const bodies = recorded.filter(({ objectRef, requestObject }) => objectRef?.resource === 'nodes' && requestObject);
    expect(bodies.length).toBeGreaterThan(10);
    const touched = (body: Body) =>
      Object.entries(body).flatMap(([field, value]) =>
        field === 'metadata' || field === 'spec' || field === 'status'
          ? Object.keys(value as object).map((key) => `${field}.${key}`)
          : [field],
      );
    const patched = (operations: { op: string; path: string }[]) =>
      operations.filter(({ op }) => op !== 'test').map(({ path }) => path.split('/').slice(1, 3).join('.'));
    const fields = bodies.flatMap(({ requestObject }) =>
      Array.isArray(requestObject)
        ? patched(requestObject as { op: string; path: string }[])
        : touched(requestObject as Body),
    );
    expect([...new Set(fields)].toSorted()).toEqual([
      ...['apiVersion', 'kind', 'metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.resourceVersion'],
      ...['metadata.uid', 'spec.taints', 'status.conditions'],
    ]);
    const annotations = bodies.flatMap(({ requestObject }) =>
      Object.keys((requestObject as Body).metadata?.annotations ?? {}),
    );
    expect(annotations.filter((key) => !DEFAULT_SETTINGS.annotations.includes(key))).toEqual([]);
  });
});
