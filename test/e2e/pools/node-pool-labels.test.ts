import { setTimeout as sleep } from 'node:timers/promises';
import type { SetStatus } from '@rollcall/coordinator/subscribers/status/set-status.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import {
  admissionKnows,
  applyDeployed,
  MANAGED,
  nodePoolLabels,
  POOL,
  poolLabelsPath,
  register,
} from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

const BANZAI = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepoollabelsets.labels.banzaicloud.io';

let stage: PoolStage;
beforeAll(async () => {
  stage = await PoolStage.start({
    crd: 'none',
    prepare: async ({ cluster, api }) => {
      await applyDeployed(cluster, 'crds/nodepoollabels.yaml');
      await waitFor('NodePoolLabels to be served', () => api.list(poolLabelsPath()));
    },
  });
});
afterAll(() => stage?.stop());

const apply = (name: string, labels: object, spec: object = {}) =>
  stage.api.post(poolLabelsPath(), nodePoolLabels(name, labels, spec));
const remove = (name: string) => stage.api.delete(`${poolLabelsPath()}/${name}`);

async function untilStatus(name: string, isSo: (status: SetStatus) => boolean): Promise<SetStatus> {
  return waitFor(`the status of ${name}`, async () => {
    const { status } = await stage.api.get<KubeObject & { status?: SetStatus }>(`${poolLabelsPath()}/${name}`);
    // Until a coordinator wrote it, it is the default of the CRD.
    return status?.observedGeneration !== undefined && isSo(status) ? status : undefined;
  });
}

test('a NodePoolLabels gives nodes its labels as long as it is there, without the CRD of NodePoolLabelSets', async () => {
  const node = await stage.node('Gold_1');
  await apply('gold', { tier: 'gold', 'k8s.io/x': '1' }, { pool: 'Gold_1' });
  await stage.until(node, { labels: { tier: 'gold' }, managed: ['tier'] });
  const status = await untilStatus('gold', ({ nodesLabelled }) => nodesLabelled === 1);
  expect(status).toMatchObject({
    nodesMatched: 1,
    refusedKeys: [
      {
        key: 'k8s.io/x',
        reason: 'is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
      },
    ],
  });
  expect(status.conditions.map(({ type, status: is }) => `${type} ${is}`)).toEqual([
    'Ready False',
    'Stalled True',
    'NodesLabelled True',
  ]);
  const event = await waitFor('the Event', async () => {
    const events = await stage.api.list<KubeObject & { reason: string; regarding: object }>(
      '/apis/events.k8s.io/v1/namespaces/rollcall/events',
    );
    return events.find(({ reason }) => reason === 'KeysRefused');
  });
  expect(event.regarding).toMatchObject({ kind: 'NodePoolLabels', name: 'gold', apiVersion: 'rollcall.dev/v1alpha1' });
  const leader = await stage.rig.leader();
  const { keys } = await leader.explain(node);
  const reason = 'NodePoolLabels rollcall/gold of the pool Gold_1';
  expect(keys.find(({ key }) => key === 'tier')).toMatchObject({ stance: 'present', reason });
  const consoleUrl = `--console-url=http://${String((await leader.waitForLog('Started'))['console'])}`;
  const asked = await runPlugin(['status', '--only=rollcall', consoleUrl]);
  expect(asked).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining(
      'fail  The NodePoolLabels gold is not in force: k8s.io/x is in the reserved domain',
    ),
  });
  await remove('gold');
  await stage.until(node, { labels: { tier: undefined }, managed: undefined });
});

test('admission gives a new node the labels of a NodePoolLabels, without the CRD of NodePoolLabelSets', async () => {
  await applyDeployed(stage.cluster, 'policies/pool-labels.yaml');
  await apply('early', { tier: 'early' });
  await admissionKnows(stage, 'early', ['tier', 'early']);
  const { metadata } = await register(stage.api, 'early', { [POOL]: 'early' });
  expect(metadata).toMatchObject({ labels: { tier: 'early' }, annotations: { [MANAGED]: '["tier"]' } });
  await stage.api.delete(`/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/rollcall-pool-labels`);
});

test('of both kinds for one pool the older object counts, and the newer one takes over what they share', async () => {
  await stage.whileDown(() => stage.installCrd());
  const node = await stage.node('shared');
  await stage.pool('shared', { both: '1', tier: 'set' });
  await stage.until(node, { labels: { both: '1', tier: 'set' }, managed: ['both', 'tier'] });
  // Creation times are whole seconds.
  await sleep(1001);
  await apply('shared', { both: '1', tier: 'ours', more: '1' });
  const taken = await untilStatus('shared', () => true);
  expect(taken.conditions.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
    'PoolTaken: The pool shared already has the NodePoolLabelSet shared, which is older',
    'PoolTaken: The pool shared already has the NodePoolLabelSet shared, which is older',
    'NotInForce: Not in force: The pool shared already has the NodePoolLabelSet shared, which is older',
  ]);
  const since = stage.states.mark(node);
  await stage.removePool('shared');
  await stage.until(node, { labels: { both: '1', tier: 'ours', more: '1' }, managed: ['both', 'more', 'tier'] });
  expect(new Set(since().map(({ labels }) => labels['both']))).toEqual(new Set(['1']));
  await untilStatus(
    'shared',
    ({ conditions, nodesLabelled }) => nodesLabelled === 1 && conditions[0]?.status === 'True',
  );
});

test('the CRD of one kind that is deleted takes its own labels along, and none of the other kind', async () => {
  const [ours, theirs] = [await stage.node('ours'), await stage.node('theirs')];
  await apply('ours', { tier: 'ours' });
  await stage.pool('theirs', { tier: 'theirs' });
  await stage.until(ours, { labels: { tier: 'ours' }, managed: ['tier'] });
  await stage.until(theirs, { labels: { tier: 'theirs' }, managed: ['tier'] });
  const since = stage.states.mark(ours);
  await stage.api.delete(BANZAI);
  await stage.until(theirs, { labels: { tier: undefined }, managed: undefined });
  const leader = await stage.rig.leader();
  const isAbsent = ({ resource, msg }: { resource?: unknown; msg?: unknown }) =>
    resource === 'nodepoollabelsets' && msg === 'Resource not served; treating it as empty';
  await waitFor('the CRD to count as absent', () => leader.logs.some(isAbsent), { timeoutMs: 60_000 });
  await stage.until(await stage.node('ours'), { labels: { tier: 'ours' }, managed: ['tier'] });
  expect(since().filter(({ labels }) => labels['tier'] !== 'ours')).toEqual([]);
});
