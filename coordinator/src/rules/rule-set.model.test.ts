import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Condition, valueMatches } from './condition.ts';
import { globMatches } from './glob.ts';
import { labelOfFile } from './label-of-file.ts';
import { parseRuleFile } from './parse-rule-file.ts';
import type { Rule } from './rule-index.ts';
import { RuleSet } from './rule-set.ts';

type Labels = Readonly<Record<string, string>>;
type Resources = Readonly<Record<string, string>> | undefined;

/** The same as plainly as can be: go through all rules until nothing is new. */
function naively(rules: readonly Rule[], labels: Labels, resources: Resources, benefitOfDoubt: boolean): string[] {
  const known = new Map(Object.entries(labels));
  const implied = new Set<string>();
  const holds = (condition: Condition) => {
    if (condition.kind === 'label') {
      return [...known].some(([key, value]) => globMatches(condition.key, key) && valueMatches(condition, value));
    }
    return resources === undefined ? benefitOfDoubt : Number(resources[condition.name] ?? 0) > 0;
  };
  for (let before = -1; before !== implied.size; ) {
    before = implied.size;
    for (const { label, conditions } of rules) {
      if (!(conditions === undefined ? benefitOfDoubt : conditions.some(holds))) continue;
      implied.add(label);
      if (!known.has(label)) known.set(label, 'true');
    }
  }
  return [...implied].sort();
}

const names = fc.constantFrom('a', 'b', 'c', 'd', 'n/a', 'n/b', 'm/c');
const lines = fc.oneof(
  names,
  names.map((key) => `${key}=true`),
  names.map((key) => `${key}=f*`),
  fc.constantFrom('n/*', '?', '*/c=true', 'resource:r', 'resource:s', '# no', 'not a label', ''),
);
const contents = fc.oneof(
  { weight: 9, arbitrary: fc.array(lines, { maxLength: 4 }).map((all) => all.join('\n')) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const trees = fc.dictionary(names, contents, { maxKeys: 7, noNullPrototype: true });
const labelSets = fc.dictionary(names, fc.constantFrom('true', 'false', ''), { maxKeys: 4, noNullPrototype: true });
const resourceSets = fc.option(
  fc.dictionary(fc.constantFrom('r', 's'), fc.constantFrom('0', '1'), { noNullPrototype: true }),
  { nil: undefined },
);

function rulesOf(tree: Record<string, string | undefined>): Rule[] {
  return Object.entries(tree).map(([file, content]) => {
    return { label: file, file, conditions: content === undefined ? undefined : parseRuleFile(content).conditions };
  });
}

describe('rules', () => {
  test('A-8: imply the least fixpoint, as a naive model finds it, and leave open what more there may be', () => {
    fc.assert(
      fc.property(trees, labelSets, resourceSets, (tree, labels, resources) => {
        const rules = rulesOf(tree);
        const { implied, unknown } = new RuleSet(rules).evaluate(labels, resources);
        const least = naively(rules, labels, resources, false);
        const most = naively(rules, labels, resources, true);
        expect([...implied.keys()]).toEqual(least);
        expect([...unknown.keys()]).toEqual(most.filter((label) => !least.includes(label)));
      }),
      { numRuns: 10_000 },
    );
  }, 60_000);

  test('say the same in whatever order they come', () => {
    fc.assert(
      fc.property(trees, labelSets, resourceSets, (tree, labels, resources) => {
        const rules = rulesOf(tree);
        const [one, other] = [new RuleSet(rules), new RuleSet(rules.toReversed())];
        const found = other.evaluate(Object.fromEntries(Object.entries(labels).reverse()), resources);
        expect(found).toEqual(one.evaluate(labels, resources));
        expect(other.problems).toEqual(one.problems);
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  test('imply no less where a node has more', () => {
    fc.assert(
      fc.property(trees, labelSets, labelSets, (tree, labels, more) => {
        const set = new RuleSet(rulesOf(tree));
        // A value that somebody set takes the place of the derived one.
        const added = Object.fromEntries(Object.entries(more).filter(([key]) => !set.labels.has(key)));
        const few = set.evaluate(labels, {}).implied;
        const many = set.evaluate({ ...added, ...labels }, { r: '1' }).implied;
        expect([...few.keys()].filter((label) => !many.has(label))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  test('of any file names and contents imply nothing but valid labels', () => {
    const pieces = fc.constantFrom('a', 'B', '/', '.', '-', '_', '~', ' ', '\0', '*');
    const paths = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.array(pieces, { maxLength: 8 }).map((all) => all.join('')),
    );
    const anything = fc.oneof(lines, fc.constant('*'), fc.string({ unit: 'binary' }));
    const files = fc.array(fc.tuple(paths, fc.array(anything, { maxLength: 3 })), { maxLength: 8 });
    fc.assert(
      fc.property(files, labelSets, (given, labels) => {
        const rules = new Map<string, Rule>();
        for (const [file, content] of given) {
          const named = labelOfFile(file, () => undefined);
          if ('problem' in named) continue;
          rules.set(file, { ...named, file, conditions: parseRuleFile(content.join('\n')).conditions });
        }
        const { implied } = new RuleSet(rules.values()).evaluate(labels, {});
        expect([...implied.keys()].filter((key) => !isLabelKey(key))).toEqual([]);
      }),
      { numRuns: 10_000 },
    );
  }, 60_000);
});

describe('many rules', () => {
  const node = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`feature.node.kubernetes.io/pci-${n}_10de.present`, 'true']),
  );
  const msPerNode = (conditionOf: (n: number) => string) => {
    const files = Array.from({ length: 1000 }, (_, n) => [`n/l${n}`, conditionOf(n)]);
    const set = new RuleSet(rulesOf(Object.fromEntries(files)));
    for (let run = 0; run < 50; run += 1) set.evaluate(node, {});
    const started = performance.now();
    for (let run = 0; run < 200; run += 1) set.evaluate(node, {});
    return (performance.now() - started) / 200;
  };

  // Many times what was measured, for a machine that is busy with other things.
  test('cost a node next to nothing where they name their labels', () => {
    const keyOf = (n: number) => `feature.node.kubernetes.io/pci-${n}_10de.present=true`;
    expect(msPerNode((n) => `${keyOf(n)}\nx${n}\ny${n}\nz${n}`)).toBeLessThan(1);
  });

  test('cost a node no more where all are patterns, as other nodes had its keys before', () => {
    expect(msPerNode((n) => `feature.node.kubernetes.io/pci-${n}_*`)).toBeLessThan(1);
  });
});
