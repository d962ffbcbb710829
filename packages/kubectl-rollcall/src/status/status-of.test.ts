import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeSummary, ReplicaDocument } from '@rollcall/common/console.ts';
import { describe, expect, test } from 'vitest';
import { type Status, type StatusFinding, statusOf } from './status-of.ts';

const FLEET = { subject: 'agents', of: 'fleet', nodes: 3 } as const;

type Node = Partial<NodeSummary>;

function of(nodes: readonly Node[], replica: Partial<ReplicaDocument> = {}, namespace?: string): Status {
  const named = nodes.map((node, index) => nodeSummary({ name: `node-${index + 1}`, ...node }));
  return statusOf({ replica: replicaDocument(replica), nodes: named }, namespace);
}

describe('the answer', () => {
  test('is that all is well, with the number of nodes', () => {
    expect(of([{}, {}])).toMatchObject({
      holds: true,
      answer: 'The work of rollcall is done (2 nodes).',
      services: { ready: true, answer: 'All services are ready (2 services).' },
      nodes: 2,
      agents: { fresh: 2 },
      agentVersions: { '0.1.0': 2 },
      findings: [],
    });
  });

  test('names warnings beside failures', () => {
    expect(of([{ agent: 'silent' }, { agent: 'absent' }]).answer).toBe(
      'The work of rollcall is NOT done (2 nodes): 1 failure; 1 warning.',
    );
  });

  test('names warnings where all is well otherwise', () => {
    expect(of([{ agent: 'absent' }]).answer).toBe('The work of rollcall is done (1 node); 1 warning.');
  });

  test('of a dry run is that nothing is written', () => {
    expect(of([{}], { dryRun: true }).answer).toBe('This is a dry run (1 node): rollcall writes nothing; 1 warning.');
  });

  test('of a standby is unknown, whatever its nodes are', () => {
    const found = of([{ agent: 'silent', pending: true }], { leading: false, dryRun: true, guards: [FLEET] });
    expect(found.answer).toBe('The state is unknown: this replica does not lead.');
    expect(found.findings).toEqual([
      {
        severity: 'fail',
        about: 'rollcall',
        text: 'The replica that answered does not lead: no leader is known',
        cure: 'leave out --console-url, or pass the one of the leader',
      },
    ]);
  });
});

describe('findings', () => {
  const found = (nodes: readonly Node[], replica?: Partial<ReplicaDocument>) => of(nodes, replica).findings;

  test('of a cluster without nodes', () => {
    expect(found([])).toEqual([
      {
        severity: 'fail',
        about: 'rollcall',
        text: 'The cluster has no nodes',
        cure: 'check that this is the right cluster',
      },
    ]);
    expect(found([], { leading: false })).toHaveLength(1);
  });

  test('of services that nodes wait for since their creation name check and deadline, and nothing else of them', () => {
    const node = (minutes: number, deadline?: string): Node => ({
      services: { csi: 'not-ready', cni: 'not-ready' },
      starting: [
        {
          ...{ service: 'csi', checks: ['socket'], since: `2026-01-01T00:${60 - minutes}:00Z` },
          ...(deadline === undefined ? {} : { deadline }),
        },
      ],
    });
    const now = '2026-01-01T01:00:00Z';
    const nodes = [node(40), node(10, '2026-01-01T01:05:00Z'), node(20, '2026-01-01T00:58:00Z')];
    expect(found(nodes, { now }).map(({ text }) => text)).toEqual([
      'cni is not ready on 3 nodes: node-1, node-2 and node-3',
      'csi was never ready on 3 nodes: node-1 (created 40m ago, check socket), ' +
        'node-2 (created 10m ago, deadline in 5m, check socket) and node-3 (created 20m ago, deadline 2m ago, check socket)',
    ]);
    expect(found(nodes, { now })[1]).toMatchObject({
      severity: 'fail',
      about: 'services',
      cure: 'kubectl rollcall why node/node-1',
    });
    expect(found(nodes, { now, leading: false })).toHaveLength(1);
  });

  test('of a node that is drained leave out what fails there; of one whose maintenance is planned they do not', () => {
    const fails = { services: { csi: 'not-ready' } } as const;
    const starting = [{ service: 'cni', checks: [], since: '2026-01-01T00:00:00Z' }];
    const drained = { ...fails, starting, lifecycle: ['DrainInProgress'] };
    expect(
      found([
        { ...drained, agent: 'silent' },
        { ...drained, agent: 'absent' },
      ]),
    ).toEqual([
      {
        severity: 'warn',
        about: 'rollcall',
        text: 'DrainInProgress is True on 2 nodes: node-1 and node-2; silent agents and services that are not ready there are not listed',
        cure: 'kubectl describe node node-1',
      },
    ]);
    expect(found([{ ...fails, lifecycle: ['MaintenancePlanned'] }]).map(({ text }) => text)).toEqual([
      'csi is not ready on 1 node: node-1',
      'MaintenancePlanned is True on 1 node: node-1',
    ]);
  });

  test('of a missing agent name the namespace that its DaemonSet is in', () => {
    const [missing] = of([{ agent: 'absent' }], {}, 'node-labels').findings;
    expect(missing?.cure).toContain('kubectl -n node-labels describe daemonset rollcall-agent');
  });

  test('of a dry run count the nodes that would be changed, and call none pending', () => {
    expect(found([{ pending: true }, {}, { pending: true }], { dryRun: true })).toEqual([
      {
        severity: 'warn',
        about: 'rollcall',
        text: 'This is a dry run: 2 nodes would be changed',
        cure: 'to write these changes, set coordinator.config.dryRun=false',
      },
    ]);
  });

  test('of each guard that acts, with what helps', () => {
    const guards = [FLEET, { subject: 'configuration', of: 'example.com/tier', nodes: 1 }] as const;
    expect(found([{}], { guards })).toEqual([
      {
        severity: 'fail',
        about: 'rollcall',
        text: 'A guard is active (agents): most agents are silent at once (fleet), so silence removes nothing from 3 nodes',
        cure: 'check the network between nodes and coordinator (port 8443), and the latest rollout',
      },
      {
        severity: 'fail',
        about: 'rollcall',
        text: 'A guard is active (configuration): many nodes would lose example.com/tier at once, because the configuration was changed, so it stays on 1 node for a while',
        cure: 'if the latest change of the configuration was a mistake, undo it',
      },
    ]);
  });

  test.each<[string, Node, Partial<StatusFinding>]>([
    [
      'a silent agent',
      { agent: 'silent' },
      {
        severity: 'fail',
        text: 'The agent is silent on 1 node: node-1',
        cure: 'kubectl get pods -A -o wide --field-selector spec.nodeName=node-1',
      },
    ],
    [
      'a missing agent',
      { agent: 'absent' },
      {
        severity: 'warn',
        text: 'There is no agent on 1 node: node-1',
        cure: 'kubectl -n rollcall describe daemonset rollcall-agent; check its node selector and tolerations',
      },
    ],
    [
      'an agent that was not heard yet',
      { agent: 'unheard' },
      {
        severity: 'fail',
        text: 'The agent has not reported to this leader yet on 1 node: node-1',
        cure: 'wait, since agents report within a minute',
      },
    ],
    [
      'a contested key',
      { contested: ['k'] },
      {
        severity: 'fail',
        text: 'Another writer keeps changing k on 1 node: node-1',
        cure: 'stop the other writer; to see who it is: kubectl rollcall why node/node-1 k',
      },
    ],
    [
      'a key that cannot be written',
      { skipped: ['k'] },
      {
        severity: 'fail',
        text: 'k cannot be written on 1 node: node-1',
        cure: 'to see the owner or the error: kubectl rollcall why node/node-1 k',
      },
    ],
    [
      'a service that is not ready',
      { services: { a: 'not-ready', b: 'ready' } },
      {
        severity: 'fail',
        about: 'services',
        text: 'a is not ready on 1 node: node-1',
        cure: 'kubectl rollcall why node/node-1',
      },
    ],
    [
      'a service that is unknown',
      { services: { c: 'unknown' } },
      {
        severity: 'fail',
        about: 'services',
        text: 'Whether c is ready is unknown on 1 node: node-1',
        cure: 'kubectl rollcall why node/node-1',
      },
    ],
    [
      'a service that is held back',
      { heldBack: ['a'] },
      {
        severity: 'warn',
        about: 'services',
        text: 'a became not ready too often, and is held back on 1 node: node-1',
        cure: 'kubectl rollcall why node/node-1',
      },
    ],
    [
      'a pending write',
      { pending: true },
      {
        severity: 'fail',
        text: '1 node has pending writes: node-1',
        cure: 'wait, or pass --wait; if it lasts, see the log of the coordinator',
      },
    ],
  ])('of %s', (_what, node, finding) => {
    expect(found([node, {}])).toEqual([{ about: 'rollcall', ...finding }]);
  });

  test('of a silent agent say nothing where a guard speaks for it', () => {
    expect(found([{ agent: 'silent', guard: 'fleet' }])).toEqual([]);
  });

  test('of an agent that stops for an update there are none', () => {
    expect(found([{ agent: 'leaving' }])).toEqual([]);
  });

  test('of several nodes name three of them', () => {
    const four = Array.from({ length: 4 }, () => ({ pending: true, contested: ['k'] }));
    expect(found(four).map(({ text }) => text)).toEqual([
      'Another writer keeps changing k on 4 nodes: node-1, node-2, node-3 and 1 more',
      '4 nodes have pending writes: node-1, node-2, node-3 and 1 more',
    ]);
  });

  test('of agents of several versions name the most frequent first, and the namespace', () => {
    const versions = ['0.0.8', '0.0.9', '0.0.9', '0.0.8', '0.0.9'].map((agentVersion) => ({ agentVersion }));
    expect(of(versions, {}, 'elsewhere').findings).toEqual([
      {
        severity: 'warn',
        about: 'rollcall',
        text: 'Agents run 2 versions: 0.0.9 on 3 nodes and 0.0.8 on 2 nodes',
        cure: 'kubectl -n elsewhere rollout status daemonset/rollcall-agent',
      },
    ]);
  });
});

describe('whether services are ready', () => {
  const services = (...nodes: Node[]) => of(nodes).services;

  test.each<[string, Node]>([
    ['not ready', { services: { a: 'not-ready' } }],
    ['unknown', { services: { a: 'unknown' } }],
    ['unknown, because the agent was not heard yet', { services: { a: 'unknown' }, agent: 'unheard' }],
    ['unknown behind a guard', { services: { a: 'unknown' }, agent: 'silent', guard: 'fleet' }],
    [
      'waited for since the creation of the node',
      { services: { a: 'not-ready' }, starting: [{ service: 'a', checks: [], since: '2026-01-01T00:00:00Z' }] },
    ],
  ])('is answered with no while one is %s on one node', (_what, node) => {
    expect(services(node, { services: { a: 'ready', b: 'ready' } })).toEqual({
      ready: false,
      answer: 'NOT all services are ready (1 of 2 services not): a.',
    });
  });

  test('does not depend on nodes that are drained', () => {
    expect(services({ services: { a: 'not-ready' }, lifecycle: ['DrainInProgress'] })).toMatchObject({ ready: true });
  });

  test('does not depend on the work of rollcall, nor does that depend on it', () => {
    const pending = of([{ pending: true }]);
    expect([pending.holds, pending.services.ready]).toEqual([false, true]);
    const down = of([{ services: { a: 'not-ready' } }]);
    expect([down.holds, down.services.ready]).toEqual([true, false]);
  });

  test('is answered with no while a NodeService is not in force, on no node', () => {
    const refused = [
      { kind: 'NodeService' as const, name: 'csi', reason: 'KeyTaken', message: 'its label is that of another' },
    ];
    const found = statusOf({ replica: replicaDocument(), nodes: [nodeSummary()], refused });
    expect([found.holds, found.services]).toEqual([
      true,
      { ready: false, answer: 'NOT all services are ready (1 of 3 services not): csi.' },
    ]);
    expect(found.findings).toEqual([
      {
        severity: 'fail',
        about: 'services',
        text: 'The NodeService csi is not in force: its label is that of another',
        cure: 'kubectl rollcall why nodeservice/csi',
      },
    ]);
  });

  test('is answered with yes while a NodeService selects no node, which is a warning', () => {
    const found = statusOf({ replica: replicaDocument(), nodes: [nodeSummary()], nowhere: ['csi'] });
    expect([found.holds, found.services.ready]).toEqual([true, true]);
    expect(found.findings).toEqual([
      {
        severity: 'warn',
        about: 'services',
        text: 'The nodeSelector of csi selects no node',
        cure: 'kubectl rollcall why nodeservice/csi',
      },
    ]);
  });

  test('does not depend on objects of other kinds that are not in force: they are the work of rollcall', () => {
    const refused = [
      {
        kind: 'NodePoolLabels' as const,
        namespace: 'rollcall',
        name: 'gold',
        reason: 'KeysRefused',
        message: 'k8s.io/x',
      },
      { kind: 'NodeHold' as const, name: 'ci', reason: 'UnknownField', message: 'spec.x' },
    ];
    const found = statusOf({ replica: replicaDocument(), nodes: [nodeSummary()], refused });
    expect([found.holds, found.services.ready]).toEqual([false, true]);
    expect(found.findings.map(({ text, cure }) => [text, cure])).toEqual([
      ['The NodePoolLabels gold is not in force: k8s.io/x', 'kubectl -n rollcall describe nodepoollabels gold'],
      ['The NodeHold ci is not in force: spec.x', 'kubectl describe nodehold ci'],
    ]);
  });

  test('is answered where no service is checked, and by no standby', () => {
    expect(services({ services: {} })).toEqual({ ready: true, answer: 'No service is checked on any node.' });
    expect(of([{}], { leading: false }).services.ready).toBe(false);
  });
});

describe('pools', () => {
  test('count the nodes of each service, by pool and then by service', () => {
    const { pools } = of([
      { pool: 'b', services: { y: 'ready', x: 'not-ready' }, heldBack: ['x'] },
      { pool: 'b', services: { x: 'unknown' } },
      { services: { x: 'ready' } },
      { pool: 'a', services: { x: 'ready' } },
    ]);
    const none = { ready: 0, notReady: 0, unknown: 0, heldBack: 0 };
    expect(pools).toEqual([
      { ...none, pool: '-', service: 'x', nodes: 1, ready: 1 },
      { ...none, pool: 'a', service: 'x', nodes: 1, ready: 1 },
      { ...none, pool: 'b', service: 'x', nodes: 2, notReady: 1, unknown: 1, heldBack: 1 },
      { ...none, pool: 'b', service: 'y', nodes: 1, ready: 1 },
    ]);
  });
});

test('a dry run that is refused fails nothing', () => {
  const refused = [{ kind: 'NodeService', name: 'dry', reason: 'KeyRefused', message: 'm', dryRun: true }] as const;
  const { services, findings } = statusOf({ replica: replicaDocument(), nodes: [nodeSummary()], refused });
  expect(services.ready).toBe(true);
  expect(findings.filter(({ severity }) => severity === 'fail')).toEqual([]);
});
