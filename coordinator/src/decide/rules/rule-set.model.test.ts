import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { globMatches } from '../../model/inventory/glob.ts';
import { gpus, inventory, seen } from '../../model/inventory/inventory.test-fixtures.ts';
import type { Inventory } from '../../model/inventory/inventory.ts';
import { labelOfFile, parseRuleFile } from './parse-rule-file.ts';
import type { Rule } from './rule-graph.ts';
import { RuleSet } from './rule-set.ts';

type Labels = Readonly<Record<string, string>>;

function rulesOf(tree: Record<string, string | undefined>): Rule[] {
  return Object.entries(tree).map(([file, content]) => {
    return { label: file, file, conditions: content === undefined ? undefined : parseRuleFile(content).conditions };
  });
}

function valuesOf(set: RuleSet, labels: Labels, known: Inventory): Record<string, string> {
  const { implied } = set.evaluate(labels, known);
  return Object.fromEntries([...implied].map(([label, { value }]) => [label, value]));
}

describe('files that the predecessor would understand', () => {
  /** As plainly as can be: lines are keys, `KEY=VALUE` or a resource, and all rules are gone through until nothing is new. */
  function naively(
    tree: Record<string, string | undefined>,
    labels: Labels,
    resources: Record<string, string> | undefined,
    benefitOfDoubt: boolean,
  ): string[] {
    const known = new Map(Object.entries(labels));
    const implied = new Set<string>();
    const holds = (line: string) => {
      if (/^#|^$|^not/.test(line)) return false;
      const resource = /^resource:(.*)/.exec(line)?.[1];
      if (resource !== undefined) return resources ? Number(resources[resource] ?? 0) > 0 : benefitOfDoubt;
      const [pattern = '', value] = line.split('=');
      return [...known].some(
        ([key, there]) => globMatches(pattern, key) && (value === undefined || globMatches(value, there)),
      );
    };
    for (let before = -1; before !== implied.size; ) {
      before = implied.size;
      for (const [label, content] of Object.entries(tree)) {
        if (!(content === undefined ? benefitOfDoubt : content.split('\n').some(holds))) continue;
        implied.add(label);
        if (!known.has(label)) known.set(label, 'true');
      }
    }
    return [...implied].sort();
  }

  const names = fc.constantFrom('a', 'b', 'c', 'd', 'n/a', 'n/b', 'n/c', 'm/c');
  const lines = fc.oneof(
    names,
    names.map((key) => `${key}=true`),
    // What a file says that cannot be read may be another value, too.
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

  test('A-8: imply the least fixpoint, as a naive model finds it, and leave open what more there may be', () => {
    fc.assert(
      fc.property(trees, labelSets, resourceSets, (tree, labels, resources) => {
        const { implied, unknown } = new RuleSet(rulesOf(tree)).evaluate(labels, inventory({ allocatable: resources }));
        const least = naively(tree, labels, resources, false);
        const most = naively(tree, labels, resources, true);
        expect([...implied.keys()]).toEqual(least);
        expect([...unknown.keys()]).toEqual(most.filter((label) => !least.includes(label)));
      }),
      { numRuns: 2000 },
    );
  });

  test('imply no less where a node has more', () => {
    fc.assert(
      fc.property(trees, labelSets, labelSets, (tree, labels, more) => {
        const set = new RuleSet(rulesOf(tree));
        // A value that another writer set takes the place of the derived one.
        const added = Object.fromEntries(Object.entries(more).filter(([key]) => !set.labels.has(key)));
        const few = set.evaluate(labels, inventory()).implied;
        const many = set.evaluate({ ...added, ...labels }, inventory({ allocatable: { r: '1' } })).implied;
        expect([...few.keys()].filter((label) => !many.has(label))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });
});

/** What can be unknown of a node, and is not where it has a value here. */
type World = {
  labels: Labels;
  gpus: readonly ('nvidia' | 'vfio-pci' | '')[];
  /** There may be more. */
  isUnread: boolean;
  resource: string | undefined;
  module: boolean | undefined;
  kernel: string | undefined;
  dra: number | undefined;
  nfd: number | undefined;
  flag: boolean | undefined;
};

function inventoryIn({ gpus: drivers, isUnread, resource, module, kernel, dra, nfd, flag }: World): Inventory {
  return inventory({
    ...seen(...gpus(...drivers)),
    unread: [...(isUnread ? (['pci'] as const) : []), ...(kernel === undefined ? (['facts'] as const) : [])],
    allocatable: resource === undefined ? undefined : { r: resource },
    answers: module === undefined ? {} : { 'module:m': module },
    facts: kernel === undefined ? {} : { kernel },
    dra: dra === undefined ? undefined : new Map([['d', { count: dra, isComplete: true }]]),
    nfd: {
      ...(nfd === undefined ? {} : { 'pci.device': nfd, 'cpu.model.id': `${nfd}` }),
      ...(flag === undefined ? {} : { 'cpu.cpuid.X': flag || null }),
    },
  });
}

/** A predicate as it is written, and what it means in a world where all is known. */
type Sample = { text: string; isSo: (world: World, labels: Labels) => boolean };

const BASE = ['a', 'b', 'n/c'];
const RULES = ['d0', 'd1', 'd2', 'd3', 'n/d4'];
const numbers = fc.integer({ min: 0, max: 4 });
const orders = fc.constantFrom<[string, (a: number, b: number) => boolean]>(
  ['>', (a, b) => a > b],
  ['>=', (a, b) => a >= b],
  ['<', (a, b) => a < b],
  ['<=', (a, b) => a <= b],
  ['=', (a, b) => a === b],
);

function ordered(name: string, amountOf: (world: World) => number): fc.Arbitrary<Sample> {
  return fc.tuple(orders, numbers).map(([[op, is], bound]) => ({
    text: `${name} ${op} ${bound}`,
    isSo: (world) => is(amountOf(world), bound),
  }));
}

/** Patterns that match several keys, of which no rule gives one. */
const patternTerms: fc.Arbitrary<Sample> = fc
  .constantFrom<[string, (value: string) => boolean]>(['?', () => true], ['?=x', (value) => value === 'x'])
  .map(([text, is]) => ({
    text,
    isSo: (_, labels) => ['a', 'b'].some((key) => Object.hasOwn(labels, key) && is(labels[key] ?? '')),
  }));

function labelTerms(keys: readonly string[]): fc.Arbitrary<Sample> {
  const onLabel = (text: string, key: string, is: (value: string) => boolean): Sample => ({
    text,
    isSo: (_, labels) => Object.hasOwn(labels, key) && is(labels[key] ?? ''),
  });
  const keyTerms = fc.constantFrom(...keys).chain((key) =>
    fc.oneof(
      fc.constant(onLabel(key, key, () => true)),
      fc.constantFrom('true', 'x', '3').map((value) => onLabel(`${key}=${value}`, key, (there) => there === value)),
      fc.constant(onLabel(`${key} in (x, t*)`, key, (there) => there === 'x' || there.startsWith('t'))),
      fc.constant(onLabel(`${key} > 2`, key, (there) => Number(there) > 2)),
    ),
  );
  return fc.oneof({ weight: 4, arbitrary: keyTerms }, { weight: 1, arbitrary: patternTerms });
}

const machineTerms: fc.Arbitrary<Sample> = fc.oneof(
  ordered('count:nvidia-gpu', ({ gpus: all }) => all.length),
  ordered('count:gpu', ({ gpus: all }) => all.length),
  ordered('resource:r', ({ resource }) => Number(resource)),
  ordered('dra:d', ({ dra = 0 }) => dra),
  ordered('nfd:pci.device', ({ nfd = 0 }) => nfd),
  ordered('nfd:cpu.model.id', ({ nfd = 0 }) => nfd),
  fc.constant<Sample>({ text: 'nfd:cpu.cpuid.X', isSo: ({ flag }) => flag === true }),
  fc.constant<Sample>({ text: 'module:m', isSo: ({ module }) => module === true }),
  fc.constant<Sample>({ text: 'fact:kernel >= 6.8', isSo: ({ kernel }) => kernel === '6.12.1' }),
  fc.constantFrom('nvidia', 'mixed').map(
    (driver): Sample => ({
      text: `driver:nvidia-gpu = ${driver}`,
      isSo: ({ gpus: all }) => (new Set(all).size > 1 ? driver === 'mixed' : all[0] === driver),
    }),
  ),
);

type SampleLine = { literals: readonly { sample: Sample; isNegated: boolean }[]; value: string };

function lineOf(keys: readonly string[]): fc.Arbitrary<SampleLine> {
  const literal = fc.record({ sample: fc.oneof(labelTerms(keys), machineTerms), isNegated: fc.boolean() });
  return fc.record({
    literals: fc.array(literal, { minLength: 1, maxLength: 3 }),
    value: fc.constantFrom('true', 'true', 'x', '3'),
  });
}

function textOf({ literals, value }: SampleLine): string {
  const predicates = literals.map(({ sample, isNegated }) => `${isNegated ? '!' : ''}${sample.text}`);
  return `${predicates.join(' && ')}${value === 'true' ? '' : ` => ${value}`}`;
}

/** Each rule asks for what is before it, or for anything. */
const filesOf = (isOrdered: boolean) =>
  fc
    .tuple(
      ...RULES.map((_, index) =>
        fc.array(lineOf([...BASE, ...(isOrdered ? RULES.slice(0, index) : RULES)]), { maxLength: 3 }),
      ),
    )
    .map((files) => new Map(RULES.map((label, index) => [label, files[index] ?? []])));

const setOf = (files: ReadonlyMap<string, readonly SampleLine[]>) =>
  new RuleSet(rulesOf(Object.fromEntries([...files].map(([label, lines]) => [label, lines.map(textOf).join('\n')]))));

const worlds: fc.Arbitrary<World> = fc.record({
  labels: fc.dictionary(fc.constantFrom(...BASE, 'd1'), fc.constantFrom('true', 'x', '3', ''), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
  gpus: fc.array(fc.constantFrom('nvidia', 'nvidia', 'vfio-pci', ''), { maxLength: 3 }),
  isUnread: fc.boolean(),
  resource: fc.option(numbers.map(String), { nil: undefined }),
  module: fc.option(fc.boolean(), { nil: undefined }),
  kernel: fc.option(fc.constantFrom('6.1.0', '6.12.1'), { nil: undefined }),
  dra: fc.option(numbers, { nil: undefined }),
  nfd: fc.option(numbers, { nil: undefined }),
  flag: fc.option(fc.boolean(), { nil: undefined }),
});

/** A world in which what was unknown of another is known. */
function completed(world: World, pick: World): World {
  return {
    labels: world.labels,
    gpus: world.isUnread ? [...world.gpus, ...pick.gpus] : world.gpus,
    isUnread: false,
    resource: world.resource ?? pick.resource ?? '0',
    module: world.module ?? pick.module ?? false,
    kernel: world.kernel ?? pick.kernel ?? '6.1.0',
    dra: world.dra ?? pick.dra ?? 0,
    nfd: world.nfd ?? pick.nfd ?? 0,
    flag: world.flag ?? pick.flag ?? false,
  };
}

describe('rules of random expressions', () => {
  test('mean what a naive model makes of them where everything is known', () => {
    fc.assert(
      fc.property(filesOf(true), worlds, (files, given) => {
        const world = completed(given, given);
        const labels: Record<string, string> = { ...world.labels };
        const implied: Record<string, string> = {};
        for (const [label, lines] of files) {
          const line = lines.find(({ literals }) =>
            literals.every(({ sample, isNegated }) => sample.isSo(world, labels) !== isNegated),
          );
          if (!line) continue;
          implied[label] = line.value;
          labels[label] ??= line.value;
        }
        const set = setOf(files);
        expect(set.problems).toEqual([]);
        expect(valuesOf(set, world.labels, inventoryIn(world))).toEqual(implied);
        expect(set.evaluate(world.labels, inventoryIn(world)).unknown.size).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });

  test('say of nothing that it is so, or is not, that could turn out otherwise, in circles as well', () => {
    let unknowns = 0;
    fc.assert(
      fc.property(filesOf(false), worlds, fc.array(worlds, { minLength: 4, maxLength: 4 }), (files, world, picks) => {
        const set = setOf(files);
        const { implied, unknown } = set.evaluate(world.labels, inventoryIn(world));
        unknowns += unknown.size;
        for (const pick of picks) {
          const real = completed(world, pick);
          const values = valuesOf(set, real.labels, inventoryIn(real));
          for (const label of RULES) {
            if (!unknown.has(label)) expect([label, values[label]]).toEqual([label, implied.get(label)?.value]);
          }
        }
      }),
      { numRuns: 2000 },
    );
    expect(unknowns).toBeGreaterThan(1000);
  });

  test('say the same in whatever order they come, and on the same inputs', () => {
    fc.assert(
      fc.property(filesOf(false), worlds, (files, world) => {
        const [one, other] = [setOf(files), setOf(new Map([...files].toReversed()))];
        const turned = Object.fromEntries(Object.entries(world.labels).reverse());
        expect(other.evaluate(turned, inventoryIn(world))).toEqual(one.evaluate(world.labels, inventoryIn(world)));
        expect(other.problems).toEqual(one.problems);
      }),
      { numRuns: 2000 },
    );
  });

  test('of any file names and contents imply nothing but valid labels', () => {
    const pieces = fc.constantFrom('a', 'B', '/', '.', '-', '_', '~', ' ', '\0', '*');
    const paths = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.array(pieces, { maxLength: 8 }).map((all) => all.join('')),
    );
    const anything = fc.oneof(lineOf(BASE).map(textOf), fc.constant('*'), fc.string({ unit: 'binary' }));
    const files = fc.array(fc.tuple(paths, fc.array(anything, { maxLength: 3 })), { maxLength: 8 });
    fc.assert(
      fc.property(files, worlds, (given, world) => {
        const rules = new Map<string, Rule>();
        for (const [file, content] of given) {
          const named = labelOfFile(file, () => undefined);
          if ('problem' in named) continue;
          rules.set(file, { ...named, file, conditions: parseRuleFile(content.join('\n')).conditions });
        }
        const { implied } = new RuleSet(rules.values()).evaluate(world.labels, inventoryIn(world));
        expect([...implied.keys()].filter((key) => !isLabelKey(key))).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('many rules', () => {
  const node = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`feature.node.kubernetes.io/pci-${n}_10de.present`, 'true']),
  );
  /** The quickest of many: what else the machine does can only make it slower. */
  const msPerNode = (conditionOf: (n: number) => string) => {
    const files = Array.from({ length: 1000 }, (_, n) => [`n/l${n}`, conditionOf(n)]);
    const set = new RuleSet(rulesOf(Object.fromEntries(files)));
    const known = inventory(seen(...gpus('nvidia', 'nvidia')));
    for (let run = 0; run < 50; run += 1) set.evaluate(node, known);
    const runs = Array.from({ length: 200 }, () => {
      const startedMs = performance.now();
      set.evaluate(node, known);
      return performance.now() - startedMs;
    });
    return Math.min(...runs);
  };

  // Twenty times what was measured, for a machine that is busy with other things.
  test('cost a node next to nothing where they name their labels', () => {
    const keyOf = (n: number) => `feature.node.kubernetes.io/pci-${n}_10de.present=true`;
    expect(msPerNode((n) => `${keyOf(n)}\nx${n}\ny${n}\nz${n}`)).toBeLessThan(25);
  });

  test('cost a node no more where all are patterns, as other nodes had its keys before', () => {
    expect(msPerNode((n) => `feature.node.kubernetes.io/pci-${n}_*`)).toBeLessThan(25);
  });

  test('cost a node little where they ask for what its machine has', () => {
    expect(msPerNode((n) => `count:nvidia-gpu >= ${n} && driver:gpu = nvidia`)).toBeLessThan(25);
  });
});
