import { MANAGED_LABELS_ANNOTATION, SERVICES_STARTED_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { podsCheck, probeCheck, serviceOf } from '../model/services.test-fixtures.ts';
import type { PodsCheck, ProbeCheck, Service, ServiceProbe } from '../model/services.ts';
import type { NodeSnapshot } from '../state/snapshot.ts';
import { intentOf } from './intent/intent.ts';
import { observed } from './intent/plan-node.test-fixtures.ts';
import { createLabelers, type LabelerOptions } from './labelers/index.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { NOTHING_CONFIGURED } from './labelers/labelers.test-fixtures.ts';
import { rulesOf } from './labelers/rules.test-fixtures.ts';
import { csiNode, pod, snapshot } from './readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from './readiness/tracker.ts';
import { WhatIf } from './what-if.ts';

const LABEL = 'example.com/a';
const TAINT = { key: 'example.com/no-a', value: 'true', effect: 'NoExecute' } as const;

/** A NodeService whose pod is Ready on the node of the snapshot. */
function nodeService(change: Partial<Service> = {}): Service {
  const origin = { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } as const;
  return serviceOf('a', { checks: [podsCheck('ws-daemon')], publish: { label: LABEL }, origin, ...change });
}

/** One that agents probe, too: at these ports, in checks that are named by their place. */
function probed(ports: readonly number[], change: Partial<Service> = {}): Service {
  const probes = ports.map((port, index) => probeCheck(`a/${index}`, probeAt(port)));
  return nodeService({ checks: [podsCheck('ws-daemon'), ...probes], ...change });
}

function probeAt(port: number): ServiceProbe {
  return { spec: { kind: 'tcp' }, port };
}

/** What the agent said of these checks, all well. */
function told(...ids: string[]) {
  return new Map(ids.map((name) => [name, { name, ready: true, since: '', evidence: 'asked', digest: 'd' }]));
}

type Configured = {
  services?: readonly Service[];
  poolLabels?: Record<string, string>;
  rules?: LabelerOptions['rules'];
  startupGate?: LabelerOptions['startupGate'];
};

type Situation = Partial<Omit<NodeSnapshot, 'conditions'>> & {
  readiness?: Record<string, ServiceReadiness>;
  /** Statuses by type. */
  conditions?: Record<string, string>;
};

/** What would change on a node, as `kind key from to`, and the reasons. */
function whatIf(
  now: Configured,
  then: Configured,
  { readiness = {}, conditions = {}, ...situation }: Situation = {},
  nowMs = 0,
) {
  const current = now.services ?? [];
  const options = {
    services: () => current,
    keys: registryOf({ watchedServices: current }),
    ...NOTHING_CONFIGURED,
    rules: now.rules,
    ...(now.startupGate ? { startupGate: now.startupGate } : {}),
  } satisfies Partial<LabelerOptions>;
  const setOf = (labels: Record<string, string> | undefined) =>
    labels && {
      ...{ kind: 'NodePoolLabels', uid: 's', name: 'gold', namespace: 'x', generation: 1, createdAt: '', pool: 'gold' },
      labels,
    };
  const seen = snapshot({ pool: 'gold', taints: [], ...situation });
  const evaluated: EvaluatedNode = {
    ...seen,
    poolLabelSet: setOf(now.poolLabels) as never,
    readiness: new Map(Object.entries(readiness)),
    ageMs: 0,
  };
  const node = {
    ...observed({ ...seen.labels }, [...seen.ownedLabels]),
    annotations: seen.annotations,
    shared: seen.sharedLabels,
    taints: seen.taints,
    conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) as never,
  };
  const unguarded = { delay: (claims: readonly never[]) => [...claims], withheldTaint: () => undefined };
  const intent = intentOf(createLabelers({ ...options, ...unguarded } as never), evaluated);
  const services = then.services ?? current;
  const proposal = {
    services,
    keys: registryOf({ watchedServices: services }),
    rules: then.rules?.(),
    poolLabelSet: (pool: string | undefined) => setOf(pool === 'gold' ? then.poolLabels : undefined) as never,
  };
  const changes = new WhatIf(options, proposal, { monotonicMs: nowMs, wallMs: 0 }).changesOn({
    node,
    evaluated,
    intent,
  });
  return {
    changes: changes.map(({ kind, key, from, to }) => `${kind} ${key} ${from} ${to}`),
    reasons: changes.map(({ reason }) => reason),
  };
}

const ready = { state: 'ready', reason: 'as evaluated', cause: 'agent', sinceMs: 0 } as const;
const notReady = { state: 'not-ready', reason: 'as evaluated', cause: 'agent', sinceMs: 0 } as const;

describe('a check with a grace', () => {
  const registered = {
    name: 'driver',
    id: 's/driver',
    kind: 'csiNode',
    settings: { driver: 'd', graceMs: 60_000 },
  } as const;
  const published = {
    ownedLabels: new Set([LABEL]),
    labels: { [LABEL]: 'true' },
    ...csiNode([]),
  };
  const withChecks = (...checks: Service['checks']) => nodeService({ checks: [podsCheck('ws-daemon'), ...checks] });
  const diff = (before: Service, after: Service) =>
    whatIf({ services: [before] }, { services: [after] }, { ...published, readiness: { a: ready } }).changes;

  test('that is new never passed, and has none', () => {
    expect(diff(withChecks(), withChecks(registered))).toEqual([`label ${LABEL} true undefined`]);
    const without = { ...registered, settings: { driver: 'd' } };
    expect(diff(withChecks(without), withChecks(registered))).toEqual([`label ${LABEL} true undefined`]);
  });

  test('that was there goes on with it, whatever becomes of the others', () => {
    expect(diff(withChecks(registered), nodeService({ checks: [registered] }))).toEqual([]);
  });
});

describe('a new service', () => {
  test('would have its label where it is ready by what is known', () => {
    expect(whatIf({}, { services: [nodeService()] })).toEqual({
      changes: [`label ${LABEL} undefined true`],
      reasons: ['pod default/ws-daemon-1 is Ready'],
    });
  });

  test('would have no label but its taint, with its effect, where it is not', () => {
    const service = nodeService({ publish: { label: LABEL, taint: TAINT } });
    const { changes } = whatIf({}, { services: [service] }, { pods: [pod({ ready: false })] });
    expect(changes).toEqual([`taint ${TAINT.key} undefined true:NoExecute`]);
  });

  test('would change nothing while the result of its probe is unknown', () => {
    const services = told('a/0');
    expect(whatIf({}, { services: [probed([1])] }, { services }).changes).toEqual([]);
    expect(whatIf({}, { services: [probed([1])] }, { services, labels: { [LABEL]: 'true' } }).changes).toEqual([]);
  });

  test('would change nothing on nodes that it is not for', () => {
    const service = nodeService({ nodeSelector: { matchLabels: { gpu: 'true' } } });
    expect(whatIf({}, { services: [service] }).changes).toEqual([]);
    expect(whatIf({}, { services: [service] }, { labels: { gpu: 'true' } }).changes).toHaveLength(1);
  });

  test('would not be waited for by the startup gate of a node that it is not for', () => {
    const startupGate = { requires: ['a'], maxWaitMs: 60_000 };
    const situation = {
      taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' as const }],
      pods: [pod({ ready: false })],
    };
    const opened = (service: Service) => whatIf({ startupGate }, { services: [service] }, situation).changes;
    const elsewhere = nodeService({ nodeSelector: { matchLabels: { gpu: 'true' } } });
    expect(opened(elsewhere)).toEqual([`taint ${STARTUP_TAINT} :NoSchedule undefined`]);
    expect(opened(nodeService())).toEqual([]);
  });

  test('of mode Startup would be ready where it was so once', () => {
    const service = nodeService({ mode: 'Startup' });
    const started = (uid: string) => ({
      annotations: { [SERVICES_STARTED_ANNOTATION]: JSON.stringify({ node: 'u', services: { a: uid } }) },
      pods: [],
    });
    expect(whatIf({}, { services: [service] }, started('u'))).toEqual({
      changes: [`label ${LABEL} undefined true`],
      reasons: ['it was ready on the node once'],
    });
    expect(whatIf({}, { services: [service] }, started('other')).changes).toEqual([]);
  });
});

describe('a service that is there', () => {
  const labeled = { labels: { [LABEL]: 'true' }, ownedLabels: new Set([LABEL]) };

  test('is as it is evaluated now where it stays as it is, whatever the evidence alone says', () => {
    const service = nodeService();
    const situation = { ...labeled, pods: [], readiness: { a: ready } };
    expect(whatIf({ services: [service] }, { services: [service] }, situation).changes).toEqual([]);
  });

  test('would lose its taint where it is ready once it is another, whatever delays that', () => {
    const publish = { label: LABEL, taint: TAINT };
    const situation = { ...labeled, taints: [TAINT], readiness: { a: notReady } };
    const { changes } = whatIf(
      { services: [nodeService({ publish })] },
      { services: [nodeService({ publish })] },
      situation,
    );
    expect(changes).toContain(`taint ${TAINT.key} true:NoExecute undefined`);
  });

  test('is evaluated anew where it would be another', () => {
    const situation = { ...labeled, pods: [], readiness: { a: ready } };
    const changed = { services: [nodeService({ mode: 'Startup' })] };
    expect(whatIf({ services: [nodeService()] }, changed, situation)).toEqual({
      changes: [`label ${LABEL} true undefined`],
      reasons: ['no pod on the node matches component=ws-daemon in default'],
    });
  });

  test('keeps what the agent said of it as long as its probe is the same', () => {
    const situation = { services: told('a/0'), readiness: { a: notReady } };
    const then = (port: number) => ({ services: [probed([port], { mode: 'Startup' })] });
    const now = { services: [probed([1])] };
    expect(whatIf(now, then(1), situation).changes).toEqual([`label ${LABEL} undefined true`]);
    expect(whatIf(now, then(2), situation).changes).toEqual([]);
  });

  test('keeps what the agent said of each probe that is the same, beside one that is another', () => {
    const readiness = { a: ready };
    const [now, then] = [{ services: [probed([1, 2])] }, { services: [probed([1, 3])] }];
    const situation = { ...labeled, readiness, services: told('a/0', 'a/1') };
    expect(whatIf(now, then, situation).changes).toEqual([]);
    const failed = told('a/0', 'a/1');
    failed.set('a/0', { name: 'a/0', ready: false, since: '', evidence: 'refused', digest: 'd' });
    expect(whatIf(now, then, { ...situation, services: failed })).toEqual({
      changes: [`label ${LABEL} true undefined`],
      reasons: ['refused'],
    });
    const edited = told('a/0', 'a/1');
    edited.set('a/1', { name: 'a/1', ready: false, since: '', evidence: 'refused', digest: 'd' });
    expect(whatIf(now, then, { ...situation, services: edited }).changes).toEqual([]);
  });

  test.each<[string, (checks: readonly [PodsCheck, PodsCheck, ProbeCheck]) => Service['checks']]>([
    [
      'its probe is about other pods',
      ([own, other, probe]) => [own, other, { ...probe, settings: { ...probe.settings, of: 'other' } }],
    ],
    ['the check of its pods selects others', ([own, other, probe]) => [{ ...own, settings: other.settings }, probe]],
    [
      'its pods are not named any more',
      ([own, other, probe]) => [{ ...own, name: 'mine' }, { ...other, name: 'pod' }, probe],
    ],
  ])('forgets what the agent said of the pod before where %s', (_what, edit) => {
    const other = { ...podsCheck('other'), name: 'other', id: 'a/other' };
    const of = { spec: { kind: 'tcp' }, port: 1, host: 'Pod', of: 'pod' } as const;
    const checks = [podsCheck('ws-daemon'), other, probeCheck('a/0', of)] as const;
    const pods = [pod(), pod({ name: 'other-1', labels: { component: 'other' }, podIP: '10.1.0.2' })];
    const situation = { ...labeled, pods, services: told('a/0'), readiness: { a: ready } };
    situation.services.set('a/0', { name: 'a/0', ready: false, since: '', evidence: 'refused', digest: 'd' });
    const now = { services: [nodeService({ checks })] };
    const same = { services: [nodeService({ checks, mode: 'Startup' })] };
    expect(whatIf(now, same, situation).reasons).toEqual(['refused']);
    expect(whatIf(now, { services: [nodeService({ checks: edit(checks) })] }, situation).changes).toEqual([]);
  });

  test('is not yet found missing by an agent that got its check long ago', () => {
    const service = probed([1]);
    const situation = {
      ...labeled,
      services: new Map(),
      readiness: { a: ready },
      assignedMs: new Map([['a/0', 0]]),
    };
    const then = { services: [{ ...service, mode: 'Startup' as const }] };
    expect(whatIf({ services: [service] }, then, situation, 60_000).changes).toEqual([]);
  });

  test('would leave nothing of its own behind when it goes', () => {
    const service = nodeService({ publish: { label: LABEL, taint: TAINT } });
    const situation = { ...labeled, readiness: { a: ready } };
    expect(whatIf({ services: [service] }, { services: [] }, situation)).toEqual({
      changes: [`label ${LABEL} true undefined`],
      reasons: ['nothing requests it any more'],
    });
  });

  test('would take what is listed for it from nodes that it no longer applies to, whatever its owner, and release its condition', () => {
    const condition = 'example.com/A';
    const before = nodeService({ publish: { label: LABEL, condition } });
    const then = { services: [{ ...before, nodeSelector: { matchLabels: { gpu: 'true' } } }] };
    const listed = JSON.stringify({ [`label:${LABEL}`]: 'service:u', [`condition:${condition}`]: 'service:u' });
    const there = {
      labels: { [LABEL]: 'true' },
      annotations: { 'rollcall.dev/keys': listed },
      readiness: { a: ready },
      conditions: { [condition]: 'True' },
    };
    expect(whatIf({ services: [before] }, then, there).changes).toEqual([
      `label ${LABEL} true undefined`,
      `condition ${condition} True undefined`,
    ]);
  });

  test('would leave what another writer wrote, or has applied as well', () => {
    const service = nodeService();
    const readiness = { a: ready };
    for (const situation of [
      { ...labeled, ownedLabels: new Set<string>() },
      { ...labeled, sharedLabels: new Set([LABEL]) },
    ]) {
      expect(whatIf({ services: [service] }, { services: [] }, { ...situation, readiness }).changes).toEqual([]);
    }
  });
});

describe('the set of a pool', () => {
  const tier = { labels: { tier: 'gold' }, ownedLabels: new Set(['tier']) };
  const managed = { [MANAGED_LABELS_ANNOTATION]: '["tier"]' };

  test('would give a label, and another value', () => {
    expect(whatIf({}, { poolLabels: { tier: 'gold' } }).changes).toEqual(['label tier undefined gold']);
    const now = { poolLabels: { tier: 'gold' } };
    expect(whatIf(now, { poolLabels: { tier: 'silver' } }, { ...tier, annotations: managed }).changes).toEqual([
      'label tier gold silver',
    ]);
  });

  test('would take a label, and says why', () => {
    const now = { poolLabels: { tier: 'gold' } };
    const { changes, reasons } = whatIf(now, { poolLabels: {} }, { ...tier, annotations: managed });
    expect(changes).toEqual(['label tier gold undefined']);
    expect(reasons).toEqual(['NodePoolLabels x/gold of the pool gold no longer requests it']);
  });

  test('applies only to nodes of its pool', () => {
    expect(whatIf({}, { poolLabels: { tier: 'gold' } }, { pool: 'silver' }).changes).toEqual([]);
  });

  test('would leave a label that another writer applied with the same value', () => {
    const theirs = { ...tier, sharedLabels: new Set(['tier']) };
    expect(whatIf({ poolLabels: { tier: 'gold' } }, {}, theirs).changes).toEqual([]);
  });

  test('would leave the label of another writer', () => {
    const theirs = { labels: { tier: 'mine' } };
    expect(whatIf({}, { poolLabels: { tier: 'gold' } }, theirs).changes).toEqual([]);
  });
});

test('rules that are proposed are followed, and those that are not go', () => {
  const rules = () => rulesOf(['tier'], { implied: { tier: { value: 'gold', reason: 'a rule' } } });
  expect(whatIf({}, { rules: rules as never })).toEqual({
    changes: ['label tier undefined gold'],
    reasons: ['a rule'],
  });
  const tier = { labels: { tier: 'gold' }, ownedLabels: new Set(['tier']) };
  expect(whatIf({ rules: rules as never }, {}, tier).changes).toEqual(['label tier gold undefined']);
});
