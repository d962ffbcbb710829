import {
  checkDocument,
  keyDocument,
  nodeDocument,
  nodeServiceDocument,
  replicaDocument,
} from '@rollcall/common/console.test-fixtures.ts';
import type { KeyDocument, NodeDocument, NodeServiceDocument } from '@rollcall/common/console.ts';
import { expect, test } from 'vitest';
import { chainOf, stateOfDocument } from './chain.ts';

const NOW = '2026-01-01T00:01:00Z';
const SINCE = '2026-01-01T00:00:00Z';
const NOW_MS = Date.parse(NOW);

const KEY = keyDocument({ key: 'k', service: 's' });

/** What the document says of a key that is there as it is wanted. */
const present = (kind: string) => `node/node-7 has the ${kind} k: ${KEY.reason}. rollcall wants it, and it is present.`;

const SERVICE = nodeServiceDocument({
  name: 's',
  since: SINCE,
  reason: 'all agree',
  pods: [{ pod: 'ns/p', ready: true, terminating: false }],
  checks: [checkDocument({ name: 'port', reason: 'tcp accepted' })],
});

function nodeWith(change: Partial<NodeDocument> = {}): NodeDocument {
  return nodeDocument({
    replica: replicaDocument({ now: NOW }),
    agent: { state: 'fresh', lastReportSecondsAgo: 2 },
    services: [SERVICE],
    keys: [KEY],
    ...change,
  });
}

const steps = (service: Partial<NodeServiceDocument> = {}, node: Partial<NodeDocument> = {}) =>
  chainOf({ ...SERVICE, ...service }, nodeWith(node), NOW_MS).map(
    ({ title, verdict, text }) => `${title} ${verdict}: ${text}`,
  );

test('a pod is no step of its own where a check is about it', () => {
  const about = (reason: string) => steps({ checks: [checkDocument({ name: 'pod', reason })] });
  expect(about('pod ns/p is Ready')[0]).toBe('Check pod good: pod ns/p is Ready.');
  expect(about('pod ns/pp is Ready')[0]).toBe('Pod good: ns/p is Ready.');
});

test('a service that was never ready is told, with the deadline', () => {
  const starting = { since: SINCE, deadline: '2026-01-01T00:00:30Z' };
  expect(steps({ starting })).toContain(
    'Startup open: It was never ready on this node, which was created 1 min ago; the startup deadline ended 30 s ago.',
  );
  expect(steps({ starting: { ...starting, deadline: '2026-01-01T00:02:00Z' } })).toContain(
    'Startup open: It was never ready on this node, which was created 1 min ago; the startup deadline ends in 1 min.',
  );
  expect(steps({ starting: { since: SINCE } })).toContain(
    'Startup open: It was never ready on this node, which was created 1 min ago.',
  );
});

test('the chain leads from the pod to the key', () => {
  expect(steps()).toEqual([
    'Pod good: ns/p is Ready.',
    'Check port good: tcp accepted.',
    'Agent good: The agent is reporting, last report 2 s ago.',
    'Verdict good: ready since 1 min: all agree.',
    `Label good: ${present('label')}`,
  ]);
});

test('a key that is not watched is no step', () => {
  const taint: KeyDocument = { ...KEY, kind: 'taint', stance: 'absent', onNode: undefined };
  expect(steps({}, { keys: [KEY, taint] })).toHaveLength(5);
});

test('each check is a step', () => {
  const checks = [
    checkDocument({ name: 'port', reason: 'tcp accepted' }),
    checkDocument({ name: 'file', state: 'not-ready', reason: 'there is none' }),
    checkDocument({ name: 'socket', state: 'unknown', reason: 'not asked yet' }),
  ];
  expect(steps({ checks, pods: [] }).slice(0, 3)).toEqual([
    'Check port good: tcp accepted.',
    'Check file bad: there is none.',
    'Check socket open: not asked yet.',
  ]);
  expect(steps({ checks: [], pods: [] }).map((step) => step.split(':')[0])).toEqual([
    'Agent good',
    'Verdict good',
    'Label good',
  ]);
});

test('each step shows what speaks against it', () => {
  expect(steps({ pods: [{ pod: 'ns/p', ready: true, terminating: true }] })[0]).toBe('Pod bad: ns/p is terminating.');
  expect(steps({}, { agent: { state: 'silent', lastReportSecondsAgo: 45 } })[2]).toBe(
    'Agent bad: The agent is silent, last report 45 s ago. It counts as silent after 30 s.',
  );
  expect(steps({}, { agent: { state: 'silent', guard: 'fleet' } })[2]).toMatch(/^Agent open: .*guard over fleet/);
  const heldBack = { until: '2026-01-01T00:02:00Z', falls: 4 };
  const held = steps({ state: 'not-ready', heldBack, evidence: { state: 'ready', reason: 'it is up' } });
  expect(held).toContain('Evidence good: The evidence alone says ready: it is up.');
  expect(held).toContain('Held back open: It fell 4 times in a short while, and is held back for another 1 min.');
});

test.each([
  ['yes', 'good'],
  ['no', 'bad'],
  ['open', 'open'],
] as const)('a key that agrees with what is wanted (%s) is %s, and the document has the words', (agrees, verdict) => {
  const cause = { isWell: false, headline: 'It is so', next: 'This would help.' };
  const keys = [{ ...KEY, agrees, cause }];
  expect(chainOf(SERVICE, { ...nodeWith(), keys }, NOW_MS).at(-1)).toEqual({
    ...{ title: 'Label', verdict },
    text: 'It is so. This would help.',
  });
});

test('a service is shown as held back while it is, and as none where the node is not for it', () => {
  const heldBack = { until: NOW, falls: 4 };
  const of = (change: Partial<NodeServiceDocument>) => stateOfDocument({ ...SERVICE, ...change });
  expect(of({ state: 'not-ready', heldBack })).toBe('held-back');
  expect(of({ state: 'not-ready' })).toBe('not-ready');
  expect(of({ state: 'ready', heldBack })).toBe('ready');
  expect(of({ state: undefined })).toBe('none');
});

test('a pod that is not Ready speaks against the service', () => {
  const pods = [{ pod: 'ns/p', ready: false, terminating: false }];
  expect(steps({ pods })[0]).toBe('Pod bad: ns/p is not Ready.');
});

test('each pod is a step', () => {
  const pods = ['p', 'q'].map((pod) => ({ pod, ready: true, terminating: false }));
  expect(steps({ pods }).filter((step) => step.startsWith('Pod'))).toHaveLength(2);
});

test('only the keys of the service are steps', () => {
  const kinds = ['label', 'taint', 'annotation', 'condition'] as const;
  const keys = [...kinds.map((kind) => ({ ...KEY, kind })), { ...KEY, service: 'other' }];
  expect(steps({}, { keys }).slice(4)).toEqual(
    ['Label', 'Taint', 'Annotation', 'Condition'].map((kind) => `${kind} good: ${present(kind.toLowerCase())}`),
  );
});

test.each<[NodeDocument['agent'], string]>([
  [{ state: 'unheard' }, 'Agent open: The agent is not reporting yet.'],
  [{ state: 'leaving' }, 'Agent open: The agent is stopping.'],
  [{ state: 'silent' }, 'Agent bad: The agent is silent. It counts as silent after 30 s.'],
  [
    { state: 'silent', guard: 'fleet' },
    'Agent open: The agent is silent. It counts as silent after 30 s. The guard over fleet keeps its silence from being held against it.',
  ],
  [{ state: 'fresh', lastReportSecondsAgo: 0 }, 'Agent good: The agent is reporting, last report just now.'],
])('what is known of the agent: %j', (agent, text) => {
  expect(steps({}, { agent })[2]).toBe(text);
});

test('when the agent reported is counted from the time of the document', () => {
  const replica = replicaDocument({ now: '2026-01-01T00:00:30Z' });
  expect(steps({}, { replica })[2]).toBe('Agent good: The agent is reporting, last report 32 s ago.');
});

test('the verdict is told as far as it is known', () => {
  const verdict = (change: Partial<NodeServiceDocument>) => steps(change)[3];
  expect(verdict({ state: 'not-ready', since: undefined, reason: undefined })).toBe('Verdict bad: not ready.');
  expect(verdict({ state: 'unknown', since: undefined })).toBe('Verdict open: unknown: all agree.');
  expect(verdict({ state: undefined })).toBe('Verdict open: The node is not for this service.');
});

test('the evidence comes before a verdict that is another, and what holds the service back after it', () => {
  const evidence = { state: 'not-ready', reason: 'it is down' } as const;
  const heldBack = { until: NOW, falls: 4 };
  expect(steps({ evidence, heldBack }).slice(3, 6)).toEqual([
    'Evidence bad: The evidence alone says not ready: it is down.',
    'Verdict good: ready since 1 min: all agree.',
    'Held back open: It fell 4 times in a short while, and is held back for another 0 s.',
  ]);
});
