import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { AuditDocument, AuditEntry, AuditKey } from '@rollcall/common/console.ts';
import { expect, test } from 'vitest';
import { COLORED, ledger, toned } from '../testing/documents.test-fixtures.ts';
import { auditText } from './audit-text.ts';

const key = (change: Partial<AuditKey>): AuditKey => ({
  kind: 'label',
  key: 'k',
  saidReadySeconds: 0,
  saidNotReadySeconds: 0,
  nodesNow: 0,
  ...change,
});
const entry = (change: Partial<AuditEntry>): AuditEntry => ({
  node: 'node-1',
  kind: 'label',
  key: 'k',
  direction: 'said-ready',
  cause: 'unwritten',
  seconds: 1,
  times: 2,
  evidence: 'e',
  ...change,
});

/** With tones in words. */
function textOf(change: Partial<AuditDocument>, isWide = false): string {
  const document = ledger({ replica: replicaDocument(), keys: [], entries: [], ...change });
  return toned(auditText(document, COLORED, isWide).text);
}

const nodesIn = (text: string) => text.match(/^node-\d+/gm) ?? [];

test('the answer is good while no key is wrong', () => {
  expect(textOf({ keys: [key({})] })).toMatch(
    /^<good>Keys that rollcall writes contradicted the evidence for 41\.3 s per node and day, on 120 nodes; no key is wrong now\.<\/>\n<quiet>rollcall-coordinator-\S+ began to count 2d ago; .*<\/>\n/,
  );
});

test('the answer is bad while some are, which are counted', () => {
  expect(textOf({ keys: [key({ nodesNow: 1 })] })).toMatch(/^<bad>.*; 1 key is wrong now\./);
  expect(textOf({ keys: [key({ nodesNow: 1 }), key({ nodesNow: 2 })] })).toMatch(/; 3 keys are wrong now\./);
});

test('a dry run is about the keys of others', () => {
  expect(textOf({ replica: replicaDocument({ dryRun: true }) })).toMatch(/^<good>Keys that others write \(dry run\) /);
});

test.each([
  [0, '-'],
  [0.02, '0.02s'],
  [9.994, '9.99s'],
  [10, '10s'],
  [119, '119s'],
  [120, '2m'],
  [7200, '2h'],
])('%d s are written as %s', (saidReadySeconds, text) => {
  expect(textOf({ keys: [key({ saidReadySeconds })] })).toMatch(new RegExp(`\\nk +${text} +- +-\\n`));
});

test('keys are in a table, with their kind where they are no labels', () => {
  const keys = [key({ saidNotReadySeconds: 10, nodesNow: 3 }), key({ kind: 'taint', key: 't' })];
  expect(textOf({ keys })).toContain(
    [
      '\n\n<strong>KEY         SAID READY   SAID NOT READY   NODES NOW</>',
      'k                    -              10s           3',
      't (taint)            -                -           -\n',
    ].join('\n'),
  );
});

test('without keys and entries there are no tables', () => {
  expect(textOf({}).split('\n')).toHaveLength(3);
});

test('what is wrong now comes first, then what was wrong for the longest', () => {
  const since = '2026-03-01T11:59:00Z';
  const entries = [
    entry({ node: 'node-1', seconds: 5 }),
    entry({ node: 'node-2', seconds: 9 }),
    entry({ node: 'node-3', seconds: 1, since }),
    entry({ node: 'node-4', seconds: 2, since }),
  ];
  const text = textOf({ entries });
  expect(nodesIn(text)).toEqual(['node-4', 'node-3', 'node-2', 'node-1']);
  expect(text).toMatch(/node-3 +k +ready +1\.00s\+ +unwritten +e\n/);
  expect(text).toMatch(/node-1 +k +ready +5\.00s +unwritten +e\n/);
});

test('what can be done is said where the first is wrong now', () => {
  const wrong = entry({ since: '2026-03-01T11:59:00Z' });
  expect(textOf({ entries: [wrong] })).toMatch(/\n\n<quiet>fix: kubectl rollcall why node\/node-1 k<\/>\n$/);
  expect(textOf({ entries: [entry({})] })).not.toContain('fix:');
});

test('twenty entries are shown, and all in the wide output, with how often', () => {
  const entries = (size: number) =>
    Array.from({ length: size }, (_each, index) => entry({ node: `node-${index + 1}`, seconds: 100 - index }));
  expect(textOf({ entries: entries(20) })).toMatch(/\nnode-20 .*\n$/);
  const text = textOf({ entries: entries(21) });
  expect(text).toMatch(/\nnode-20 .*\n<quiet>… and 1 more; -o wide prints all\.<\/>\n$/);
  expect(text).not.toContain('TIMES');
  const wide = textOf({ entries: entries(21) }, true);
  expect(nodesIn(wide)).toHaveLength(21);
  expect(wide).toMatch(/CAUSE +TIMES +EVIDENCE<\/>\nnode-1 .* 2 {3}e\n/);
  expect(wide).not.toContain('more;');
});

test('in a narrow terminal, texts give way', () => {
  const long = (text: string) => `${text}-${'x'.repeat(40)}`;
  const entries = [entry({ node: long('node'), key: long('key'), evidence: long('evidence') })];
  const document = ledger({ keys: [key({ key: long('key') })], entries });
  const { text } = auditText(document, { columns: 80, colors: false }, false);
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
});
