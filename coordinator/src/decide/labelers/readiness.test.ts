import { describe, expect, test } from 'vitest';
import { snapshot, WS_DAEMON_LABEL, WS_DAEMON_SERVICE, WS_DAEMON_TAINT } from '../readiness/readiness.test-fixtures.ts';
import type { Verdict } from '../readiness/verdict.ts';
import type { JudgedNode } from './labeler.ts';
import { type ReadinessGate, readinessLabeler } from './readiness.ts';

const LABEL = WS_DAEMON_LABEL;
const TAINT = WS_DAEMON_TAINT;
const WORKSPACE_NODE = { 'gitpod.io/workload_workspace_headless': '' };
const taint = { key: TAINT, value: 'true', effect: 'NoSchedule' };

function stances(gate: ReadinessGate, state: Verdict['state'], change: Partial<JudgedNode> = {}) {
  const readiness = new Map([['ws-daemon', { state, reason: 'because', cause: 'agent' as const, sinceMs: 0 }]]);
  const node = { ...snapshot({ labels: WORKSPACE_NODE, taints: [] }), readiness, ageMs: 0, ...change };
  const claims = readinessLabeler({ services: () => [WS_DAEMON_SERVICE], gate }).claims(node);
  return Object.fromEntries(claims.map(({ kind, stance }) => [kind, stance]));
}

describe('the readiness gate', () => {
  test.each<[ReadinessGate, Verdict['state'], object]>([
    ['label', 'ready', { label: 'want', taint: 'withhold' }],
    ['label', 'not-ready', { label: 'withhold', taint: 'withhold' }],
    ['label', 'unknown', { label: 'hold', taint: 'hold' }],
    ['both', 'ready', { label: 'want', taint: 'withhold' }],
    ['both', 'not-ready', { label: 'withhold', taint: 'want' }],
    ['both', 'unknown', { label: 'hold', taint: 'hold' }],
    ['taint', 'ready', { label: 'want', taint: 'withhold' }],
  ])('%s, while the service is %s', (gate, state, wanted) => {
    expect(stances(gate, state)).toEqual(wanted);
  });

  test('taint keeps the label once it is there', () => {
    const labels = { ...WORKSPACE_NODE, [LABEL]: 'true' };
    expect(stances('taint', 'not-ready', { labels })).toEqual({ label: 'want', taint: 'want' });
    expect(stances('taint', 'unknown', { labels })).toEqual({ label: 'want', taint: 'hold' });
  });

  test('taint sets the label of a new node only when the taint is there', () => {
    expect(stances('taint', 'not-ready')).toEqual({ label: 'hold', taint: 'want' });
    expect(stances('taint', 'not-ready', { taints: [taint] })).toEqual({ label: 'want', taint: 'want' });
  });

  test('writes no taint on a node that is not for workspaces', () => {
    expect(stances('taint', 'not-ready', { labels: {} })).toEqual({ label: 'withhold', taint: 'withhold' });
    expect(stances('both', 'not-ready', { labels: {} })).toEqual({ label: 'withhold', taint: 'withhold' });
    expect(stances('both', 'ready', { labels: {} })).toEqual({ label: 'want', taint: 'withhold' });
  });

  test('label keeps a taint that was left there as long as the label still lies', () => {
    const labels = { ...WORKSPACE_NODE, [LABEL]: 'true' };
    expect(stances('label', 'not-ready', { labels, taints: [taint] })).toEqual({ label: 'withhold', taint: 'hold' });
    expect(stances('label', 'ready', { labels, taints: [taint] })).toEqual({ label: 'want', taint: 'withhold' });
  });

  test('claims keys that are exclusive, and gives the evidence as the reason', () => {
    const readiness = new Map([
      ['ws-daemon', { state: 'not-ready' as const, reason: 'because', cause: 'agent' as const, sinceMs: 0 }],
    ]);
    const claims = readinessLabeler({ services: () => [WS_DAEMON_SERVICE], gate: 'label' }).claims({
      ...snapshot(),
      readiness,
      ageMs: 0,
    });
    expect(claims[0]).toMatchObject({ key: LABEL, value: 'true', ownership: 'exclusive', reason: 'because' });
    expect(claims[1]).toMatchObject({ key: TAINT, value: 'true', ownership: 'exclusive' });
  });
});
