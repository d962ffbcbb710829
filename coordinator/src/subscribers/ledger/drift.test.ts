import { describe, expect, test } from 'vitest';
import { intentOf } from '../../decide/intent/intent.ts';
import type { SkippedCause } from '../../decide/intent/plan.ts';
import type { Claim } from '../../decide/labelers/labeler.ts';
import { readinessLabeler } from '../../decide/labelers/readiness.ts';
import {
  WS_DAEMON_SERVICE as BUILT_IN,
  WS_DAEMON_LABEL as LABEL,
  snapshot,
  WS_DAEMON_TAINT as TAINT,
} from '../../decide/readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../../decide/readiness/tracker.ts';
import { gated } from '../../model/services.test-fixtures.ts';
import type { ReadinessGate, Service } from '../../model/services.ts';
import { type DriftRules, driftOn, type LedgerFacts } from './drift.ts';

const WORKSPACES = { 'gitpod.io/workload_workspace_regular': 'true' };
const OBJECT: Service = {
  ...BUILT_IN,
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
};
const TAINTED = [{ key: TAINT, value: 'true', effect: 'NoSchedule' }];

type Case = {
  gate?: ReadinessGate;
  service?: Service;
  label?: string;
  taints?: { key: string; value: string; effect: string }[] | undefined;
  claims?: Claim[];
  evaluation?: Partial<LedgerFacts>;
  rules?: Partial<DriftRules>;
  sharedLabels?: ReadonlySet<string>;
  labels?: Record<string, string>;
};

/** As `direction kind cause`. */
function lies(readiness: Partial<ServiceReadiness> & Pick<ServiceReadiness, 'state'>, some: Case = {}): string[] {
  const {
    gate = 'label',
    service = gated(BUILT_IN, gate),
    label,
    taints,
    claims = [],
    sharedLabels = new Set(),
  } = some;
  const labels = { ...WORKSPACES, ...(label === undefined ? {} : { [LABEL]: label }), ...some.labels };
  const shown: ServiceReadiness = { reason: 'the evidence', cause: 'agent', sinceMs: 0, ...readiness };
  const seen = { ...snapshot({ labels, taints }), sharedLabels };
  const evaluated = { ...seen, readiness: new Map([[service.name, shown]]), ageMs: 0 };
  const services = [service];
  const labelers = [
    readinessLabeler({ services: () => services, withheldTaint: () => undefined }),
    { name: 'other', claims: () => claims },
  ];
  const node = { name: 'n', labels, taints, annotations: {} } as unknown as LedgerFacts['node'];
  const evaluation: LedgerFacts = {
    node,
    evaluated,
    intent: intentOf({ labelers, consequences: [] }, evaluated),
    skipped: [],
    ...some.evaluation,
  };
  const found = driftOn(evaluation, { services, dryRun: false, ...some.rules });
  return found.map(({ direction, kind, cause }) => `${direction} ${kind} ${cause}`);
}

const READY = { state: 'ready' } as const;
const NOT_READY = { state: 'not-ready' } as const;

describe('a label of a service', () => {
  test.each<[string, Parameters<typeof lies>, string[]]>([
    ['there while it is ready', [READY, { label: 'true' }], []],
    ['missing while it is not', [NOT_READY, {}], []],
    ['there while it is not ready', [NOT_READY, { label: 'true' }], ['said-ready label unwritten']],
    ['missing while it is ready', [READY, {}], ['said-not-ready label unwritten']],
    ['with another value', [READY, { label: 'false' }], ['said-not-ready label unwritten']],
    ['there while the readiness is unknown', [{ state: 'unknown' }, { label: 'true' }], []],
    ['missing while the readiness is unknown', [{ state: 'unknown' }, {}], []],
  ])('%s', (_what, [readiness, some], expected) => {
    expect(lies(readiness, some)).toEqual(expected);
  });

  test('is wrong for a reason', () => {
    const damping = { untilMs: 1, falls: 4 };
    const evidence = { state: 'ready', reason: 'it is back', cause: 'agent' } as const;
    expect(lies({ ...NOT_READY, damping, evidence })).toEqual(['said-not-ready label held-back']);
    const gone = { state: 'not-ready', reason: 'it is gone', cause: 'agent' } as const;
    expect(lies({ state: 'unknown', evidence: gone }, { label: 'true' })).toEqual(['said-ready label guarded']);
    const key = { kind: 'label', key: LABEL } as const;
    const skippedAs = (cause: SkippedCause, wanted?: string) => ({
      evaluation: { skipped: [{ ...key, cause, wanted, message: '' }] },
    });
    expect(lies(READY, skippedAs('contested', 'true'))).toEqual(['said-not-ready label contested']);
    expect(lies(READY, skippedAs('denied', 'true'))).toEqual(['said-not-ready label foreign']);
    expect(lies(NOT_READY, { label: 'true', ...skippedAs('denied') })).toEqual(['said-ready label foreign']);
    expect(lies(NOT_READY, { label: 'true', rules: { dryRun: true } })).toEqual(['said-ready label dry-run']);
  });

  test('is not wrong for a reason that is about another key', () => {
    const others = [
      { kind: 'label', key: 'other' },
      { kind: 'annotation', key: LABEL },
    ] as const;
    for (const cause of ['contested', 'denied'] as const) {
      const skipped = others.map((each) => ({ ...each, cause, wanted: 'true', message: '' }));
      expect(lies(READY, { evaluation: { skipped } })).toEqual(['said-not-ready label unwritten']);
    }
  });

  test('says nothing with the taint as the gate, but where it is missing', () => {
    const gate = 'taint';
    expect(lies(NOT_READY, { gate, label: 'true', taints: TAINTED })).toEqual([]);
    expect(lies(NOT_READY, { gate, label: 'true', taints: [] })).toEqual(['said-ready taint unwritten']);
    expect(lies(READY, { gate, taints: [] })).toEqual(['said-not-ready label unwritten']);
  });
});

describe('a taint of a service', () => {
  test('says the opposite of a label', () => {
    const some = { gate: 'both' } as const;
    expect(lies(READY, { ...some, label: 'true', taints: TAINTED })).toEqual(['said-not-ready taint unwritten']);
    expect(lies(NOT_READY, { ...some, taints: [] })).toEqual(['said-ready taint unwritten']);
    expect(lies(NOT_READY, { ...some, taints: TAINTED })).toEqual([]);
    expect(lies(NOT_READY, { service: OBJECT, taints: [] })).toEqual(['said-ready taint unwritten']);
  });

  test('says nothing where labels show it, or where taints are not watched', () => {
    expect(lies(NOT_READY, { taints: [] })).toEqual([]);
    expect(lies(NOT_READY, { label: 'true', taints: [] })).toEqual(['said-ready label unwritten']);
    expect(lies(NOT_READY, { gate: 'both', taints: undefined })).toEqual([]);
    expect(lies(READY, { label: 'true', taints: TAINTED })).toEqual(['said-not-ready taint unwritten']);
  });
});

describe('a condition of a service', () => {
  const service: Service = { ...OBJECT, publish: { condition: 'example.com/Ready' } };
  const says = (status: string | undefined) => {
    const conditions = status === undefined ? [] : [{ type: 'example.com/Ready', status }];
    return {
      node: { name: 'n', labels: {}, taints: [], annotations: {}, conditions } as unknown as LedgerFacts['node'],
    };
  };

  test.each([
    ['True', NOT_READY, ['said-ready condition unwritten']],
    ['False', READY, ['said-not-ready condition unwritten']],
    ['True', READY, []],
    ['False', NOT_READY, []],
    ['Unknown', READY, []],
    [undefined, READY, []],
    ['True', { state: 'unknown' }, []],
  ] as const)('%s', (status, readiness, expected) => {
    expect(lies(readiness, { service, evaluation: says(status) })).toEqual(expected);
  });

  test('is kept against the evidence by a guard where it is as it is wanted', () => {
    const evidence = { state: 'not-ready', reason: 'it is gone', cause: 'agent' } as const;
    for (const state of ['ready', 'unknown'] as const) {
      expect(lies({ state, evidence }, { service, evaluation: says('True') })).toEqual([
        'said-ready condition guarded',
      ]);
    }
  });
});

describe('another key', () => {
  const claim = (change: Partial<Claim>): Claim => ({
    kind: 'label',
    key: 'tier',
    value: 'gold',
    stance: 'present',
    ownership: 'forced',
    reason: 'asked for',
    cause: 'configuration',
    ...change,
  });
  const of = (change: Partial<Claim>, some: Case = {}) =>
    lies(READY, { label: 'true', claims: [claim(change)], ...some });

  test('is wrong where it is not as it is wanted', () => {
    expect(of({})).toEqual(['said-not-ready label unwritten']);
    expect(of({}, { labels: { tier: 'gold' } })).toEqual([]);
    expect(of({ stance: 'absent' }, { labels: { tier: 'gold' } })).toEqual(['said-ready label unwritten']);
    expect(of({ stance: 'absent' })).toEqual([]);
    expect(of({ stance: 'keep' })).toEqual([]);
  });

  test('is not wrong where others have it too, and notes of rollcall say nothing', () => {
    const labels = { tier: 'gold' };
    expect(of({ stance: 'absent' }, { labels, sharedLabels: new Set(['tier']) })).toEqual([]);
    expect(of({ stance: 'absent', ownership: 'shared' }, { labels })).toEqual([]);
    expect(of({ kind: 'annotation' })).toEqual([]);
  });
});
