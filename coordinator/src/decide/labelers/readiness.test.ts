import { describe, expect, test } from 'vitest';
import { gated, publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import type { ReadinessGate, Service } from '../../model/services.ts';
import { formatStartedServices } from '../../state/started-services.ts';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE, WS_DAEMON_TAINT } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import type { Claim, EvaluatedNode } from './labeler.ts';
import { type ReadinessOptions, readinessLabeler } from './readiness.ts';

const MAY: Pick<ReadinessOptions, 'withheldTaint'> = { withheldTaint: () => undefined };

/** What is claimed of a service that is so on this node. */
function claimsOf(
  service: Service,
  readiness: Partial<ServiceReadiness>,
  change: Partial<EvaluatedNode> = {},
  may: Partial<typeof MAY> = {},
): Claim[] {
  const evaluated: ServiceReadiness = { state: 'ready', reason: 'because', cause: 'agent', sinceMs: 0, ...readiness };
  const node = { ...snapshot(), ageMs: 0, ...change, readiness: new Map([[service.name, evaluated]]) };
  return readinessLabeler({ services: () => [service], ...MAY, ...may }).claims(node);
}

describe('the readiness gate', () => {
  const LABEL = WS_DAEMON_LABEL;
  const TAINT = WS_DAEMON_TAINT;
  const WORKSPACE_NODE = { 'gitpod.io/workload_workspace_headless': '' };
  const taint = { key: TAINT, value: 'true', effect: 'NoSchedule' };

  function stances(gate: ReadinessGate, state: ServiceReadiness['state'], change: Partial<EvaluatedNode> = {}) {
    const node = { labels: WORKSPACE_NODE, taints: [], ...change };
    const claims = claimsOf(gated(WS_DAEMON_SERVICE, gate), { state }, node);
    return Object.fromEntries(claims.map(({ kind, stance }) => [kind, stance]));
  }

  test.each<[ReadinessGate, ServiceReadiness['state'], object]>([
    ['label', 'ready', { label: 'present', taint: 'absent' }],
    ['label', 'not-ready', { label: 'absent', taint: 'absent' }],
    ['label', 'unknown', { label: 'keep', taint: 'keep' }],
    ['both', 'ready', { label: 'present', taint: 'absent' }],
    ['both', 'not-ready', { label: 'absent', taint: 'present' }],
    ['both', 'unknown', { label: 'keep', taint: 'keep' }],
    ['taint', 'ready', { label: 'present', taint: 'absent' }],
  ])('%s, while the service is %s', (gate, state, wanted) => {
    expect(stances(gate, state)).toEqual(wanted);
  });

  test('taint keeps the label once it is there', () => {
    const labels = { ...WORKSPACE_NODE, [LABEL]: 'true' };
    expect(stances('taint', 'not-ready', { labels })).toEqual({ label: 'present', taint: 'present' });
    expect(stances('taint', 'unknown', { labels })).toEqual({ label: 'present', taint: 'keep' });
  });

  test('taint sets the label of a new node only when the taint is there', () => {
    expect(stances('taint', 'not-ready')).toEqual({ label: 'keep', taint: 'present' });
    expect(stances('taint', 'not-ready', { taints: [taint] })).toEqual({ label: 'present', taint: 'present' });
  });

  test('writes no taint on a node that is not for workspaces', () => {
    expect(stances('taint', 'not-ready', { labels: {} })).toEqual({ label: 'absent', taint: 'absent' });
    expect(stances('both', 'not-ready', { labels: {} })).toEqual({ label: 'absent', taint: 'absent' });
    expect(stances('both', 'ready', { labels: {} })).toEqual({ label: 'present', taint: 'absent' });
  });

  test('label keeps a taint that was left there as long as the label still lies', () => {
    const labels = { ...WORKSPACE_NODE, [LABEL]: 'true' };
    expect(stances('label', 'not-ready', { labels, taints: [taint] })).toEqual({ label: 'absent', taint: 'keep' });
    expect(stances('label', 'ready', { labels, taints: [taint] })).toEqual({ label: 'present', taint: 'absent' });
  });

  test('claims keys that are exclusive, and gives the evidence as the reason', () => {
    const claims = claimsOf(gated(WS_DAEMON_SERVICE, 'both'), { state: 'not-ready' }, { labels: WORKSPACE_NODE });
    const own = { value: 'true', ownership: 'exclusive', origin: 'gitpod', reason: 'because' };
    expect(claims).toMatchObject([
      { key: LABEL, ...own },
      { key: TAINT, ...own },
    ]);
    // One that evicts as well is as good.
    expect(claims[1]).not.toHaveProperty('effect');
  });
});

const PUBLISH = publishing('example.com/csi', 'example.com/csi-not-ready');
const SERVICE = serviceOf('csi', {
  publish: PUBLISH,
  origin: { kind: 'object', uid: 'service', generation: 1, createdAtMs: 0 },
});
const STARTUP: Service = { ...SERVICE, mode: 'Startup' };

type Situation = Partial<ServiceReadiness> & {
  tainted?: boolean;
  noted?: string;
  withheld?: 'absent' | 'keep' | undefined;
};

describe('a service', () => {
  /** What is claimed of its label and its taint. */
  function stances(
    service: Service,
    { tainted = false, noted, withheld, ...readiness }: Situation = {},
  ): (string | undefined)[] {
    const note = noted && formatStartedServices('u', new Map([['csi', noted]]));
    const node: Partial<EvaluatedNode> = {
      taints: tainted ? [{ key: PUBLISH.taint.key, value: 'true', effect: 'NoSchedule' }] : [],
      annotations: note ? { 'rollcall.dev/services-started': note } : {},
    };
    const may = { withheldTaint: () => withheld && { stance: withheld, reason: 'it waits' } };
    const claims = claimsOf(service, readiness, node, may);
    return ['label', 'taint'].map((kind) => claims.find((claim) => claim.kind === kind)?.stance);
  }

  test.each([
    ['ready', ['present', 'absent']],
    ['not-ready', ['absent', 'present']],
    ['unknown', ['keep', 'keep']],
  ] as const)('that is %s has its label and its taint accordingly', (state, expected) => {
    for (const tainted of [true, false]) expect(stances(SERVICE, { state, tainted })).toEqual(expected);
  });

  test('on a node that it does not select loses what rollcall listed for it, and nothing that others set', () => {
    const { label = '', taint } = SERVICE.publish;
    const elsewhere = { ...SERVICE, nodeSelector: { matchLabels: { a: 'b' } } };
    const on = (keys: Record<string, string>, more: Partial<EvaluatedNode> = {}) =>
      claimsOf(elsewhere, {}, { annotations: { 'rollcall.dev/keys': JSON.stringify(keys) }, ...more }).map(
        ({ kind, key, stance, ownership }) => `${kind} ${key} ${stance} ${ownership}`,
      );
    const theirs = { labels: { [label]: 'true' }, taints: [{ key: taint?.key ?? '', effect: 'NoSchedule' }] };
    expect(on({}, theirs)).toEqual([]);
    expect(on({ [`label:${label}`]: 'rule', [`label:other`]: 'service:x' }, theirs)).toEqual([]);
    expect(on({ [`label:${label}`]: 'service:x', [`taint:${taint?.key}`]: 'service:x' }, theirs)).toEqual([
      `label ${label} absent exclusive`,
      `taint ${taint?.key} absent exclusive`,
    ]);
    expect(on({}, { ...theirs, ownedLabels: new Set([label]) })).toEqual([`label ${label} absent exclusive`]);
  });

  test.each([
    ['service:service', 'keep'],
    ['service:edited', 'keep'],
    [undefined, 'keep'],
    ['pool', 'absent'],
    ['rule', 'absent'],
    ['rule:service', 'absent'],
    ['device', 'absent'],
    ['fact', 'absent'],
  ])('that is unknown keeps a label that the Node lists for %s: %s', (origin, stance) => {
    const { label = '' } = SERVICE.publish;
    const listed = origin === undefined || origin === 'pool' ? {} : { [`label:${label}`]: origin };
    const managed = origin === 'pool' ? { 'nodepool.banzaicloud.io/managed-labels': JSON.stringify([label]) } : {};
    const annotations = { 'rollcall.dev/keys': JSON.stringify(listed), ...managed };
    const node = { labels: { [label]: 'true' }, annotations };
    expect(claimsOf(SERVICE, { state: 'unknown', cause: 'unknown' }, node)).toMatchObject([{ stance }, {}]);
  });

  test('that is not ready has its taint as long as that is not withheld, which changes nothing else', () => {
    for (const withheld of ['absent', 'keep'] as const) {
      expect(stances(SERVICE, { state: 'not-ready', withheld })).toEqual(['absent', withheld]);
      expect(stances(SERVICE, { state: 'ready', withheld })).toEqual(['present', 'absent']);
      expect(stances(SERVICE, { state: 'unknown', withheld })).toEqual(['keep', 'keep']);
    }
  });

  test.each([
    ['agent', 'present'],
    ['evidence', 'present'],
    ['silence', 'keep'],
    ['damping', 'keep'],
  ] as const)('that is not ready by the cause %s has a taint that evicts: %s', (cause, expected) => {
    const taint = { ...PUBLISH.taint, effect: 'NoExecute' as const };
    const evicting: Service = { ...SERVICE, publish: { ...PUBLISH, taint } };
    expect(stances(evicting, { state: 'not-ready', cause })).toEqual(['absent', expected]);
  });

  test('that has to be ready once keeps its taint until that is noted, and then loses it', () => {
    expect(stances(STARTUP, { tainted: true })).toEqual(['present', 'keep']);
    expect(stances(STARTUP, { tainted: true, noted: 'service' })).toEqual(['present', 'absent']);
    // A NodeService of the same name that was there before is another.
    expect(stances(STARTUP, { tainted: true, noted: 'other' })).toEqual(['present', 'keep']);
  });
});

const CONDITION = 'example.com/MirrorReady';
const MIRROR = serviceOf('mirror', {
  nodeSelector: { matchLabels: { tier: 'gold' } },
  publish: { condition: CONDITION },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

const claimed = (readiness: Partial<ServiceReadiness>, labels = { tier: 'gold' }) =>
  claimsOf(MIRROR, readiness, { labels, createdAtMs: 1000, ageMs: 4000 });

test.each([
  [{ state: 'ready', cause: 'agent' }, 'True', 'ServiceReady', 'mirror is ready: because'],
  [{ state: 'not-ready', cause: 'agent' }, 'False', 'ServiceNotReady', 'mirror is not ready: because'],
  [{ state: 'not-ready', cause: 'damping' }, 'False', 'ServiceNotReady', 'mirror is not ready: because'],
  [{ state: 'not-ready', cause: 'silence' }, 'Unknown', 'AgentSilent', 'mirror may be ready or not: because'],
] as const)('of a service that is %j the condition says %s', (readiness, value, reason, message) => {
  const news = { reason, message, at: '1970-01-01T00:00:05Z' };
  expect(claimed(readiness)).toMatchObject([{ kind: 'condition', key: CONDITION, stance: 'present', value, news }]);
});

test.each([
  ['not-ready', 'evidence'],
  ['not-ready', 'silence'],
  ['unknown', 'unknown'],
] as const)('a service that is late has that reason, whatever is known of it now: %s by %s', (state, cause) => {
  expect(claimed({ state, cause, isLate: true })).toMatchObject([
    {
      stance: 'present',
      value: 'False',
      news: {
        reason: 'StartupDeadlineExceeded',
        message: 'mirror was not ready within its startupDeadline: because',
        replacesText: true,
      },
    },
  ]);
});

test('a service that the Node says to be late has another message once in a while, as every other', () => {
  const there = { type: CONDITION, status: 'False', reason: 'StartupDeadlineExceeded', message: 'tcp refused twice' };
  const conditions = [{ ...there, lastTransitionTime: null, index: 0 }];
  const newsOf = (textsDue: boolean) =>
    claimsOf(
      MIRROR,
      { state: 'not-ready', isLate: true, reason: 'tcp did not answer within 1000 ms' },
      { labels: { tier: 'gold' }, createdAtMs: 1000, ageMs: 4000, conditions, textsDue },
    )[0]?.news;
  expect(newsOf(false)).not.toHaveProperty('replacesText');
  expect(newsOf(true)).toHaveProperty('replacesText', true);
});

test('the keys of a service stay as they are while it is unknown whether it applies to the node', () => {
  expect(claimed({ state: 'unknown', cause: 'unknown', isUndecided: true }, { tier: 'lead' })).toMatchObject([
    { stance: 'keep' },
  ]);
});

test('a condition is held while the state is unknown, and not claimed where the service is not for the node', () => {
  const [held] = claimed({ state: 'unknown', cause: 'unknown' });
  expect(held).toMatchObject({ stance: 'keep', value: '' });
  expect(held).not.toHaveProperty('news');
  expect(claimed({ state: 'ready', cause: 'agent' }, { tier: 'lead' })).toEqual([]);
});
