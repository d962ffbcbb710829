import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeSummary, ReplicaDocument } from '@rollcall/common/console.ts';
import { SUBJECTS } from '@rollcall/common/guards.ts';
import { expect, test } from 'vitest';
import { COLORED, toned } from '../testing/documents.test-fixtures.ts';
import { statusOf } from './status-of.ts';
import { statusText } from './status-text.ts';

type Change = { nodes?: Partial<NodeSummary>[]; replica?: Partial<ReplicaDocument>; isWide?: boolean };

/** With tones in words. */
function textOf({ nodes = [{}], replica = {}, isWide = false }: Change): string {
  const document = { replica: replicaDocument(replica), nodes: nodes.map((node) => nodeSummary(node)) };
  return toned(statusText(statusOf(document), COLORED, isWide));
}

const field = (name: string, text: string) => `<quiet>${name.padEnd(10)}</>${text}\n`;

test('what is well comes in green, without findings, and the figures follow', () => {
  expect(textOf({ nodes: [{ pool: 'a', services: { x: 'ready' } }] })).toBe(
    [
      '<good>The work of rollcall is done (1 node).</>\n',
      '<good>All services are ready (1 service).</>\n\n',
      field('leader', 'rollcall-coordinator-7c9d5b8f4-abcde, 0.1.0'),
      field('agents', '1 reporting; version 0.1.0 (1)'),
      field('guards', 'none active'),
      '\n<strong>POOL   SERVICE   NODES   READY   NOT READY   UNKNOWN</>\n',
      'a      x             1       1           -         -\n',
    ].join(''),
  );
});

test('a warning makes the answer doubtful, and comes between the answer and the figures', () => {
  const text = textOf({ nodes: [{ agent: 'absent' }] });
  expect(text).toMatch(
    /^<doubtful>The work .*<\/>\n<good>All services .*<\/>\n\n<quiet>warn {2}<\/><doubtful>There is no agent on 1 node/,
  );
  expect(text).toMatch(/\n {6}<quiet>fix: .*<\/>\n\n<quiet>leader/);
});

test('a failure makes the answer bad, and comes before warnings', () => {
  const text = textOf({ nodes: [{ agent: 'absent', pending: true }] });
  expect(text).toMatch(
    /^<bad>The work of rollcall is NOT .*<\/>\n<good>All services .*<\/>\n\n<quiet>fail {2}<\/><bad>1 node has pending/,
  );
  expect(text.indexOf('<quiet>fail')).toBeLessThan(text.indexOf('<quiet>warn'));
});

test('agents are counted by how well they are heard, without those that are none', () => {
  const states = ['fresh', 'leaving', 'unheard', 'silent', 'absent', 'absent'] as const;
  const nodes = states.map((agent) => ({ agent, agentVersion: '' }));
  const text = textOf({ nodes });
  expect(text).toContain('1 reporting, 1 stopping, 1 not reporting yet, 1 silent, 2 missing; version  (6)\n');
});

test('no agent and no version are said to be none', () => {
  expect(textOf({ nodes: [] })).toContain(field('agents', 'none'));
});

test('the leader is named by the standby that answers, as far as it knows', () => {
  expect(textOf({ replica: { leading: false, leader: 'other' } })).toContain(field('leader', 'other'));
  expect(textOf({ replica: { leading: false } })).toContain(field('leader', 'unknown'));
});

test('a dry run is named beside the leader', () => {
  expect(textOf({ replica: { dryRun: true } })).toContain(', 0.1.0, dry run\n');
});

test('a service that is not ready makes the second answer bad, and not the first', () => {
  const text = textOf({ nodes: [{ services: { x: 'not-ready' } }] });
  expect(text).toMatch(/^<good>The work .*<\/>\n<bad>NOT all services are ready .*<\/>\n\n<quiet>fail/);
});

test.each(SUBJECTS)('a guard about %s is named in a finding, and beside "guards"', (subject) => {
  const text = textOf({ replica: { guards: [{ subject, of: 'this', nodes: 3 }] } });
  expect(text).toContain(`A guard is active (${subject}): `);
  expect(text).toContain(field('guards', `${subject} (this)`));
});

test('without a guard, neither the findings nor "guards" name one', () => {
  expect(textOf({})).not.toContain('A guard is active');
  expect(textOf({})).toContain(field('guards', 'none active'));
});

test('guards are named', () => {
  expect(
    textOf({ replica: { guards: ['fleet', 'pool a'].map((of) => ({ subject: 'agents', of, nodes: 3 })) } }),
  ).toContain(field('guards', 'agents (fleet), agents (pool a)'));
});

test('settings, and what is held back, are in the wide output', () => {
  const text = textOf({ isWide: true });
  expect(text).toContain(field('settings', 'gate label, silent after 30 s'));
  expect(text).toContain('HELD BACK');
  expect(textOf({})).not.toMatch(/settings|HELD BACK/);
});

test('what is held back is shown where something is', () => {
  expect(textOf({ nodes: [{ services: { x: 'not-ready' }, heldBack: ['x'] }] })).toMatch(/HELD BACK<\/>\n.* 1\n$/);
});

test('without services there is no table', () => {
  expect(textOf({ nodes: [{ services: {} }, { services: {} }] })).toMatch(
    /\n\nrollcall checks no service on 2 nodes\. A NodeService says what to check:\n {2}kubectl explain nodeservice\.spec\n$/,
  );
});
