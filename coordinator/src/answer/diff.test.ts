import { Slices } from '@rollcall/common/slices.ts';
import { describe, expect, test } from 'vitest';
import { stage } from '../controller/node-controller.test-fixtures.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import type { KubeClient, KubeRequest } from '../kube/client.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { listPoolLabels } from '../state/fleet.test-fixtures.ts';
import type { ObservedPoolLabelSet } from '../state/pool-label-sets.ts';
import { stage as catalogStage, nodeService } from '../state/services/service-registry.test-fixtures.ts';
import { type DiffOptions, diff } from './diff.ts';

const DRIVER = { name: 'registered', csiNode: { driver: 'csi.test' } };
const PORT = { name: 'port', tcp: { port: 1 } };
const POOL = 'example.com/pool';

const set = (name: string, labels: Record<string, string>, metadata: object = {}) => ({
  kind: 'NodePoolLabelSet',
  metadata: { name, ...metadata },
  spec: { pool: 'gold', labels },
});
const SET: ObservedPoolLabelSet = {
  kind: 'NodePoolLabelSet',
  ...{ uid: 'u', name: 'gold', namespace: 'pools', generation: 1, createdAt: '2025-01-01T00:00:00Z', pool: 'gold' },
  ...{ labels: { tier: '1', zone: 'a' }, status: undefined },
};

/** A fleet with the set of the pool `gold`; `pods` are those that the API server has. */
function fleetOf(pods: object[] = []) {
  const builtIn = serviceOf();
  const { serviceRegistry } = catalogStage([builtIn]);
  const { queries, options: labelerOptions, clock, fleet } = stage({ services: () => serviceRegistry.services() });
  listPoolLabels(fleet, [{ ...SET }]);
  const requests: KubeRequest[] = [];
  const client = {
    request: async (request: KubeRequest) => {
      requests.push(request);
      return { items: pods };
    },
  } as unknown as KubeClient;
  const config = {
    ...{ poolNamespace: 'pools', evict: true, watchedServices: [builtIn], poolLabels: [POOL] },
    ...{ startupGateRequires: [], forbiddenLabelDomains: [], poolsAllowedPrefixes: [] },
  } as unknown as CoordinatorConfig;
  const options: DiffOptions = {
    config,
    nodes: queries,
    labelerOptions,
    clock,
    serviceRegistry,
    rules: undefined,
    client,
  };
  /** A node of the pool that has the labels of its set, written by rollcall. */
  const addNode = (name: string, pool = 'gold', more: Record<string, string> = {}) => {
    const owned = { tier: '1', zone: 'a', ...more };
    const labels = { [POOL]: pool, ...(pool === 'gold' ? owned : {}) };
    const fields = Object.fromEntries(Object.keys(owned).map((key) => [`f:${key}`, {}]));
    const fieldsV1 = { 'f:metadata': { 'f:labels': fields } };
    const managedFields = [{ manager: 'rollcall', operation: 'Apply' as const, fieldsV1 }];
    const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', labels, managedFields };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
  };
  const ask = (
    objects: object[],
    rules: Record<string, string> = {},
    change: Partial<DiffOptions> = {},
    slices = new Slices(),
  ) => diff({ objects, rules } as Parameters<typeof diff>[0], { ...options, ...change }, slices);
  return { fleet, addNode, ask, requests, config, serviceRegistry };
}

function pod(name: string, nodeSelector: Record<string, string>): object {
  return { metadata: { name, namespace: 'apps', uid: name }, spec: { nodeSelector }, status: { phase: 'Running' } };
}

test('other work gets a turn after each node', async () => {
  const { addNode, ask } = fleetOf();
  for (const name of ['a', 'b', 'other']) addNode(name);
  let turns = 0;
  const slices = Object.assign(new Slices(), {
    pause: async () => {
      turns += 1;
    },
  });
  await ask([], {}, {}, slices);
  expect(turns).toBe(3);
});

describe('a proposed set of a pool', () => {
  test('changes the nodes of that pool, by name, and no others', async () => {
    const { addNode, ask } = fleetOf();
    for (const name of ['b', 'a']) addNode(name);
    addNode('other', 'silver');
    const { looked, problems, notes, nodes, evicts } = await ask([set('gold', { tier: '2', zone: 'a' })]);
    expect([looked, problems, notes, evicts]).toEqual([3, [], [], true]);
    const changes = [expect.objectContaining({ kind: 'label', key: 'tier', from: '1', to: '2' })];
    expect(nodes).toEqual([
      { name: 'a', pool: 'gold', changes, evicted: [] },
      { name: 'b', pool: 'gold', changes, evicted: [] },
    ]);
  });

  test('changes nothing where it is as it was, and what is asked stays a question', async () => {
    const { addNode, ask } = fleetOf();
    addNode('a');
    expect((await ask([set('gold', { tier: '1', zone: 'a' })])).nodes).toEqual([]);
    expect((await ask([set('gold', {})])).nodes).toHaveLength(1);
    expect((await ask([])).nodes).toEqual([]);
  });

  test('of the other kind for the same pool counts for nothing while the older one is there', async () => {
    const { addNode, ask } = fleetOf();
    addNode('a');
    const ours = { ...set('gold', { tier: '2' }), kind: 'NodePoolLabels' };
    expect(await ask([ours])).toMatchObject({ problems: [], nodes: [] });
    const elsewhere = { ...ours, spec: { pool: 'silver', labels: { tier: '2', 'k8s.io/x': '1' } } };
    const { problems } = await ask([elsewhere, { ...ours, metadata: { name: 'gold', namespace: 'apps' } }]);
    expect(problems).toEqual([
      'NodePoolLabels apps/gold is ignored: rollcall reads only those in pools',
      'NodePoolLabels gold: k8s.io/x would be refused, since it is in the reserved domain k8s.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
    ]);
  });

  test('of another namespace is ignored, with a word', async () => {
    const { addNode, ask } = fleetOf();
    addNode('a');
    const { problems, nodes } = await ask([set('gold', {}, { namespace: 'apps' }), set('gold', { tier: '2' })]);
    expect(problems).toEqual(['NodePoolLabelSet apps/gold is ignored: rollcall reads only those in pools']);
    expect(nodes).toHaveLength(1);
    expect((await ask([set('gold', {}, { namespace: 'pools' })])).nodes).toHaveLength(1);
  });

  test('with keys that would be refused has a problem for each, and sets the others', async () => {
    const { addNode, ask } = fleetOf();
    addNode('a');
    const labels = { tier: '1', zone: 'a', team: 'b', 'kubernetes.io/bad': 'x', 'bad key': 'x', odd: 'a b' };
    const { problems, nodes } = await ask([set('gold', labels)]);
    expect(problems).toEqual([
      'NodePoolLabelSet gold: bad key would be refused, since it is not a valid label key',
      'NodePoolLabelSet gold: kubernetes.io/bad would be refused, since it is in the reserved domain kubernetes.io (a rule can set it, with its prefix in rules.allowedPrefixes)',
      'NodePoolLabelSet gold: odd would be refused, since it has an invalid label value',
    ]);
    expect(nodes.flatMap(({ changes }) => changes.map(({ key }) => key))).toEqual(['team']);
  });

  test('that is newer than the one of its pool does not count', async () => {
    const { addNode, ask } = fleetOf();
    addNode('a');
    expect((await ask([set('another', { tier: '2' })])).nodes).toEqual([]);
  });
});

describe('a proposed service', () => {
  const service = (name: string, spec: object) => ({ kind: 'NodeService', metadata: { name }, spec });

  test.each<[string, object, string]>([
    ['condition', { condition: { type: 'example.com/Kernel' } }, 'check: the conditions of the node are not known yet'],
    [
      'resource',
      { resource: { name: 'example.com/gpu' } },
      'check: how much of example.com/gpu the node has is unknown',
    ],
    ['dra', { dra: { driver: 'gpu.example.com' } }, 'check: the ResourceSlices have not been listed yet'],
    ['csiNode', { csiNode: { driver: 'csi.test' } }, 'check: the CSINodes have not been listed yet'],
    [
      'pods',
      { pods: { namespace: 'apps', selector: { matchLabels: { app: 'a' } } } },
      'check: the pods in apps have not been listed yet',
    ],
    [
      'anyOf',
      { anyOf: [{ name: 'a', condition: { type: 'example.com/Kernel' } }] },
      'check: the conditions of the node are not known yet',
    ],
  ])('of which a check is not known yet has a note with the reason: %s', async (_kind, check, reason) => {
    const { addNode, ask } = fleetOf();
    for (const name of ['a', 'b']) addNode(name);
    const proposed = service('new', { checks: [{ name: 'check', ...check }] });
    const { nodes, notes, problems } = await ask([proposed]);
    expect({ nodes, problems }).toEqual({ nodes: [], problems: [] });
    expect(notes).toEqual([
      `Whether new would be ready on 2 of 2 nodes is not known yet, and nothing changes there until it is (a: ${reason})`,
    ]);
  });

  test('that is known not to be ready has no note', async () => {
    const { fleet, ask } = fleetOf();
    const metadata = { name: 'a', uid: 'a', resourceVersion: '1' };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata, spec: {}, status: { conditions: [] } }));
    const check = { name: 'check', condition: { type: 'example.com/Kernel', missing: 'Fail' } };
    expect((await ask([service('new', { checks: [check] })])).notes).toEqual([]);
  });

  test('that selects no node has a note', async () => {
    const { addNode, ask } = fleetOf();
    addNode('a');
    const nodeSelector = { matchLabels: { tier: 'none' } };
    expect((await ask([service('new', { nodeSelector, checks: [DRIVER] })])).notes).toEqual([
      'The nodeSelector of new selects no node: no node meets tier=none, the nodes have tier = 1',
    ]);
  });

  test('that would not be accepted is a problem', async () => {
    const { ask } = fleetOf();
    const { problems, notes } = await ask([service('bad', { checks: [PORT], publish: { label: 'kubernetes.io/x' } })]);
    expect(problems).toEqual([expect.stringMatching(/^NodeService bad would not be accepted \(\w+\): ./)]);
    expect(notes).toEqual([]);
  });
});

describe('what else is proposed', () => {
  test('is a problem where its kind is unknown', async () => {
    const { ask } = fleetOf();
    const { problems } = await ask([
      { kind: 'Secret', metadata: { name: 's' } },
      { kind: 'NodeService' },
      { spec: {} },
    ]);
    expect(problems).toEqual([
      'Secret s is ignored: diff reads only NodeServices, NodePoolLabels, NodePoolLabelSets and rule files',
      'A NodeService has no name',
      'A undefined has no name',
    ]);
  });

  test('as rule files is looked at where there is a label directory', async () => {
    const { ask } = fleetOf();
    const files = { 'example.com/a': 'x' };
    expect((await ask([], files)).problems).toEqual(['Rule files are ignored: --label-dir is not set']);
    expect((await ask([])).problems).toEqual([]);
    const asked: unknown[] = [];
    const rules = {
      ruleSet: undefined,
      propose: (given: unknown) => {
        asked.push(given);
        return { ruleSet: undefined, problems: [{ file: 'a', problem: 'is not a rule' }] };
      },
    } as unknown as RuleDirectory;
    expect((await ask([], files, { rules })).problems).toEqual(['a: is not a rule']);
    expect((await ask([], {}, { rules })).problems).toEqual([]);
    expect(asked).toEqual([files]);
  });
});

describe('pods that would be evicted', () => {
  const pods = [pod('fits', { zone: 'a' }), pod('both', { tier: '1', zone: 'a' }), pod('never', { tier: '3' })];

  test('are named, with the labels that they would miss', async () => {
    const { addNode, ask, requests } = fleetOf(pods);
    addNode('a');
    const [node] = (await ask([set('gold', { zone: 'a' })])).nodes;
    expect(node?.evicted).toEqual([{ pod: 'apps/both', misses: ['tier=1'] }]);
    expect(requests).toEqual([
      { method: 'GET', path: '/api/v1/pods', query: { fieldSelector: 'spec.nodeName=a' }, timeoutMs: 5000 },
    ]);
  });

  test('are named as well where a label gets another value', async () => {
    const { addNode, ask } = fleetOf(pods);
    addNode('a');
    const [node] = (await ask([set('gold', { tier: '3', zone: 'a' })])).nodes;
    expect(node?.evicted).toEqual([{ pod: 'apps/both', misses: ['tier=1'] }]);
  });

  test.each([
    [true, [{ pod: 'apps/needs', misses: ['example.com/ready=true'] }]],
    [false, []],
  ])('for a service are named as far as that evicts (%s)', async (evictReadiness, evicted) => {
    const { addNode, ask, serviceRegistry, config } = fleetOf([pod('needs', { 'example.com/ready': 'true' })]);
    const service = (label: string) => ({ checks: [DRIVER], publish: { label } });
    serviceRegistry.all.handlers().onReplace([nodeService('csi', service('example.com/ready'))]);
    addNode('a', 'gold', { 'example.com/ready': 'true' });
    const proposed = { kind: 'NodeService', metadata: { name: 'csi' }, spec: service('example.com/another') };
    const [node] = (await ask([proposed], {}, { config: { ...config, evictReadiness } })).nodes;
    expect(node).toMatchObject({ changes: [{ key: 'example.com/ready', from: 'true' }], evicted });
  });

  test('are looked for only where a label goes', async () => {
    const { addNode, ask, requests } = fleetOf(pods);
    addNode('a');
    await ask([set('gold', { tier: '1', zone: 'a', more: 'x' })]);
    expect(requests).toEqual([]);
  });

  test('are not looked for where none is evicted', async () => {
    const { addNode, ask, requests, config } = fleetOf(pods);
    addNode('a');
    const { nodes, evicts } = await ask([set('gold', {})], {}, { config: { ...config, evict: false } });
    expect([nodes.length, evicts, requests]).toEqual([1, false, []]);
  });

  test('are looked for on 200 nodes at most, and that is said', async () => {
    const { addNode, ask, requests } = fleetOf(pods);
    for (let n = 0; n < 200; n += 1) addNode(`n${n}`);
    expect((await ask([set('gold', {})])).notes).toEqual([]);
    expect(requests.splice(0)).toHaveLength(200);
    addNode('one-more');
    expect((await ask([set('gold', {})])).notes).toEqual([
      'The pods of only 200 of the 201 nodes that would lose a label were checked',
    ]);
    expect(requests).toHaveLength(200);
  });
});
