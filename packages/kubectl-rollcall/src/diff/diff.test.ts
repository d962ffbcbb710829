import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TERMINALS } from '../testing/documents.test-fixtures.ts';
import { diffText } from './diff-text.ts';
import { labelOf, readFiles } from './read-files.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'kubectl-rollcall-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const full = path.join(dir, name);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

describe('files', () => {
  test('of Kubernetes objects are told from rule files', () => {
    const objects = file(
      'a.yaml',
      'kind: NodeService\nmetadata: {name: a}\n---\nkind: List\nitems: [{kind: NodePoolLabelSet}]\n',
    );
    const rules = file('rules/accelerators/edgetpu', '# a rule\ndevice.rollcall.dev/edgetpu\nkey=value\n');
    expect(readFiles([objects, rules])).toEqual({
      objects: [{ kind: 'NodeService', metadata: { name: 'a' } }, { kind: 'NodePoolLabelSet' }],
      rules: { 'accelerators/edgetpu': expect.stringContaining('key=value') },
    });
  });

  test('have the label of their name', () => {
    expect([labelOf('edgetpu'), labelOf('./edgetpu'), labelOf('x/accelerators/edgetpu')]).toEqual([
      'edgetpu',
      'edgetpu',
      'accelerators/edgetpu',
    ]);
  });

  test('that are not there are named', () => {
    expect(() => readFiles([path.join(dir, 'none')])).toThrow('Cannot read');
  });
});

const document = {
  replica: replicaDocument(),
  looked: 50,
  problems: ['NodeService ebs would not be accepted (KeyNotAllowed): no'],
  notes: [],
  evicts: true,
  nodes: ['node-1', 'node-2'].map((name) => ({
    name,
    changes: [
      {
        kind: 'label' as const,
        key: 'example.com/tier',
        from: 'gold',
        to: 'silver',
        reason: 'asked for by pools/headless',
      },
      {
        kind: 'label' as const,
        key: 'example.com/old',
        from: 'x',
        to: undefined,
        reason: 'nothing requests it any more',
      },
    ],
    evicted: [{ pod: `default/needs-old-${name}`, misses: ['example.com/old=x'] }],
  })),
};

describe('the text', () => {
  test.each(Object.keys(TERMINALS))('%s', async (width) => {
    const text = diffText(document, TERMINALS[width] ?? { columns: undefined, colors: false });
    await expect(text).toMatchFileSnapshot(`golden/diff-${width}.txt`);
  });

  test('says that nothing would change', () => {
    const text = diffText({ ...document, problems: [], nodes: [] }, { columns: 80, colors: false });
    expect(text).toBe('Nothing would change on 50 nodes.\n');
  });
});
