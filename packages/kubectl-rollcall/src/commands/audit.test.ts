import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { expect, test } from 'vitest';
import { ledger } from '../testing/documents.test-fixtures.ts';
import { run } from '../testing/run.test-fixtures.ts';

const audit = (document: object, ...flags: string[]) => run(['audit', ...flags], { '/v1/audit': document });
const standby = replicaDocument({ leading: false });

test('audit exits with 1 while a key is wrong, and with 0 where none is', async () => {
  const wrong = await audit(ledger());
  expect(wrong.exitCode).toBe(1);
  expect(wrong.text).toContain('1 key is wrong now');
  const [key] = ledger().keys;
  const keys = key ? [{ ...key, nodesNow: 0 }] : [];
  expect((await audit(ledger({ keys, entries: [] }))).exitCode).toBe(0);
});

test('audit prints a document where one is asked for', async () => {
  const { text, exitCode } = await audit(ledger(), '-o', 'json');
  expect(JSON.parse(text)).toEqual(ledger());
  expect(exitCode).toBe(1);
});

test('audit prints how often where the wide output is asked for', async () => {
  expect((await audit(ledger(), '-o', 'wide')).text).toContain('TIMES');
});

test('audit prints text that can move no cursor', async () => {
  const entries = ledger().entries.map((entry) => ({ ...entry, evidence: 'a\u0007' }));
  expect((await audit(ledger({ entries }))).text).toContain('a\\u{7}');
});

test('audit is not answered by a standby, but as a document', async () => {
  await expect(audit(ledger({ replica: standby }))).rejects.toMatchObject({ exitCode: 3 });
  expect((await audit(ledger({ replica: standby }), '-o', 'json')).exitCode).toBe(3);
});
