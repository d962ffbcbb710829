import { describe, expect, test } from 'vitest';
import { checkDocument, nodeServiceDocument, replicaDocument } from './console.test-fixtures.ts';
import type { NodeDocument, NodeServiceDocument } from './console.ts';
import { stepsOf } from './steps.ts';

const NOW = '2026-01-01T00:01:00Z';
const SINCE = '2026-01-01T00:00:00Z';
const SERVICE = nodeServiceDocument({
  since: SINCE,
  reason: 'all agree',
  pods: [{ pod: 'ns/p', ready: true, terminating: false }],
  checks: [checkDocument({ name: 'port', reason: 'tcp accepted' })],
});

function steps(change: Partial<NodeServiceDocument> = {}, agent: NodeDocument['agent'] = { state: 'fresh' }): string[] {
  const found = stepsOf({ ...SERVICE, ...change }, { agent, replica: replicaDocument({ now: NOW }) });
  return found.map(({ title, speaks, text }) => `${title} (${speaks}): ${text}`);
}

test('the steps lead from the pod to the verdict', () => {
  expect(steps({}, { state: 'fresh', lastReportSecondsAgo: 2, version: '1' })).toEqual([
    'pod (for): ns/p is Ready',
    'check (for): port passes: tcp accepted',
    'report (for): reporting, last 2 s ago, version 1',
    'verdict (for): ready, since 60s ago: all agree',
  ]);
});

describe('a pod', () => {
  test('is no step of its own where a check is about it', () => {
    const about = (reason: string) => steps({ checks: [checkDocument({ name: 'pod', reason })] });
    expect(about('pod ns/p is Ready')[0]).toBe('check (for): pod passes: pod ns/p is Ready');
    expect(about('pod ns/pp is Ready')[0]).toBe('pod (for): ns/p is Ready');
  });

  test.each([
    [{ ready: false, terminating: false }, 'is not Ready'],
    [{ ready: true, terminating: true }, 'is terminating'],
  ])('speaks against the service: %j', (state, text) => {
    expect(steps({ pods: [{ pod: 'ns/p', ...state }] })[0]).toBe(`pod (against): ns/p ${text}`);
  });

  test('is a step each', () => {
    const pods = ['p', 'q'].map((pod) => ({ pod, ready: true, terminating: false }));
    expect(steps({ pods }).filter((step) => step.startsWith('pod'))).toHaveLength(2);
  });
});

test('each check is a step', () => {
  const checks = [
    checkDocument({ name: 'file', state: 'not-ready', reason: 'there is none' }),
    checkDocument({ name: 'socket', state: 'unknown', reason: 'not asked yet' }),
  ];
  expect(steps({ checks, pods: [] }).slice(0, 2)).toEqual([
    'check (against): file fails: there is none',
    'check (neither): socket is unknown: not asked yet',
  ]);
});

test.each<[NodeDocument['agent'], string]>([
  [{ state: 'unheard' }, 'report (neither): not reporting yet'],
  [{ state: 'silent', lastReportSecondsAgo: 45 }, 'report (neither): silent, last 45 s ago'],
  [
    { state: 'silent', guard: 'fleet' },
    'report (neither): silent; a guard over fleet delays what follows from its silence',
  ],
])('what is known of the agent: %j', (agent, text) => {
  expect(steps({}, agent)[2]).toBe(text);
});

test('a service that was never ready has a step, with the deadline', () => {
  expect(steps({ starting: { since: SINCE, deadline: '2026-01-01T00:02:00Z' } })).toContain(
    'startup (neither): never ready yet; node created 60s ago, deadline in 60s',
  );
  expect(steps({ starting: { since: SINCE } })).toContain('startup (neither): never ready yet; node created 60s ago');
});

test('the verdict is told as far as it is known', () => {
  const verdict = (change: Partial<NodeServiceDocument>) => steps(change).at(-1);
  expect(verdict({ state: 'not-ready', since: undefined, reason: undefined })).toBe('verdict (against): not-ready');
  expect(verdict({ state: 'unknown', since: undefined })).toBe('verdict (neither): unknown: all agree');
  expect(verdict({ state: undefined, since: undefined, reason: undefined })).toBe(
    'verdict (neither): does not apply to this node',
  );
});

test('the evidence comes before a verdict that is another, and what holds the service back after it', () => {
  const evidence = { state: 'not-ready', reason: 'it is down' } as const;
  expect(steps({ evidence, heldBack: { until: '2026-01-01T00:02:00Z', falls: 4 } }).slice(3)).toEqual([
    'evidence (against): not-ready: it is down',
    'verdict (for): ready, since 60s ago: all agree',
    'held back (neither): for another 60s: it became not ready 4 times in 5 minutes',
  ]);
});
