import { expect, test } from 'vitest';
import type { IntentEntry } from '../../decide/intent/intent.ts';
import { rulesDocument } from './rules-document.ts';

const RULES = [
  { label: 'a', file: 'a', conditions: [{ line: 2, text: 'b && !c => x', value: 'x', literals: [] }] },
  { label: 'd', file: 'd', conditions: undefined },
];
const entry = (stance: IntentEntry['stance'], labeler = 'implied-labels'): IntentEntry => ({
  kind: 'label',
  key: 'a',
  value: 'x',
  stance,
  ownership: 'forced',
  cause: 'evidence',
  reason: 'line 2 of a',
  labeler,
  overruled: [],
});
const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`);

function documentOf(label?: string) {
  return rulesDocument({
    rules: RULES,
    problems: [{ file: 'd', problem: 'cannot be read' }],
    nodes,
    intent: (node) => {
      const stance = node === 'n1' ? 'keep' : node === 'n2' ? 'absent' : 'present';
      return new Map([['label:a', entry(stance, node === 'n3' ? 'pool-labels' : 'implied-labels')]]);
    },
    label,
  });
}

test('the rules are shown with what they do to the fleet', async () => {
  expect(await documentOf()).toEqual({
    labels: ['a', 'd'],
    problems: [{ file: 'd', problem: 'cannot be read' }],
    rules: [
      {
        label: 'a',
        file: 'a',
        lines: [{ line: 2, text: 'b && !c => x', value: 'x' }],
        nodes: { given: 97, held: 1, withheld: 1 },
      },
      { label: 'd', file: 'd', lines: 'unread', nodes: { given: 0, held: 0, withheld: 0 } },
    ],
  });
});

test('a single one is shown with its nodes and the reason on each', async () => {
  const { rules = [] } = (await documentOf('a')) ?? {};
  expect(rules).toHaveLength(1);
  const given = expect.objectContaining({ length: 97 });
  const held = [{ node: 'n1', value: 'x', reason: 'line 2 of a' }];
  expect(rules[0]?.nodes).toEqual({ given, held, withheld: [expect.objectContaining({ node: 'n2' })] });
});

test('a label that no rule gives is unknown', async () => {
  expect(await documentOf('other')).toBeUndefined();
});

test('others get a turn while many nodes are looked at', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  const intent = () => {
    const untilMs = performance.now() + 1;
    while (performance.now() < untilMs);
    return undefined;
  };
  await rulesDocument({ rules: RULES, problems: [], nodes, intent, label: undefined });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(1);
});
