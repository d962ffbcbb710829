import { describe, expect, test } from 'vitest';
import { snapshot } from '../../decide/readiness/readiness.test-fixtures.ts';
import type { ServiceTally } from '../../decide/service-tally.ts';
import { podsCheck, probeCheck, serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import type { ServiceRegistry } from '../../state/services/service-registry.ts';
import { nodeSummary, plannedNodes, serviceDocuments } from './fleet-documents.ts';
import type { NodeQueries } from './node-queries.ts';

const _SOME = { op: '>=', bound: [2] } as const;

/** Judgements of services of mode Startup with this readiness. */
function judgementsOf({ readiness = new Map() }: { readiness?: ReadonlyMap<string, object> }) {
  const origin = { kind: 'object', uid: 'x', generation: 1, createdAtMs: 0 } as const;
  return [...readiness].map(([name, shown]) => ({ service: serviceOf(name, { mode: 'Startup', origin }), shown }));
}

describe('a node in a line', () => {
  function summaryOf(evaluated: object, isPending = false) {
    return nodeSummary(
      {
        decide: (name: string) =>
          name === 'n'
            ? { evaluated: { ...snapshot(), readiness: new Map(), ...evaluated }, judgements: judgementsOf(evaluated) }
            : undefined,
        planOf: () => (isPending ? {} : undefined),
        skippedOn: (name: string) => [
          { key: `contested of ${name}`, cause: 'contested' },
          { key: `skipped of ${name}`, cause: 'denied' },
        ],
      } as unknown as NodeQueries,
      'n',
    );
  }

  test('has what is known, and no field of what is not', () => {
    expect(summaryOf({})).toEqual({
      ...{ name: 'n', agent: 'fresh', services: {}, heldBack: [] },
      ...{ contested: ['contested of n'], skipped: ['skipped of n'], pending: false },
    });
    const readiness = new Map<string, object>([
      ['a', { state: 'ready' }],
      ['b', { state: 'not-ready', damping: { untilMs: 1, falls: 4 } }],
    ]);
    const freshness = { state: 'silent', guard: 'fleet' };
    expect(summaryOf({ pool: 'gold', agentVersion: '1.2.3', freshness, readiness }, true)).toMatchObject({
      ...{ pool: 'gold', agentVersion: '1.2.3', agent: 'silent', guard: 'fleet' },
      ...{ services: { a: 'ready', b: 'not-ready' }, heldBack: ['b'], pending: true },
    });
    expect(summaryOf({ freshness: { state: 'silent' } })).not.toHaveProperty('guard');
  });

  test('has the conditions about its lifecycle, and what it waits for since its creation, with the checks that fail', () => {
    const checks = [
      { name: 'pod', state: 'ready' },
      { name: 'port', state: 'not-ready' },
      { name: 'file', state: 'unknown' },
    ];
    const readiness = new Map<string, object>([
      ['csi', { state: 'not-ready', checks }],
      ['cni', { state: 'unknown' }],
      ['dns', { state: 'ready' }],
    ]);
    const conditions = [{ type: 'Drained', status: 'True' }];
    expect(summaryOf({ readiness, conditions, createdAtMs: 0 })).toMatchObject({
      lifecycle: ['Drained'],
      starting: [
        { service: 'csi', checks: ['port', 'file'], since: '1970-01-01T00:00:00Z' },
        { service: 'cni', checks: [], since: '1970-01-01T00:00:00Z' },
      ],
    });
  });

  test('is none for a node that is not there', () => {
    expect(nodeSummary({ decide: () => undefined } as unknown as NodeQueries, 'gone')).toBeUndefined();
  });
});

describe('the plan', () => {
  const plan = { node: { name: 'n', uid: 'u', resourceVersion: '1' }, withdrawal: { labels: ['a'], annotations: [] } };
  const facts = {
    plan,
    node: { labels: { a: '1' }, annotations: {}, owned: { labels: new Set(), annotations: new Set() } },
    intent: new Map([['label:a', { reason: 'it is not ready' }]]),
  };

  test('has the nodes to which something is to be written, and a pause for each other', () => {
    const nodes = {
      names: () => ['idle', 'n', 'gone'],
      decide: (name: string) => (name === 'gone' ? undefined : { ...facts, plan: name === 'idle' ? undefined : plan }),
      planOf: (evaluation: { plan: unknown }) => evaluation.plan,
    } as unknown as NodeQueries;
    const reason = 'it is not ready';
    expect([...plannedNodes(nodes)]).toEqual([
      undefined,
      {
        name: 'n',
        changes: [{ kind: 'label', key: 'a', from: '1', to: undefined, reason }],
        withdraw: plan.withdrawal,
        apply: undefined,
        taints: undefined,
        conditions: undefined,
        reasons: { 'label:a': reason },
      },
      undefined,
    ]);
  });
});

describe('services', () => {
  const tally = {
    count: (name: string) => ({ ready: name.length, 'not-ready': 2, unknown: 3 }),
    commonest: () => undefined,
  } as unknown as ServiceTally;

  function documentsOf(services: Service[], refused: { service: Service; problem: object | undefined }[] = []) {
    const serviceRegistry = {
      services: () => services,
      refusalOfBuiltIn: () => undefined,
      objects: () => refused,
      refusalOf: (object: never) => object['problem'],
    };
    return serviceDocuments(serviceRegistry as unknown as ServiceRegistry, tally, () => []);
  }

  test('are shown with what they publish, what tells whether they are ready, and on how many nodes they are', () => {
    expect(documentsOf([serviceOf('ab')])).toEqual([
      {
        ...{ name: 'ab', origin: 'built-in', accepted: true, mode: 'Continuous' },
        publish: { label: 'gitpod.io/ab_ready_ns_default', taint: 'gitpod.io/ab-not-ready' },
        checks: [
          { name: 'pod', what: 'a pod in default on the node is Ready and not terminating' },
          { name: 'probe', what: "the agent's probe succeeds: tcp, port 8080" },
        ],
        nodes: { ready: 2, notReady: 2, unknown: 3 },
      },
    ]);
  });

  test('that ask for other things say so', () => {
    const service: Service = {
      name: 'a',
      checks: [
        podsCheck({ namespace: 'apps', selector: {}, optional: true }),
        probeCheck('a/probe', { spec: { kind: 'csi' } }),
        { name: 'registered', id: 's/registered', kind: 'csiNode', settings: { driver: 'csi.test' } },
        { name: 'gpus', id: 's/gpus', kind: 'device', settings: { name: 'gpu', minCount: 2 } },
        {
          name: 'offered',
          kind: 'anyOf',
          checks: [
            { name: 'plugin', id: 's/plugin', kind: 'resource', settings: { name: 'x/gpu', min: 2 } },
            { name: 'dra', id: 's/dra', kind: 'dra', settings: { driver: 'gpu.x', min: 2 } },
          ],
        },
      ],
      mode: 'Startup',
      publish: { condition: 'example.com/Ready' },
      origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
    };
    expect(documentsOf([service])).toMatchObject([
      {
        origin: 'NodeService',
        checks: [
          { name: 'pod', what: 'a pod in apps on the node shows where the service is' },
          { name: 'probe', what: "the agent's probe succeeds: csi" },
          { name: 'registered', what: 'the CSINode lists csi.test' },
          { name: 'gpus', what: 'the agent sees gpu >= 2' },
          {
            name: 'offered',
            what: 'the node has x/gpu >= 2 allocatable, or ResourceSlices of the node have gpu.x >= 2 devices',
          },
        ],
      },
    ]);
    expect(documentsOf([service])[0]?.publish).toEqual({ condition: 'example.com/Ready' });
  });

  test('that are refused come last, with the reason', () => {
    const problem = { reason: 'KeyTaken', message: 'm' };
    const objects = [
      { service: serviceOf('a'), problem: undefined },
      { service: serviceOf('b'), problem },
    ];
    const documents = documentsOf([serviceOf('a')], objects);
    expect(documents.map(({ name, accepted, problem: of }) => [name, accepted, of])).toEqual([
      ['a', true, undefined],
      ['b', false, problem],
    ]);
  });
});
