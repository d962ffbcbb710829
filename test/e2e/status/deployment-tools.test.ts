// What those who deploy conclude from each kind of object: Flux and Helm 4 by kstatus, Argo CD by its health check, and
// kubectl wait. In every kind, Ready says whether the object is in force, and another condition speaks of the nodes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { createNode } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type Conclusion, conclusionsOf, healthChecks } from '../../deployers/deployers.ts';
import { type EmbeddedRig, startEmbeddedRig, WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { NODE_HOLDS } from '../holds/hold-stage.ts';
import { applyCrd, nodePoolLabels, POOL, poolLabelSet, poolLabelsPath, poolsPath } from '../pools/pool-cluster.ts';
import { NODE_SERVICES, nodeService } from '../services/node-services.ts';

type Status = { observedGeneration?: number; conditions?: { type: string; status: string; reason: string }[] };
type Observed = KubeObject & { status?: Status };

const NO_POD = [{ name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { app: 'none' } } } }];
const hold = (name: string, more: object = {}) => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'NodeHold',
  metadata: { name },
  spec: { pods: { namespace: 'default', selector: { matchLabels: { app: 'none' } } }, ...more },
});

type Case = { path: string; object: KubeObject; inForce: boolean; nodes?: string };

/** Each kind in force, with nodes as they should be and not, and refused. `nodes`: what the condition about nodes says. */
const CASES: Readonly<Record<string, Case>> = {
  'a NodeService that is ready on no node': {
    path: NODE_SERVICES,
    object: nodeService('down', { checks: NO_POD }),
    inForce: true,
    nodes: 'NodesReady False NodesNotReady',
  },
  'a NodeService that selects no node': {
    path: NODE_SERVICES,
    object: nodeService('nowhere', { nodeSelector: { matchLabels: { a: 'b' } }, checks: NO_POD }),
    inForce: true,
    nodes: 'NodesReady Unknown NoNodes',
  },
  'a NodeService whose key is that of another': {
    path: NODE_SERVICES,
    object: nodeService('refused', { checks: NO_POD, publish: { label: WS_DAEMON_READY } }),
    inForce: false,
    nodes: 'NodesReady Unknown NotInForce',
  },
  'a NodeHold': { path: NODE_HOLDS, object: hold('held'), inForce: true },
  'a NodeHold with a field of a later version': {
    path: NODE_HOLDS,
    object: hold('refused', { until: 'noon' }),
    inForce: false,
  },
  ...poolCases('NodePoolLabels', poolLabelsPath(), nodePoolLabels),
  ...poolCases('NodePoolLabelSet', poolsPath(), poolLabelSet),
};

function poolCases(kind: string, path: string, make: typeof poolLabelSet): Record<string, Case> {
  const of = (state: string) => `${kind.toLowerCase()}-${state}`;
  const at = (state: string, labels: object, rest: Omit<Case, 'path' | 'object'>) => ({
    path,
    object: make(of(state), labels),
    ...rest,
  });
  return {
    [`a ${kind} with a node in conflict`]: at(
      'conflict',
      { tier: 'gold' },
      {
        inForce: true,
        nodes: 'NodesLabelled False Conflict',
      },
    ),
    [`a ${kind} of a pool without nodes`]: at(
      'none',
      { tier: 'gold' },
      {
        inForce: true,
        nodes: 'NodesLabelled Unknown NoNodes',
      },
    ),
    [`a ${kind} of which every key is refused`]: at(
      'all',
      { 'k8s.io/x': 'gold' },
      {
        inForce: false,
        nodes: 'NodesLabelled Unknown NotInForce',
      },
    ),
    [`a ${kind} of which one key is refused`]: at(
      'one',
      { 'k8s.io/x': 'gold', tier: 'gold' },
      {
        inForce: false,
        nodes: 'NodesLabelled True AllLabelled',
      },
    ),
  };
}

let embedded: EmbeddedRig;
let lua: string;
let early: Record<string, Conclusion>;

const pathOf = ({ path, object }: Case) => `${path}/${object.metadata.name}`;

async function conclude(api: ApiClient): Promise<Record<string, Conclusion>> {
  const objects = await Promise.all(Object.values(CASES).map((each) => api.get<Observed>(pathOf(each))));
  const conclusions = await conclusionsOf(objects, lua);
  return Object.fromEntries(Object.keys(CASES).map((name, index) => [name, conclusions[index] as Conclusion]));
}

beforeAll(async () => {
  lua = Object.values(await healthChecks())[0] ?? '';
  embedded = await startEmbeddedRig({
    nodes: 0,
    async prepare(controlPlane) {
      const { api } = controlPlane;
      await applyCrd({ controlPlane, api });
      const field = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/until';
      const patch = JSON.stringify([{ op: 'add', path: field, value: { type: 'string' } }]);
      await controlPlane.kubectl(['patch', 'crd', 'nodeholds.rollcall.dev', '--type=json', '-p', patch]);
      for (const kind of ['nodepoollabels', 'nodepoollabelset']) {
        await createNode(api, `${kind}-a`, { labels: { [POOL]: `${kind}-conflict`, tier: 'silver' } });
        await createNode(api, `${kind}-b`, { labels: { [POOL]: `${kind}-one` } });
      }
      await waitFor('the field to be served', async () => {
        const tried = await api.post<KubeObject>(`${NODE_HOLDS}?dryRun=All`, hold('try', { until: 'x' }));
        return JSON.stringify(tried).includes('until');
      });
      for (const { path, object } of Object.values(CASES)) await api.post(path, object);
      early = await conclude(api);
    },
  });
}, 300_000);
afterAll(() => embedded?.stop());

const names = Object.keys(CASES);

test.each(names)('%s is under way before a coordinator has read it', (name) => {
  expect(early[name]).toMatchObject({ kstatus: 'InProgress', argo: 'Progressing' });
});

describe('once a coordinator leads', () => {
  let seen: Record<string, Observed>;
  let concluded: Record<string, Conclusion>;
  beforeAll(async () => {
    const { api } = embedded.controlPlane;
    const read = async () => {
      const objects = await Promise.all(Object.values(CASES).map((each) => api.get<Observed>(pathOf(each))));
      seen = Object.fromEntries(names.map((name, index) => [name, objects[index] as Observed]));
      const nodesOf = (name: string) => nodesCondition(seen[name]);
      return names.every(
        (name) => nodesOf(name) === CASES[name]?.nodes && seen[name]?.status?.observedGeneration === 1,
      );
    };
    await waitFor('every status', read, { timeoutMs: 60_000 }).catch((cause: unknown) => {
      throw new Error(
        JSON.stringify(
          names.map((name) => [name, seen[name]?.status]),
          null,
          1,
        ),
        { cause },
      );
    });
    concluded = await conclude(api);
  });

  function nodesCondition(object: Observed | undefined): string | undefined {
    const found = object?.status?.conditions?.find(({ type }) => type.startsWith('Nodes'));
    return found && `${found.type} ${found.status} ${found.reason}`;
  }

  test.each(names)('%s is in force or refused, whatever its nodes are', (name) => {
    const { inForce } = CASES[name] as Case;
    expect(concluded[name]).toMatchObject(
      inForce ? { kstatus: 'Current', argo: 'Healthy' } : { kstatus: 'Failed', argo: 'Degraded' },
    );
    const ready = seen[name]?.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready?.status).toBe(inForce ? 'True' : 'False');
  });

  test('what it was before an edit counts no more, until a coordinator has read the edit', async () => {
    const { rig, controlPlane } = embedded;
    await rig.endCoordinator(await rig.leader(), 'SIGTERM');
    for (const each of Object.values(CASES)) {
      const label = each.path === NODE_HOLDS ? { app: 'other' } : undefined;
      const spec = label ? { pods: { selector: { matchLabels: label } } } : edit(each);
      await controlPlane.api.patch(pathOf(each), { spec });
    }
    const edited = await conclude(controlPlane.api);
    for (const name of names) {
      // What was refused stays refused in the eyes of none.
      expect([name, edited[name]]).toEqual([
        name,
        expect.objectContaining({ kstatus: 'InProgress', argo: 'Progressing' }),
      ]);
    }
  });

  function edit({ path }: Case): object {
    return path === NODE_SERVICES ? { startupDeadline: '10m' } : { labels: { more: '1' } };
  }
});

test('the health check is shipped for every kind that has a status', async () => {
  const checks = await healthChecks();
  expect(Object.keys(checks).toSorted()).toEqual([
    'resource.customizations.health.labels.banzaicloud.io_NodePoolLabelSet',
    'resource.customizations.health.rollcall.dev_NodeHold',
    'resource.customizations.health.rollcall.dev_NodePoolLabels',
    'resource.customizations.health.rollcall.dev_NodeService',
  ]);
  expect(new Set(Object.values(checks)).size).toBe(1);
});
