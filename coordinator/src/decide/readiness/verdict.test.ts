import { describe, expect, test } from 'vitest';
import { gpus } from '../../model/inventory/inventory.test-fixtures.ts';
import { podsCheck, probeCheck, serviceOf } from '../../model/services.test-fixtures.ts';
import type { SeenCheck, ServiceCheck, SingleCheck } from '../../model/services.ts';
import type { Freshness } from '../../state/presence.ts';
import { servicesToProbe } from '../../state/probe-targets.ts';
import type { Verdict } from './judges.ts';
import { csiNode, pod, snapshot, WS_DAEMON_SERVICE } from './readiness.test-fixtures.ts';
import { judgeService, type ServiceVerdict } from './verdict.ts';

const OPTIONAL = serviceOf('ws-daemon', {
  checks: [
    podsCheck({ namespace: 'default', selector: { matchLabels: { component: 'ws-daemon' } }, optional: true }),
    probeCheck('ws-daemon'),
  ],
});

/** The wall clock does not matter. */
const at = (monotonicMs: number) => ({ monotonicMs, wallMs: 0 });

type Situation = {
  freshness?: Freshness;
  probe?: boolean;
  pods?: ReturnType<typeof pod>[];
  requirePod?: boolean;
};

function verdict({ freshness = { state: 'fresh' }, probe = true, pods = [pod()], requirePod = true }: Situation) {
  return judgeService(requirePod ? WS_DAEMON_SERVICE : OPTIONAL, snapshot({ freshness, pods }, probe), at(0));
}

describe('a service', () => {
  test('is ready when pod, probe and freshness agree, and says by which evidence', () => {
    expect(verdict({})).toMatchObject({ state: 'ready' });
    expect(verdict({}).reason).toMatch(/ws-daemon-1 is Ready; tcp refused twice/);
  });

  test.each([
    ['the probe says no', { probe: false }, /tcp refused twice/],
    ['there is no pod', { pods: [] }, /no pod on the node matches component=ws-daemon in default/],
    ['the only pod is not Ready', { pods: [pod({ ready: false })] }, /ws-daemon-1 is not Ready/],
    ['the only pod is terminating', { pods: [pod({ terminating: true })] }, /ws-daemon-1 is terminating/],
    ['the agent is silent', { freshness: { state: 'silent' as const } }, /silent for too long/],
    ['no agent ever reported', { freshness: { state: 'absent' as const } }, /no agent/],
  ])('is not ready when %s', (_name, situation, reason) => {
    expect(verdict(situation)).toMatchObject({ state: 'not-ready', reason: expect.stringMatching(reason) });
  });

  test.each([
    ['failing', /^tcp refused twice; it does not count until/],
    ['shared', /^tcp refused twice; most nodes have the same fault, .* \(guard: target\)$/],
  ] as const)('is unknown where a failure that is seen is not held against the node: %s', (fault, reason) => {
    const service = serviceOf('ws-daemon', { checks: [probeCheck('ws-daemon')] });
    const judge = (ready: boolean) => judgeService(service, snapshot({ fault: () => fault }, ready), at(0));
    expect(judge(false)).toMatchObject({ state: 'unknown', cause: 'unknown', reason: expect.stringMatching(reason) });
    expect(judge(true)).toMatchObject({ state: 'ready', cause: 'agent' });
  });

  test('has the strongest cause that speaks against it', () => {
    const freshness = { state: 'silent' as const };
    const assignedMs = new Map([['ws-daemon', 0]]);
    expect(verdict({ freshness }).cause).toBe('silence');
    expect(verdict({ freshness: { state: 'absent' } }).cause).toBe('silence');
    expect(verdict({ freshness, pods: [] }).cause).toBe('evidence');
    expect(verdict({ probe: false }).cause).toBe('agent');
    expect(verdict({ freshness: { state: 'unheard' } }).cause).toBe('unknown');
    expect(verdict({}).cause).toBe('agent');
    expect(
      withoutChecks(judgeService(WS_DAEMON_SERVICE, snapshot({ services: new Map(), assignedMs }), at(30_000))),
    ).toEqual({
      state: 'not-ready',
      reason: 'the agent does not report on ws-daemon',
      cause: 'silence',
    });
  });

  test('names the pod that is to come rather than one that goes', () => {
    const pods = [pod({ name: 'a', terminating: true }), pod({ name: 'b', ready: false })];
    expect(verdict({ pods }).reason).toBe('pod default/b is not Ready');
    expect(verdict({ pods: pods.toReversed() }).reason).toBe('pod default/b is not Ready');
  });

  test('is ready with one good pod beside one that is terminating, in either order', () => {
    const pods = [pod({ name: 'a', terminating: true }), pod({ name: 'b' })];
    expect(verdict({ pods }).state).toBe('ready');
    expect(verdict({ pods: pods.toReversed() }).state).toBe('ready');
  });

  test.each<Freshness>([{ state: 'unheard' }, { state: 'silent', guard: 'fleet' }])(
    'is unknown when no source can tell: $state',
    (freshness) => {
      expect(verdict({ freshness }).state).toBe('unknown');
    },
  );

  test('is unknown while its agent does not know, unless its pods say no', () => {
    const report = { name: 'ws-daemon', ready: false, unknown: true as const, since: '2026-01-01T00:00:00Z' };
    const services = new Map([['ws-daemon', { ...report, evidence: 'not known yet: x', digest: 'd' }]]);
    const judge = (pods: ReturnType<typeof pod>[]) =>
      judgeService(WS_DAEMON_SERVICE, snapshot({ services, pods }), at(0));
    expect(withoutChecks(judge([pod()]))).toEqual({ state: 'unknown', reason: 'not known yet: x', cause: 'unknown' });
    expect(judge([pod({ ready: false })]).state).toBe('not-ready');
  });

  test.each<Freshness>([{ state: 'unheard' }, { state: 'silent', guard: 'fleet' }, { state: 'leaving' }])(
    'follows the pods even while the agent is $state',
    (freshness) => {
      expect(verdict({ freshness, pods: [pod({ ready: false })] }).state).toBe('not-ready');
    },
  );

  test('follows the agent alone where pods are not required', () => {
    expect(verdict({ requirePod: false, pods: [] }).state).toBe('ready');
    expect(verdict({ requirePod: false, pods: [], probe: false }).state).toBe('not-ready');
  });
});

describe('a service with a CSI driver', () => {
  const service = serviceOf('ebs', {
    checks: [{ name: 'registered', id: 's/registered', kind: 'csiNode', settings: { driver: 'ebs.csi.aws.com' } }],
  });
  const EBS = ['ebs.csi.aws.com'];
  const ill = (driver: string) => csiNode(EBS, { storageProblems: new Map([[driver, 'StorageDegraded: Slow']]) });

  test.each([
    ['ready', 'the CSINode lists ebs.csi.aws.com', csiNode(EBS)],
    ['not-ready', 'the CSINode does not list ebs.csi.aws.com', csiNode(['efs.csi.aws.com'])],
    ['not-ready', 'the CSINode belongs to an earlier Node of this name', csiNode(EBS, { nodeUid: 'old' })],
    [
      'not-ready',
      'the CSINode reports about the storage of ebs.csi.aws.com: StorageDegraded: Slow',
      ill('ebs.csi.aws.com'),
    ],
    ['ready', 'the CSINode lists ebs.csi.aws.com', ill('efs.csi.aws.com')],
    ['not-ready', 'the node has no CSINode', csiNode(undefined)],
    ['unknown', 'the CSINodes have not been listed yet', {}],
  ])('is %s where %s', (state, reason, known) => {
    const silent = { state: 'silent' as const };
    expect(judgeService(service, snapshot({ ...known, freshness: silent }), at(0))).toMatchObject({
      state,
      reason,
    });
  });
});

describe('a pod that was there before the Node', () => {
  const NODE_MS = Date.UTC(2026, 0, 1);
  const judge = (...pods: ReturnType<typeof pod>[]) =>
    judgeService(WS_DAEMON_SERVICE, snapshot({ createdAtMs: NODE_MS, pods }), at(0));
  const before = (change: Parameters<typeof pod>[0] = {}) => pod({ createdAtMs: NODE_MS - 1000, ...change });

  test('does not count, and says why', () => {
    const { state, reason } = judge(before({ readySinceMs: NODE_MS - 1000 }));
    expect([state, reason]).toEqual([
      'not-ready',
      'pod default/ws-daemon-1 is Ready since before the Node was created',
    ]);
    expect(judge(before({ readySinceMs: 0 })).state).toBe('not-ready');
  });

  test('counts when its condition Ready has changed since, which a time with seconds does not tell within the first', () => {
    expect(judge(before({ readySinceMs: NODE_MS })).state).toBe('not-ready');
    expect(judge(before({ readySinceMs: NODE_MS + 1000 })).state).toBe('ready');
  });

  test('does no harm beside one that was created since', () => {
    const other = pod({ name: 'new', createdAtMs: NODE_MS, readySinceMs: NODE_MS });
    expect(judge(before(), other)).toMatchObject({ state: 'ready' });
    expect(judge(other, before()).reason).toMatch(/^pod default\/new is Ready/);
  });
});

test('a pod that was created since the Node was counts whatever the clock of its kubelet says', () => {
  const createdAtMs = Date.UTC(2026, 0, 1);
  const pods = [pod({ createdAtMs, readySinceMs: Date.UTC(1970, 0, 2) })];
  expect(judgeService(WS_DAEMON_SERVICE, snapshot({ createdAtMs, pods }), at(0)).state).toBe('ready');
});

test('pods in a namespace that was not listed yet say nothing', () => {
  expect(judgeService(WS_DAEMON_SERVICE, snapshot({ pods: [], podsKnown: () => false }), at(0)).state).toBe('unknown');
});

test('an agent that got a check a moment ago need not report on it yet', () => {
  const service = serviceOf('mirror', { checks: [probeCheck('mirror')] });
  const judge = (nowMs: number) =>
    judgeService(service, snapshot({ assignedMs: new Map([[service.name, 0]]) }), at(nowMs)).state;
  expect([judge(0), judge(29_999), judge(30_000)]).toEqual(['unknown', 'unknown', 'not-ready']);
  const later = (nowMs: number) =>
    judgeService(service, snapshot({ assignedMs: new Map([[service.name, 100_000]]) }), at(nowMs)).state;
  expect([later(129_999), later(130_000)]).toEqual(['unknown', 'not-ready']);
  expect(judgeService(service, snapshot(), at(60_000)).state).toBe('unknown');
});

describe('a probe of pods of which none can be probed', () => {
  const anyOf: ServiceCheck = {
    name: 'any',
    kind: 'anyOf',
    checks: [
      podsCheck('mirror'),
      { name: 'registered', id: 's/registered', kind: 'csiNode', settings: { driver: 'd' } },
    ],
  };
  const judge = (change: Parameters<typeof snapshot>[0], probe = probeCheck('mirror/port')) =>
    judgeService(
      serviceOf('mirror', { checks: [anyOf, probe] }),
      snapshot({ ...csiNode(['d']), pods: [], ...change }),
      at(60_000),
    );
  const labels = { component: 'mirror' };

  test('is unknown where there is no pod, and fails where one has no address', () => {
    const reason = 'no pod of mirror on the node can be probed';
    expect(judge({})).toMatchObject({ state: 'unknown', cause: 'unknown', reason });
    expect(judge({ pods: [pod({ labels, podIP: '' })] })).toMatchObject({
      state: 'not-ready',
      cause: 'evidence',
      reason,
    });
  });

  test.each([
    ['a socket on the node', { spec: { kind: 'csi', socket: '/s' } }],
    ['the address of the node', { spec: { kind: 'tcp' }, port: 80, host: 'Node' as const }],
    ['loopback', { spec: { kind: 'tcp' }, port: 80, host: 'Loopback' as const }],
  ])('asks at %s where the service does not need the pods', (_where, probe) => {
    const service = serviceOf('mirror', { checks: [anyOf, probeCheck('mirror/port', probe)] });
    expect(servicesToProbe([service], []).map(({ name }) => name)).toEqual(['mirror/port']);
    const services = new Map([
      ['mirror/port', { name: 'mirror/port', ready: true, since: '', evidence: 'x', digest: 'd' }],
    ]);
    expect(judge({ services }, probeCheck('mirror/port', probe)).state).toBe('ready');
    expect(judge({}, probeCheck('mirror/port', probe)).state).toBe('unknown');
  });

  test('is unknown while the pods are, or the agent was assigned none that can be probed', () => {
    expect(judge({ podsKnown: () => false }).state).toBe('unknown');
    expect(judge({ pods: [pod({ labels })] }).state).toBe('unknown');
    expect(judge({ freshness: { state: 'unheard' } }).state).toBe('unknown');
  });
});

test('what an agent reports counts, however lately it was told', () => {
  const service = serviceOf('ws-daemon', { checks: [probeCheck('ws-daemon')] });
  const judge = (ready: boolean) =>
    judgeService(service, snapshot({ assignedMs: new Map([[service.name, 0]]) }, ready), at(0)).state;
  expect([judge(true), judge(false)]).toEqual(['ready', 'not-ready']);
});

describe('a service that needs devices', () => {
  const gpuNode = serviceOf('gpu-node', {
    checks: [
      {
        name: 'gpus',
        id: 'gpu-node/gpus',
        kind: 'device',
        settings: { name: 'nvidia-gpu', minCount: 2, driver: 'nvidia' },
      },
    ],
  });
  const machine = (...drivers: string[]) => ({ machine: { devices: gpus(...drivers), facts: {} } });
  const evaluated = (change: Parameters<typeof snapshot>[0]) => judgeService(gpuNode, snapshot(change), at(0));

  test('is ready when all of them are there', () => {
    expect(withoutChecks(evaluated(machine('nvidia', 'nvidia')))).toEqual({
      state: 'ready',
      cause: 'agent',
      reason: 'the agent sees 2 of nvidia-gpu, and the driver of nvidia-gpu is nvidia',
    });
  });

  test('says what is missing', () => {
    expect(withoutChecks(evaluated(machine('nvidia')))).toEqual({
      state: 'not-ready',
      cause: 'agent',
      reason: 'nvidia-gpu >= 2 is required, but the agent sees 1 of nvidia-gpu',
    });
    expect(withoutChecks(evaluated(machine('nvidia', '', 'nvidia')))).toEqual({
      state: 'not-ready',
      cause: 'agent',
      reason: 'the driver nvidia is required, but the drivers of nvidia-gpu differ: pci 0000:18:00.0 has none',
    });
  });

  test('is not evaluated by what is not known', () => {
    expect(evaluated({}).state).toBe('unknown');
    expect(evaluated({ machine: { devices: gpus('nvidia'), unread: ['pci'], facts: {} } }).state).toBe('unknown');
  });

  test.each<[Freshness, string, string]>([
    [{ state: 'fresh' }, 'ready', 'agent'],
    [{ state: 'leaving' }, 'ready', 'agent'],
    [{ state: 'unheard' }, 'unknown', 'unknown'],
    [{ state: 'silent', guard: 'fleet' }, 'unknown', 'unknown'],
    [{ state: 'silent' }, 'not-ready', 'silence'],
    [{ state: 'absent' }, 'not-ready', 'silence'],
  ])('counts what an agent saw only while one is heard: %j', (freshness, state, cause) => {
    expect(evaluated({ ...machine('nvidia', 'nvidia'), freshness })).toMatchObject({ state, cause });
  });

  test('is not ready where no agent ever was', () => {
    expect(evaluated({ freshness: { state: 'absent' } })).toMatchObject({
      state: 'not-ready',
      cause: 'silence',
      reason: expect.stringContaining('no agent is on the node'),
    });
  });
});

describe('what drivers offer', () => {
  const judge = (kind: 'resource' | 'dra', change: Parameters<typeof snapshot>[0]) => {
    const name = 'nvidia.com/gpu';
    const check: SeenCheck =
      kind === 'dra'
        ? { name: 'offered', id: 's/offered', kind, settings: { driver: name, min: 8 } }
        : { name: 'offered', id: 's/offered', kind, settings: { name, min: 8 } };
    const { state, cause, reason } = judgeService(
      serviceOf('gpus', { checks: [check] }),
      snapshot({ freshness: { state: 'silent' }, ...change }),
      at(0),
    );
    return [state, cause, reason];
  };

  test.each([
    ['8', 'ready', 'evidence', 'the node has 8 of nvidia.com/gpu allocatable'],
    ['7', 'not-ready', 'evidence', 'nvidia.com/gpu >= 8 is required, but the node has 7 of nvidia.com/gpu allocatable'],
    ['0', 'not-ready', 'evidence', 'nvidia.com/gpu >= 8 is required, but the node has 0 of nvidia.com/gpu allocatable'],
  ])('counts by what is allocatable, also while the agent is silent: %s', (gpu, ...expected) => {
    expect(judge('resource', { allocatable: { 'nvidia.com/gpu': gpu } })).toEqual(expected);
  });

  test('is unknown while whole Nodes are not watched', () => {
    expect(judge('resource', {})).toEqual(['unknown', 'unknown', 'how much of nvidia.com/gpu the node has is unknown']);
  });

  test.each([
    [{ count: 8, isComplete: true }, 'ready', 'evidence'],
    [{ count: 8, isComplete: false }, 'ready', 'evidence'],
    [{ count: 7, isComplete: true }, 'not-ready', 'evidence'],
    [{ count: 7, isComplete: false }, 'unknown', 'unknown'],
  ])('counts by ResourceSlices: %j', (devices, state, cause) => {
    const inventory = { ...snapshot().inventory, dra: new Map([['nvidia.com/gpu', devices]]) };
    expect(judge('dra', { inventory }).slice(0, 2)).toEqual([state, cause]);
  });

  test('is unknown while ResourceSlices are not known', () => {
    expect(judge('dra', {}).slice(0, 2)).toEqual(['unknown', 'unknown']);
  });
});

describe('of several checks', () => {
  /** A check with this outcome, while the agent is silent or not, and the verdict by it alone. */
  const outcomes = {
    ready: probeCheck('well'),
    agent: probeCheck('ill'),
    evidence: { name: 'csi', id: 's/csi', kind: 'csiNode', settings: { driver: 'none' } },
    silence: probeCheck('missing'),
    unknown: probeCheck('unasked'),
  } satisfies Record<string, SingleCheck>;
  type Outcome = keyof typeof outcomes;
  const report = (name: string, ready: boolean) => ({ name, ready, since: '', evidence: `${name} said`, digest: 'd' });
  const seen = snapshot({
    ...csiNode(undefined),
    services: new Map([
      ['well', report('well', true)],
      ['ill', report('ill', false)],
    ]),
    assignedMs: new Map([
      ['missing', 0],
      ['unasked', 60_000],
    ]),
  });
  const judge = (...checks: ServiceCheck[]) => judgeService(serviceOf('a', { checks }), seen, at(60_000));
  const all = (...names: Outcome[]) => shortOf(judge(...names.map((name) => outcomes[name])));
  const any = (...names: Outcome[]) =>
    shortOf(judge({ name: 'any', kind: 'anyOf', checks: names.map((name) => outcomes[name]) }));
  /** The cause of a failure, or the state. */
  const shortOf = ({ state, cause }: Verdict) => (state === 'not-ready' ? cause : state);
  const NAMES = Object.keys(outcomes) as Outcome[];

  test('each is as it is meant to be here', () => {
    for (const name of NAMES) expect([all(name), any(name)]).toEqual([name, name]);
  });

  test('all must pass: one that fails decides, by the strongest cause; else one that is unknown', () => {
    const strength: Outcome[] = ['evidence', 'agent', 'silence', 'unknown', 'ready'];
    for (const a of NAMES)
      for (const b of NAMES)
        for (const c of NAMES) {
          const expected = strength.find((each) => [a, b, c].includes(each));
          expect([a, b, c, all(a, b, c)]).toEqual([a, b, c, expected]);
        }
  });

  test('one of anyOf must pass: else one that is unknown decides; else all fail, by the weakest cause', () => {
    const strength: Outcome[] = ['ready', 'unknown', 'silence', 'agent', 'evidence'];
    for (const a of NAMES)
      for (const b of NAMES)
        for (const c of NAMES) {
          const expected = strength.find((each) => [a, b, c].includes(each));
          expect([a, b, c, any(a, b, c)]).toEqual([a, b, c, expected]);
        }
  });

  test('each has a verdict of its own, with its name and reason, and the first failure is told', () => {
    const anyOf: ServiceCheck = { name: 'any', kind: 'anyOf', checks: [outcomes.agent, outcomes.evidence] };
    const renamed = { ...outcomes.ready, name: 'port' };
    expect(judge(renamed, anyOf)).toEqual({
      state: 'not-ready',
      reason: 'ill said, and the node has no CSINode',
      cause: 'agent',
      checks: [
        { name: 'port', state: 'ready', reason: 'well said', cause: 'agent' },
        { name: 'any', state: 'not-ready', reason: 'ill said, and the node has no CSINode', cause: 'agent' },
      ],
    });
    expect(judge(renamed, { ...renamed, name: 'other' }).reason).toBe('well said; well said');
  });
});

function withoutChecks({ checks: _checks, ...verdict }: ServiceVerdict): Verdict {
  return verdict;
}
