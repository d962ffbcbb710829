import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { DiffDocument, DiffedNode } from '@rollcall/common/console.ts';
import { expect, test } from 'vitest';
import { COLORED, toned } from '../testing/documents.test-fixtures.ts';
import { diffText } from './diff-text.ts';

type Change = DiffedNode['changes'][number];

const change = (of: Partial<Change>): Change => ({ kind: 'label', key: 'k', to: 'v', reason: 'why', ...of });
const node = (name: string, changes: Change[], evicted: DiffedNode['evicted'] = []): DiffedNode => ({
  name,
  changes,
  evicted,
});

/** With tones in words. */
function textOf(of: Partial<DiffDocument>): string {
  const document = { replica: replicaDocument(), looked: 50, problems: [], notes: [], evicts: true, nodes: [], ...of };
  return toned(diffText(document, COLORED));
}

test('nothing that changes is good, unless something is wrong with what was proposed', () => {
  expect(textOf({})).toBe('<good>Nothing would change on 50 nodes.</>\n');
  expect(textOf({ problems: ['no'] })).toBe(
    '<bad>Nothing would change on 50 nodes.</>\n<quiet>fail  </><bad>no</>\n      <quiet>fix: correct it, and run diff again</>\n',
  );
});

test('what cannot be told is a note', () => {
  expect(textOf({ notes: ['not known'] })).toContain('\n<quiet>note  </><doubtful>not known</>\n');
});

test('changes are shown by what they do, with how many nodes and one of them', () => {
  const nodes = [
    node('node-1', [change({}), change({ key: 'l', from: 'x', to: undefined })]),
    node('node-2', [change({})]),
  ];
  expect(textOf({ nodes })).toBe(
    [
      '<doubtful>2 of 50 nodes would be changed.</>',
      '',
      '<strong>CHANGE   KEY   NODES   EXAMPLE   REASON</>',
      '+ v      k         2   node-1    why',
      '- x      l         1   node-1    why',
      '',
    ].join('\n'),
  );
});

test('changes of as many nodes are in the order of their keys', () => {
  const nodes = [
    node(
      'node-1',
      ['c', 'a', 'b'].map((key) => change({ key })),
    ),
  ];
  expect(textOf({ nodes }).match(/\+ v +[abc]/g)).toEqual(['+ v      a', '+ v      b', '+ v      c']);
});

test('changes that differ in their values or their kinds are apart', () => {
  const nodes = [
    node('node-1', [change({ from: 'u' }), change({ kind: 'taint' })]),
    node('node-2', [change({ from: 'w' })]),
  ];
  const text = textOf({ nodes });
  expect(text).toContain('u -> v   k ');
  expect(text).toContain('w -> v   k ');
  expect(text).toContain('+ v      k (taint) ');
});

test('pods that would be evicted are counted, and shown with what they require', () => {
  const evicted = [{ pod: 'default/a', misses: ['k=v', 'l=w'] }];
  const text = textOf({ nodes: [node('node-1', [change({})], evicted)] });
  expect(text).toMatch(/^<doubtful>1 of 50 nodes would be changed, and 1 pod would be evicted\.<\/>\n/);
  expect(text).toMatch(/\n\n<strong>EVICTED POD +NODE +REQUIRES<\/>\ndefault\/a +node-1 +k=v and l=w\n$/);
});

test('twenty pods are shown, and the others counted', () => {
  const pods = (size: number) =>
    Array.from({ length: size }, (_each, index) => ({ pod: `p-${index + 1}`, misses: [] }));
  expect(textOf({ nodes: [node('node-1', [change({})], pods(20))] })).toMatch(/\np-20 .*\n$/);
  expect(textOf({ nodes: [node('node-1', [change({})], pods(21))] })).toMatch(
    /\np-20 .*\n<quiet>… and 1 more; -o json prints all\.<\/>\n$/,
  );
});

test('that no pod would be evicted is said where labels go, and evictions are off', () => {
  const off = '\n\n<quiet>No pod would be evicted: --evict is off.</>\n';
  const removed = [node('node-1', [change({ from: 'v', to: undefined })])];
  expect(textOf({ evicts: false, nodes: removed })).toContain(off);
  expect(textOf({ evicts: true, nodes: removed })).not.toContain(off);
  expect(textOf({ evicts: false, nodes: [node('node-1', [change({})])] })).not.toContain(off);
});

test('in a narrow terminal, texts give way and numbers do not', () => {
  const long = (text: string) => `${text}-${'x'.repeat(40)}`;
  const evicted = [{ pod: long('pod'), misses: [long('misses')] }];
  const changes = [change({ key: long('key'), to: long('to'), reason: long('reason') })];
  const document = {
    ...{ replica: replicaDocument(), looked: 50, problems: [], notes: [], evicts: true },
    nodes: [node(long('node'), changes, evicted)],
  };
  const lines = diffText(document, { columns: 80, colors: false }).split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});
