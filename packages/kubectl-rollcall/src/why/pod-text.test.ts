import { replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { ScheduledNode } from '@rollcall/common/console.ts';
import { expect, test } from 'vitest';
import { COLORED, toned } from '../testing/documents.test-fixtures.ts';
import { whyPodText } from './pod-text.ts';

const pod = { namespace: 'default', name: 'ws-1', workspace: 'it is no workspace', images: [] };

function passing(name: string, score = 0, terms: readonly object[] = [{}]): ScheduledNode {
  return { name, passes: true, refusals: [], score, terms };
}

function refused(name: string, ...messages: string[]): ScheduledNode {
  return { ...passing(name), passes: false, refusals: messages.map((message) => ({ rule: 'r', message })) };
}

/** With tones in words. */
function of(nodes: readonly ScheduledNode[], isWide = false): { isWell: boolean; text: string } {
  const { isWell, text } = whyPodText({ replica: replicaDocument(), pod, nodes }, COLORED, isWide);
  return { isWell, text: toned(text) };
}

const many = (size: number, of: (name: string) => ScheduledNode) =>
  Array.from({ length: size }, (_each, index) => of(`node-${index + 1}`));

test('a pod that rollcall has no opinion about may run anywhere', () => {
  expect(of([passing('node-1', 0, []), passing('node-2', 0, [])])).toEqual({
    isWell: true,
    text: [
      '<good>rollcall lets pod/default/ws-1 run on any node: it is no workspace</>',
      '<quiet>If it stays Pending, kube-scheduler has another reason: kubectl -n default describe pod ws-1</>',
      '',
    ].join('\n'),
  });
});

test('a pod is given its nodes where rollcall prefers some, or refuses some', () => {
  expect(of([passing('node-1', 0, []), passing('node-2', 0, [{}])]).text).toContain('may run on 2 of 2 nodes');
  expect(of([passing('node-1', 0, []), refused('node-2', 'full')]).text).toContain('may run on 1 of 2 nodes');
});

test('the nodes of a pod are shown with the best first, and the refused at the end', () => {
  const { isWell, text } = of([refused('node-1', 'full', 'old'), passing('node-2', 3), passing('node-3', 9)]);
  expect(isWell).toBe(true);
  expect(text).toBe(
    [
      '<good>pod/default/ws-1 may run on 2 of 3 nodes, preferably on node-3 (score 9).</>',
      '<quiet>The other is refused: full (1 node).</>',
      '',
      '<strong>NODES   REASON</>',
      '    1   full',
      '',
      '<strong>NODE     SCORE   VERDICT</>',
      'node-3       9   passes',
      'node-2       3   passes',
      'node-1       -   full; old',
      '',
    ].join('\n'),
  );
});

test('where no node is refused, there are no reasons', () => {
  const { text } = of([passing('node-1')]);
  expect(text).toContain('<quiet>No node is refused.</>\n\n<strong>NODE ');
});

test('the most frequent reason is named, whether it is the only one or not', () => {
  const node = passing('node-9');
  expect(of([node, refused('a', 'full'), refused('b', 'full')]).text).toContain(
    '<quiet>The others are refused: full (2 nodes).</>',
  );
  expect(of([node, refused('a', 'old'), refused('b', 'full'), refused('c', 'full')]).text).toContain(
    '<quiet>Most of the others are refused: full (2 nodes).</>',
  );
});

test('a node that is refused without a reason is counted as such', () => {
  expect(of([refused('a')]).text).toContain('<quiet>1 node: no reason given</>');
});

test('a pod that may run nowhere is given the two most frequent reasons', () => {
  const nodes = [refused('a', 'x'), ...many(2, (name) => refused(name, 'y')), ...many(3, (name) => refused(name, 'z'))];
  const { isWell, text } = of(nodes);
  expect(isWell).toBe(false);
  expect(text).toMatch(
    /^<bad>pod\/default\/ws-1 may run on none of 6 nodes\.<\/>\n<quiet>3 nodes: z; 2 nodes: y<\/>\n\n<strong>NODES/,
  );
});

test('without nodes there is nothing to refuse', () => {
  expect(of([])).toMatchObject({ isWell: false, text: expect.stringContaining('<quiet>The cluster has no nodes.</>') });
});

test('twenty nodes are shown, and all in the wide output', () => {
  expect(of(many(20, (name) => passing(name))).text).not.toContain('more');
  const nodes = many(21, (name) => passing(name));
  expect(of(nodes).text).toMatch(/node-20 .*\n<quiet>… and 1 more; -o wide prints all\.<\/>\n$/);
  expect(of(nodes, true).text).toMatch(/node-21 +0 {3}passes\n$/);
});
