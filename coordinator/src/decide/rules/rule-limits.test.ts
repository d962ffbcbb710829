import { expect, test } from 'vitest';
import { parseRuleFile } from './parse-rule-file.ts';
import type { Rule } from './rule-graph.ts';
import { MATCHES_MAX, PREDICATES_MAX, RULE_KEYS_BYTES_MAX } from './rule-limits.ts';
import { RuleSet } from './rule-set.ts';

const rule = (label: string, content: string): Rule => ({
  label,
  file: label,
  conditions: parseRuleFile(content).conditions,
});
const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index).padStart(4, '0'));
const line = (count: number, predicate: string) => Array.from({ length: count }, () => predicate).join(' && ');
const lines = (count: number, text: string) => Array.from({ length: count }, () => text).join('\n');

/** Rules that fit exactly, one more, and what is said of it. */
const ROWS: [what: string, rules: Rule[], left: string, says: string][] = [
  [
    'predicates',
    [...numbered(10).map((name) => rule(`a${name}`, lines(50, line(20, 'x')))), rule('b', 'x'), rule('c', '# none')],
    'b',
    `it has 1 predicates, and the files before it leave 0 of ${PREDICATES_MAX}; a pattern counts as 10, and each value in a list as one`,
  ],
  [
    'patterns',
    [rule('a', lines(50, line(20, 'x*'))), rule('b', 'x in (y, z)'), rule('c', '')],
    'b',
    'it has 2 predicates',
  ],
  [
    'labels that patterns match',
    [
      ...numbered(200).map((name) => rule(`a${name}`, 'x')),
      rule('b', lines(10, line(10, 'a*'))),
      rule('c', 'a*'),
      rule('d', 'x'),
    ],
    'c',
    `the patterns of all rules would match the labels of more than ${MATCHES_MAX} other rules`,
  ],
];

test.each(ROWS)(
  'of too many %s the file that exceeds the limit is left out, and the others stay',
  (_what, rules, left, says) => {
    const set = new RuleSet(rules);
    expect(set.problems).toEqual([{ file: left, problem: expect.stringContaining(`is left out: `) }]);
    expect(set.problems[0]?.problem).toContain(says);
    expect(set.rules.map(({ label }) => label)).toEqual(
      rules.map(({ label }) => label).filter((label) => label !== left),
    );
  },
);

test('labels that a node could not list are left out by the order of files', () => {
  const rules = numbered(1000).map((name) => rule(`${'a'.repeat(59)}${name}`, `x => ${'v'.repeat(63)}`));
  const set = new RuleSet(rules);
  const bytes = set.rules.reduce((sum, { label }) => sum + `"label:${label}":"rule:service",`.length + 63, 0);
  expect(bytes).toBeLessThanOrEqual(RULE_KEYS_BYTES_MAX);
  expect(set.rules.map(({ label }) => label)).toEqual(rules.slice(0, set.rules.length).map(({ label }) => label));
  expect(set.problems).toHaveLength(1000 - set.rules.length);
  expect(set.problems[0]?.problem).toBe('is left out: the labels of all rules could take more than 32 KiB on a node');
});

test('a circle that is too large to be followed is reported, and its lines outside of the circle apply', () => {
  const names = numbered(300).map((name) => `a${name}`);
  const rules = names.map((name, index) =>
    rule(name, `${names[(index + 1) % 300]}\n${index < 60 ? 'a* = nosuch\n' : ''}seed${index}`),
  );
  const set = new RuleSet(rules);
  expect(set.problems[0]?.problem).toMatch(/depend on each other in a cycle.*too large to be followed/);
  const inventory = {} as never;
  expect([...set.evaluate({ seed5: '' }, inventory).implied.keys()]).toEqual(['a0005']);
});

test('a label with an empty value takes its entry in the list, and no more', () => {
  const entry = '"label:":"rule:service",'.length;
  const width = 64 - entry;
  const rules = numbered(RULE_KEYS_BYTES_MAX / 64 + 1).map((name) => rule(name.padStart(width, 'a'), 'x =>'));
  const set = new RuleSet(rules);
  expect(set.problems.map(({ file }) => file)).toEqual([rules.at(-1)?.file]);
});
