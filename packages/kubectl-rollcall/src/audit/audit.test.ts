import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { expect, test } from 'vitest';
import { ledger, TERMINALS } from '../testing/documents.test-fixtures.ts';
import { auditText } from './audit-text.ts';

test.each(Object.keys(TERMINALS))('the ledger, %s', async (width) => {
  const { isTrue, text } = auditText(ledger(), TERMINALS[width] ?? { columns: undefined, colors: false }, false);
  expect(isTrue).toBe(false);
  await expect(text).toMatchFileSnapshot(`golden/ledger-${width}.txt`);
});

test('nothing wrong at the moment is well, whatever was', () => {
  const document = ledger({ replica: replicaDocument() });
  const keys = document.keys.map((key) => ({ ...key, nodesNow: 0 }));
  const { isTrue, text } = auditText({ ...document, keys, entries: [] }, { columns: undefined, colors: false }, false);
  expect(isTrue).toBe(true);
  expect(text).toContain('no key is wrong now');
});
