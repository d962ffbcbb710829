import { describe, expect, test } from 'vitest';
import { publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import { formatStartedServices } from '../../state/started-services.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import { publishedKeysLabeler } from './published-keys.ts';

const PUBLISH = publishing('example.com/csi', 'example.com/csi-not-ready');
const SERVICE = serviceOf('csi', {
  publish: PUBLISH,
  origin: { kind: 'object', uid: 'service', generation: 1, createdAtMs: 0 },
});
const STARTUP: Service = { ...SERVICE, mode: 'Startup' };

type Situation = Partial<ServiceReadiness> & {
  tainted?: boolean;
  noted?: string;
  mayTaint?: boolean;
  mayClear?: boolean;
};

/** What is claimed of the label and the taint of a service. */
function stances(
  service: Service,
  { state = 'ready', tainted = false, noted, mayTaint = true, mayClear = true, ...rest }: Situation = {},
): (string | undefined)[] {
  const note = noted && formatStartedServices('u', new Map([['csi', noted]]));
  const node = snapshot({
    taints: tainted ? [{ key: PUBLISH.taint.key, value: 'true', effect: 'NoSchedule' }] : [],
    annotations: note ? { 'rollcall.dev/services-started': note } : {},
  });
  const readiness = new Map([['csi', { state, reason: 'r', cause: 'agent' as const, sinceMs: 0, ...rest }]]);
  const labeler = publishedKeysLabeler({
    services: () => [service],
    mayTaint: () => mayTaint,
    mayClear: () => mayClear,
  });
  const claims = labeler.claims({ ...node, readiness, ageMs: 0 });
  return ['label', 'taint'].map((kind) => claims.find((claim) => claim.kind === kind)?.stance);
}

describe('a service', () => {
  test.each([
    ['ready', ['want', 'withhold']],
    ['not-ready', ['withhold', 'want']],
    ['unknown', ['hold', 'hold']],
  ] as const)('that is %s has its label and its taint accordingly', (state, expected) => {
    for (const tainted of [true, false]) expect(stances(SERVICE, { state, tainted })).toEqual(expected);
  });

  test('has neither on a node that it is not for', () => {
    expect(stances({ ...SERVICE, nodeSelector: { matchLabels: { a: 'b' } } })).toEqual(['withhold', 'withhold']);
  });

  test('has no new taint where there may be none yet, and keeps the one that is there', () => {
    expect(stances(SERVICE, { state: 'not-ready', mayTaint: false })).toEqual(['withhold', 'withhold']);
    expect(stances(SERVICE, { state: 'not-ready', mayTaint: false, tainted: true })).toEqual(['withhold', 'want']);
  });

  test('that is ready keeps its first taint until the status notes that it can go', () => {
    expect(stances(SERVICE, { tainted: true, mayClear: false })).toEqual(['want', 'hold']);
    expect(stances(SERVICE, { tainted: false, mayClear: false })).toEqual(['want', 'withhold']);
    expect(stances(SERVICE, { state: 'not-ready', tainted: true, mayClear: false })).toEqual(['withhold', 'want']);
  });

  test.each([
    ['agent', 'want'],
    ['evidence', 'want'],
    ['silence', 'hold'],
    ['damping', 'hold'],
  ] as const)('that is not ready by the cause %s has a taint that evicts: %s', (cause, expected) => {
    const taint = { ...PUBLISH.taint, effect: 'NoExecute' as const };
    const evicting: Service = { ...SERVICE, publish: { ...PUBLISH, taint } };
    expect(stances(evicting, { state: 'not-ready', cause })).toEqual(['withhold', expected]);
  });

  test('that has to be ready once keeps its taint until that is noted, and then loses it', () => {
    expect(stances(STARTUP, { tainted: true })).toEqual(['want', 'hold']);
    expect(stances(STARTUP, { tainted: true, noted: 'service' })).toEqual(['want', 'withhold']);
    // A NodeService of the same name that was there before is another.
    expect(stances(STARTUP, { tainted: true, noted: 'other' })).toEqual(['want', 'hold']);
  });
});
