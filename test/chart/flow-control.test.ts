import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { sumSamples } from '../control-plane/metrics-text.ts';
import { installAccess } from '../control-plane/rbac.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { renderObjects } from './render.ts';

let helm: Helm;
let controlPlane: ControlPlane;

beforeAll(async () => {
  helm = await ensureHelm();
  controlPlane = await startControlPlane();
}, 600_000);
afterAll(() => controlPlane?.stop());

test('TokenReviews of the coordinator have a priority level of their own, and no other requests of it do', async () => {
  const { api } = controlPlane;
  const { coordinatorToken } = await installAccess(controlPlane);
  const objects = (await renderObjects(helm)).filter(({ apiVersion }) => apiVersion?.startsWith('flowcontrol.'));
  expect(objects.map(({ kind }) => kind).toSorted()).toEqual(['FlowSchema', 'PriorityLevelConfiguration']);
  for (const object of objects) {
    const plural = object.kind === 'FlowSchema' ? 'flowschemas' : 'prioritylevelconfigurations';
    await api.post(`/apis/flowcontrol.apiserver.k8s.io/v1/${plural}`, object);
  }
  const coordinator = await controlPlane.clientFor(coordinatorToken);
  const dispatched = async () =>
    sumSamples(await controlPlane.metrics(), 'apiserver_flowcontrol_dispatched_requests_total', {
      flow_schema: 'rollcall-coordinator',
      priority_level: 'rollcall-coordinator',
    });
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'x' } };
  await waitFor('the FlowSchema to be in force', async () => {
    await coordinator.exchange('POST', '/apis/authentication.k8s.io/v1/tokenreviews', JSON.stringify(review));
    return (await dispatched()) > 0;
  });
  const lease = '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator';
  const before = await dispatched();
  await coordinator.exchange('GET', lease);
  expect(await dispatched()).toBe(before + 1);
  await coordinator.exchange('GET', '/api/v1/nodes');
  expect(await dispatched()).toBe(before + 1);
  coordinator.close();
});
