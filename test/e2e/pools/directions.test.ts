import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCALE_DOWN_DISABLED, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { applyManifest } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { startPolicy } from '../apply/policy.ts';
import { MANAGED, POOL, poolsPath } from './pool-cluster.ts';
import { PoolStage } from './pool-stage.ts';

const NOTHING = { removals: 0, applies: 0 };

/** Fewer than are refused at once: see coordinator/src/write/node-turn.ts. */
const AT_ONCE = 250;

let stage: PoolStage;
beforeAll(async () => {
  stage = await PoolStage.start({ crd: 'none' });
});
afterAll(() => stage?.stop());

test('without the CRD all else works; when it comes, no restart is needed', async () => {
  const node = await stage.node('late-crd', {}, { [SCALE_DOWN_HOLD]: 'true' });
  const isHeld = ({ annotations }: { annotations: Readonly<Record<string, string>> }) =>
    annotations[SCALE_DOWN_DISABLED] === 'true';
  await stage.states.until(node, 'to be held', isHeld);
  expect((await (await stage.rig.leader()).get('/readyz')).status).toBe(200);
  await stage.installCrd();
  await stage.pool('late-crd', { tier: 'late' });
  await stage.until(node, { labels: { tier: 'late' }, managed: ['tier'] }, 35_000);
});

test('an equal value that another client set survives the set', async () => {
  const node = await stage.node('equal', { tier: 'gold' });
  await stage.pool('equal', { tier: 'gold', more: '1' });
  await stage.until(node, { labels: { tier: 'gold', more: '1' }, managed: ['more'] });
  await stage.removePool('equal');
  await stage.until(node, { labels: { tier: 'gold', more: undefined }, managed: undefined });
});

test('a foreign label that goes makes room for ours', async () => {
  const node = await stage.node('room', { tier: 'foreign' });
  await stage.pool('room', { tier: 'ours' });
  await stage.settled();
  await stage.until(node, { labels: { tier: 'foreign' }, managed: undefined });
  await stage.edit(node, { labels: { tier: null } });
  await stage.until(node, { labels: { tier: 'ours' }, managed: ['tier'] });
});

test('a set that turns to another pool takes its labels along', async () => {
  const [first, second] = [await stage.node('turn'), await stage.node('Turn_2')];
  await stage.pool('turn', { tier: 'turn' });
  await stage.until(first, { labels: { tier: 'turn' }, managed: ['tier'] });
  await stage.api.patch(`${poolsPath()}/turn`, { spec: { pool: 'Turn_2' } });
  await stage.until(first, { labels: { tier: undefined }, managed: undefined });
  await stage.until(second, { labels: { tier: 'turn' }, managed: ['tier'] });
});

test('a node that loses its pool loses its labels, by one write', async () => {
  const node = await stage.node('lost');
  await stage.pool('lost', { tier: 'lost' });
  await stage.until(node, { labels: { tier: 'lost' }, managed: ['tier'] });
  const patches = await stage.patchesBy(() => stage.edit(node, { labels: { [POOL]: null } }));
  expect(patches).toEqual({ removals: 1, applies: 0 });
  await stage.until(node, { labels: { tier: undefined }, managed: undefined });
});

test('a deleted annotation costs no label its way out, or to another value', async () => {
  const node = await stage.node('unlisted');
  await stage.pool('unlisted', { tier: '1', more: '1' });
  await stage.until(node, { labels: { tier: '1' }, managed: ['more', 'tier'] });
  await stage.edit(node, { annotations: { [MANAGED]: null } });
  await stage.settled();
  await stage.relabel('unlisted', { tier: '2', more: '1' });
  await stage.states.until(node, 'to have the new value', ({ labels }) => labels['tier'] === '2');
  await stage.removePool('unlisted');
  await stage.until(node, { labels: { tier: undefined, more: undefined }, managed: undefined });
});

test('what upstream wrote is taken over whatever its field manager did', async () => {
  const nodes = [await stage.node('upstream'), await stage.node('upstream')];
  const [patched = '', put = ''] = nodes;
  const labels = { tier: 'old', same: '1', gone: '1' };
  const annotations = { [MANAGED]: '["tier","gone","same"]' };
  const patches = await stage.patchesBy(() =>
    stage.whileDown(async () => {
      const resource = `/api/v1/nodes/${patched}?fieldManager=nodepool-labels-operator`;
      await stage.api.patch(resource, { metadata: { labels, annotations } });
      await stage.edit(put, { labels, annotations }, 'main');
      await stage.pool('upstream', { tier: 'new', same: '1' });
    }),
  );
  for (const node of nodes) {
    await stage.until(node, { labels: { tier: 'new', same: '1', gone: undefined }, managed: ['same', 'tier'] });
  }
  // One of the removals was by upstream itself.
  expect(patches).toEqual({ removals: 3, applies: 2 });
});

test('what admission wrote without a field manager is ours', async () => {
  const { controlPlane } = stage.cluster;
  const policy = path.resolve(import.meta.dirname, '../../../deploy/policies/pool-labels.yaml');
  await stage.pool('admitted', { tier: 'admitted', more: '1' });
  await controlPlane.kubectl(['apply', '-f', policy]);
  const rehearsal = { metadata: { name: 'rehearsal', labels: { [POOL]: 'admitted' } } };
  await waitFor('admission', async () => {
    const { metadata } = await stage.api.post('/api/v1/nodes?dryRun=All', rehearsal);
    return metadata.labels?.['tier'] === 'admitted';
  });
  const metadata = { name: 'admitted', labels: { [POOL]: 'admitted' } };
  const created = await stage.api.post('/api/v1/nodes', { metadata });
  expect(created.metadata.labels).toMatchObject({ tier: 'admitted', more: '1' });
  expect(JSON.stringify(created.metadata['managedFields'])).not.toContain('f:tier');
  await stage.relabel('admitted', { tier: 'changed' });
  await stage.until('admitted', { labels: { tier: 'changed', more: undefined }, managed: ['tier'] });
  await stage.removePool('admitted');
  await stage.until('admitted', { labels: { tier: undefined }, managed: undefined });
  await controlPlane.kubectl(['delete', '-f', policy]);
});

test('changes while no coordinator ran are applied afterwards', async () => {
  const nodes = [await stage.node('down-gone'), await stage.node('down-changed'), await stage.node('down-moved')];
  const [gone = '', changed = '', moved = ''] = nodes;
  for (const pool of ['down-gone', 'down-changed', 'down-moved']) await stage.pool(pool, { tier: pool, [pool]: '1' });
  for (const node of nodes) await stage.states.until(node, 'to be labelled', ({ labels }) => 'tier' in labels);
  await stage.whileDown(async () => {
    await stage.removePool('down-gone');
    await stage.relabel('down-changed', { tier: 'other' });
    await stage.edit(moved, { labels: { [POOL]: 'down-changed' } });
  });
  await stage.until(gone, { labels: { tier: undefined, 'down-gone': undefined }, managed: undefined });
  await stage.until(changed, { labels: { tier: 'other', 'down-changed': undefined }, managed: ['tier'] });
  await stage.until(moved, { labels: { tier: 'other', 'down-moved': undefined }, managed: ['tier'] });
});

test('a failover writes no node', async () => {
  await stage.rig.addCoordinator();
  const standby = await waitFor('a standby', async () => {
    for (const each of stage.rig.coordinators) if (!(await each.leads())) return each;
    return undefined;
  });
  await standby.ready();
  const patches = await stage.patchesBy(async () => {
    await stage.rig.endCoordinator(await stage.rig.leader(), 'SIGTERM');
    expect(await stage.rig.leader()).toBe(standby);
  });
  expect(patches).toEqual(NOTHING);
});

/** What the coordinator writes to Nodes must fulfill the expression. */
function startRefusing(expression: string) {
  const { controlPlane, coordinatorKubeconfig: kubeconfig } = stage.cluster;
  // This one passes the fence, and tells when the policy is in force.
  const isProbe = `object.metadata.?labels[?'${WS_DAEMON_READY}'].orValue('') == 'probe'`;
  return startPolicy(
    { controlPlane, kubeconfig },
    {
      reason: 'Forbidden',
      expression: `!(${isProbe}) && (${expression})`,
      message: 'not this',
      refused: { labels: { [WS_DAEMON_READY]: 'probe' } },
    },
  );
}

test('a label that a policy refuses is not listed, and holds up no other', async () => {
  const policy = await startRefusing("!('denied' in object.metadata.labels)");
  const node = await stage.node('policy');
  await stage.pool('policy', { denied: '1', fine: '1' });
  await stage.until(node, { labels: { denied: undefined, fine: '1' }, managed: ['fine'] });
  await stage.edit(node, { labels: { denied: 'theirs' } });
  await policy.remove();
  await stage.settled();
  await stage.until(node, { labels: { denied: 'theirs', fine: '1' }, managed: ['fine'] });
});

async function untilSetAside(node: string, key: string): Promise<void> {
  const leader = await stage.rig.leader();
  await waitFor(`${key} to be skipped, and nothing to be left to write`, async () => {
    const { keys, pending } = await leader.explain(node);
    return !pending && keys.some((each) => each.key === key && each.skipped?.cause === 'denied');
  });
}

test('a value that a policy refuses leaves the one before where it is', async () => {
  const node = await stage.node('refined');
  await stage.pool('refined', { tier: 'gold' });
  await stage.until(node, { labels: { tier: 'gold' }, managed: ['tier'] });
  const policy = await startRefusing("object.metadata.?labels[?'tier'].orValue('') != 'silver'");
  const since = stage.states.mark(node);
  await stage.relabel('refined', { tier: 'silver' });
  await untilSetAside(node, 'tier');
  await stage.settled();
  expect(since().map(({ labels }) => labels['tier'])).toEqual(['gold']);
  await policy.remove();
  await stage.until(node, { labels: { tier: 'silver' }, managed: ['tier'] }, 25_000);
});

test('a key that a policy refuses, listed or not, leaves the list of the others where it is', async () => {
  const node = await stage.node('extended');
  await stage.pool('extended', { tier: 'gold' });
  await stage.until(node, { labels: { tier: 'gold' }, managed: ['tier'] });
  const list = `object.metadata.?annotations[?'${MANAGED}'].orValue('')`;
  const policy = await startRefusing(`!('late' in object.metadata.labels) && !${list}.contains('"late"')`);
  const since = stage.states.mark(node);
  await stage.relabel('extended', { tier: 'gold', late: '1' });
  await untilSetAside(node, 'late');
  await stage.settled();
  expect(since().map(({ annotations }) => annotations[MANAGED])).toEqual(['["tier"]']);
  await stage.edit(node, { labels: { tier: null } });
  await stage.until(node, { labels: { tier: 'gold', late: undefined }, managed: ['tier'] });
  await policy.remove();
  await stage.relabel('extended', { tier: 'gold', late: '2' });
  await stage.until(node, { labels: { tier: 'gold', late: '2' }, managed: ['late', 'tier'] });
});

test('a label that another policy wrote without a field manager survives the set', async () => {
  const labels = `Object{metadata: Object.metadata{labels: {'tier': 'gold'}}}`;
  const name = 'others-labels';
  const policy = {
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'Never',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] }],
    },
    matchConditions: [{ name: 'one-node', expression: `object.metadata.name == '${name}'` }],
    mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: labels } }],
  };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const items = [
    { apiVersion, kind: 'MutatingAdmissionPolicy', metadata: { name }, spec: policy },
    { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata: { name }, spec: { policyName: name } },
  ];
  await applyManifest(stage.cluster.controlPlane, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const node = { metadata: { name, labels: { [POOL]: 'others' } } };
  await waitFor('the policy', async () => {
    const { metadata } = await stage.api.post('/api/v1/nodes?dryRun=All', node);
    return metadata.labels?.['tier'] === 'gold';
  });
  await stage.pool('others', { tier: 'gold', more: '1' });
  await stage.api.post('/api/v1/nodes', node);
  await stage.until(name, { labels: { tier: 'gold', more: '1' }, managed: ['more'] });
  await stage.removePool('others');
  await stage.until(name, { labels: { more: undefined }, managed: undefined });
  await stage.settled();
  await stage.until(name, { labels: { tier: 'gold', more: undefined }, managed: undefined });
});

test('more labels than go at once all go', async () => {
  const labels = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`many-${index}`, String(index)]));
  const node = await stage.node('many');
  const { removals } = await stage.patchesBy(() =>
    stage.whileDown(() =>
      stage.edit(node, { labels, annotations: { [MANAGED]: JSON.stringify(Object.keys(labels)) } }),
    ),
  );
  await stage.until(node, { labels: { 'many-0': undefined }, managed: undefined });
  const left = Object.keys((await stage.read(node)).metadata.labels ?? {});
  expect(left.filter((key) => key.startsWith('many-'))).toEqual([]);
  expect(removals).toBe(Math.ceil(1200 / AT_ONCE));
});

test('while the sets cannot be listed, no label goes', async () => {
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/rollcall-coordinator';
  const { rules } = await stage.api.get<KubeObject & { rules: { apiGroups: string[] }[] }>(role);
  const held = async (node: string, change: Parameters<PoolStage['edit']>[1]) => {
    await stage.edit(node, { ...change, annotations: { [SCALE_DOWN_HOLD]: 'true', ...change.annotations } });
    await stage.states.until(node, 'to be held', ({ annotations }) => annotations[SCALE_DOWN_DISABLED] === 'true');
  };
  const [fresh, unlisted] = [await stage.node('unseen'), await stage.node('unseen')];
  await stage.pool('unseen', { tier: '1' });
  for (const node of [fresh, unlisted]) await stage.until(node, { labels: { tier: '1' }, managed: ['tier'] });
  await stage.api.patch(role, { rules: rules.filter(({ apiGroups }) => !apiGroups.includes('labels.banzaicloud.io')) });
  await stage.cluster.controlPlane.killApiServer();
  await stage.cluster.controlPlane.restartApiServer();
  const leader = await stage.rig.leader();
  await waitFor('the pools to be lost', () =>
    leader.logs.some(({ resource, msg }) => resource === 'nodepoollabelsets' && msg === 'Failed to list or watch'),
  );
  // Admission would write this once it knows the pool's new label.
  await held(fresh, { labels: { news: '1' }, annotations: { [MANAGED]: '["news","tier"]' } });
  await stage.until(fresh, { labels: { tier: '1', news: '1' }, managed: ['news', 'tier'] });
  await stage.whileDown(() => stage.edit(unlisted, { annotations: { [MANAGED]: null } }));
  await held(unlisted, {});
  await stage.until(unlisted, { labels: { tier: '1' }, managed: undefined });
  await stage.api.patch(role, { rules });
  await stage.until(fresh, { labels: { tier: '1', news: undefined }, managed: ['tier'] });
  await stage.until(unlisted, { labels: { tier: '1' }, managed: ['tier'] });
});

test('a node that gets another pool loses the labels of the one before, whatever label named that', async () => {
  const GKE = 'cloud.google.com/gke-nodepool';
  await stage.pool('first-pool', { tier: 'first', size: 'xl' });
  await stage.pool('second-pool', { tier: 'second' });
  const node = await stage.node(undefined, { [GKE]: 'first-pool' });
  await stage.until(node, { labels: { tier: 'first', size: 'xl' }, managed: ['size', 'tier'] });
  await stage.edit(node, { labels: { [POOL]: 'second-pool' } });
  await stage.until(node, { labels: { tier: 'second', size: undefined }, managed: ['tier'] });
});

test('a dry run writes neither nodes nor status', async () => {
  await stage.settled();
  const node = await stage.node('dry');
  await stage.whileDown(() => stage.pool('dry', { tier: 'dry', 'k8s.io/x': '1' }), ['--dry-run']);
  const leader = await stage.rig.leader();
  await waitFor('the dry run', () => leader.metric('rollcall_coordinator_patches_total', { outcome: 'dry-run' }));
  await sleep(1200);
  await stage.until(node, { labels: { tier: undefined }, managed: undefined });
  // What every object has before a coordinator wrote its status.
  expect(await stage.readPool('dry')).toMatchObject({ status: { conditions: [{ reason: 'Pending' }] } });
  await stage.whileDown(async () => {});
  await stage.until(node, { labels: { tier: 'dry' }, managed: ['tier'] });
});

test('pruning removes the listed keys and the list, no matter who wrote them last, and nothing else', async () => {
  const node = await stage.node('pruned', { theirs: '1', shared: '1' });
  await stage.pool('pruned', { tier: '1', edited: '1', shared: '1', theirs: '2' });
  await stage.until(node, { labels: { tier: '1', edited: '1', theirs: '1' }, managed: ['edited', 'tier'] });
  const leader = await stage.rig.leader();
  await stage.rig.endCoordinator(leader, 'SIGTERM');
  await stage.edit(node, {
    labels: { edited: 'by-hand' },
    annotations: { [MANAGED]: '["edited","tier","agentpool"]' },
  });
  await stage.edit(node, { labels: { agentpool: 'stays' } });
  await stage.rig.prune();
  const gone = { tier: undefined, edited: undefined };
  const labels = { ...gone, theirs: '1', shared: '1', agentpool: 'stays', [POOL]: 'pruned' };
  await stage.until(node, { labels, managed: undefined });
  const left = await stage.api.list('/api/v1/nodes');
  expect(left.filter(({ metadata }) => metadata.annotations?.[MANAGED] !== undefined)).toEqual([]);
});
