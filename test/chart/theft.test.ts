import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient, KubeObject } from '../control-plane/api-client.ts';
import { createServiceAccount, requestToken } from '../control-plane/cluster.ts';
import type { Component } from '../control-plane/component.ts';
import { serverFilesIn } from '../control-plane/component-args.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm } from '../helm/helm.ts';
import { startControllers } from './controllers.ts';
import { CHART } from './render.ts';

// A Secret of the type kubernetes.io/service-account-token gets a token without expiry. An account that may create a
// Secret by name, and has it deleted by the garbage collector, chooses its type.

const SECRET = '/api/v1/namespaces/rollcall/secrets/rollcall-coordinator-tls';
const TYPE = 'kubernetes.io/service-account-token';
const ACCOUNT = 'kubernetes.io/service-account.name';
const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'absent', uid: '00000000-0000-0000-0000-000000000000' };

let controlPlane: ControlPlane;
let controllers: Component;
let thief: ApiClient;

beforeAll(async () => {
  const helm = await ensureHelm();
  controlPlane = await startControlPlane();
  const { api, kubeconfig, dir } = controlPlane;
  controllers = await startControllers(
    controlPlane,
    ['garbage-collector-controller', 'serviceaccount-token-controller'],
    [`--service-account-private-key-file=${serverFilesIn(dir).signingKey}`],
  );
  await helm(['install', 'rollcall', CHART, '--namespace', 'rollcall', '--create-namespace'], { kubeconfig });
  await createServiceAccount(api, 'rollcall', 'victim');
  const token = await requestToken(api, { namespace: 'rollcall', serviceAccount: 'rollcall-coordinator' });
  thief = await controlPlane.clientFor(token);
  const { exchange } = thief;
  await waitFor('the rights', async () => (await exchange.call(thief, 'GET', '/api/v1/nodes')).status === 200);
  const probe = { metadata: { finalizers: ['a.io/b'] } };
  await waitFor('the fence', async () => (await sent(`${SECRET}?dryRun=All`, probe)).status !== 200);
}, 600_000);
afterAll(async () => {
  thief?.close();
  await controllers?.kill('SIGKILL');
  await controlPlane?.stop();
});

function sent(path: string, body: object, type = 'application/merge-patch+json') {
  return thief.exchange(
    'PATCH',
    `${path}${path.includes('?') ? '&' : '?'}fieldManager=rollcall`,
    JSON.stringify(body),
    type,
  );
}

const secretNow = () =>
  controlPlane.api.get<KubeObject & { type?: string; data?: object }>(SECRET).catch(() => undefined);

/** Creates the Secret as one that gets a token of this account; returns the token. */
async function tokenOf(account: string): Promise<unknown> {
  const metadata = { name: 'rollcall-coordinator-tls', annotations: { [ACCOUNT]: account } };
  await sent(SECRET, { apiVersion: 'v1', kind: 'Secret', type: TYPE, metadata }, 'application/apply-patch+yaml');
  const get = async () => {
    const { type, data = {} } = (await secretNow()) ?? {};
    return type === TYPE && 'token' in data;
  };
  return waitFor('a token', get, { timeoutMs: 3000 }).catch(() => undefined);
}

test('the garbage collector deletes what has an owner that does not exist', async () => {
  const metadata = { name: 'orphan', ownerReferences: [OWNER] };
  const path = '/api/v1/namespaces/rollcall/configmaps';
  await controlPlane.api.post(path, { metadata });
  await waitFor('it to go', async () => (await thiefless(`${path}/orphan`)) === 404, { timeoutMs: 60_000 });
});

async function thiefless(path: string): Promise<number> {
  return (await controlPlane.api.exchange('GET', path)).status;
}

test('a stolen token of the coordinator has its Secret neither deleted nor made anew as one with a token', async () => {
  const before = await secretNow();
  expect(before?.type).toBe('Opaque');
  await sent(SECRET, { metadata: { ownerReferences: [OWNER] } });
  await sent(
    SECRET,
    { metadata: { name: 'rollcall-coordinator-tls', ownerReferences: [OWNER] }, apiVersion: 'v1', kind: 'Secret' },
    'application/apply-patch+yaml',
  );
  const isGone = async () => (await secretNow())?.metadata.uid !== before?.metadata.uid;
  await waitFor('the Secret to go', isGone, { timeoutMs: 5000 }).catch(() => {});
  for (const account of ['victim', 'rollcall-coordinator']) expect(await tokenOf(account)).toBeUndefined();
  expect(await secretNow()).toEqual(before);
});

test('nor does it get one where a person has deleted the Secret', async () => {
  await controlPlane.api.delete(SECRET);
  for (const account of ['victim', 'rollcall-coordinator']) expect(await tokenOf(account)).toBeUndefined();
  expect(await secretNow()).toBeUndefined();
});
