import { describe, expect, test } from 'vitest';
import { inventory } from '../../model/inventory/inventory.test-fixtures.ts';
import { parseRuleFile } from './parse-rule-file.ts';
import { RuleSet } from './rule-set.ts';

function ruleSet(files: Record<string, string>): RuleSet {
  return new RuleSet(
    Object.entries(files).map(([file, content]) => ({
      label: file,
      file,
      conditions: parseRuleFile(content).conditions,
    })),
  );
}

describe('the rules that a change of labels may concern', () => {
  const files = { a: 'seed', b: 'x\na', c: '!b', d: 'n/*', 'n/e': 'cpu:avx', f: 'f\nother' };
  const concerned = (...labels: string[]) => [...ruleSet(files).dependents(labels)].toSorted();

  test('are those that ask for one of them, by name or by a pattern, and all that build on these', () => {
    expect(concerned('seed')).toEqual(['a', 'b', 'c']);
    expect(concerned('x')).toEqual(['b', 'c']);
    expect(concerned('n/y')).toEqual(['d']);
    expect(concerned('b', 'n/y')).toEqual(['c', 'd']);
  });

  test('are none where no rule asks for them', () => {
    expect(concerned('cpu:avx', 'n')).toEqual([]);
    expect(concerned()).toEqual([]);
  });

  test('are found in a circle as well', () => {
    expect(concerned('other')).toEqual(['f']);
    expect([...ruleSet({ a: 'b', b: 'a\nseed' }).dependents(['seed'])].toSorted()).toEqual(['a', 'b']);
  });
});

test('whether drivers are asked for is known', () => {
  expect(ruleSet({ a: 'x && dra:gpu.nvidia.com' }).usesDra).toBe(true);
  expect(ruleSet({ a: 'x', b: 'resource:r' }).usesDra).toBe(false);
});

test('whether whole Nodes are needed is known, and which of the features that they declare', () => {
  const set = ruleSet({ a: 'x && declared:B => 1\n!declared:A', b: 'declared:B' });
  expect([set.declaredFeatures, set.needsWholeNodes]).toEqual([['A', 'B'], true]);
  const other = ruleSet({ a: 'module:B', b: 'resource:r' });
  expect([other.declaredFeatures, other.needsWholeNodes]).toEqual([[], true]);
  expect(ruleSet({ a: 'module:B' }).needsWholeNodes).toBe(false);
  const { implied, unknown } = set.evaluate({}, inventory({ declared: new Map([['B', true]]) }));
  expect([implied.get('b')?.reason, unknown.get('a')]).toEqual([
    'line 1 of b: the node declares the feature B',
    'line 2 of a: whether the node declares A is unknown',
  ]);
});

test('what is found wrong is told in the order of the files', () => {
  const files = { c: 'c', a: 'a', b: 'b', d: 'x' };
  expect(ruleSet(files).problems.map(({ file }) => file)).toEqual(['a', 'b', 'c']);
});

test('questions that are too many are told with the file that asks the first of them', () => {
  const lines = Array.from({ length: 65 }, (_, index) => `module:m${index + 10}`);
  const files = { a: 'module:m10', b: `x\n${lines.join('\n')}`, c: 'module:m73' };
  expect(ruleSet(files).problems).toEqual([
    { file: 'b', problem: expect.stringContaining('requires module:m74: all') },
  ]);
  expect(ruleSet({ a: lines.slice(0, 64).join('\n') }).problems).toEqual([]);
});

test('what is found wrong with one file is told in the order in which it is found', () => {
  const lines = Array.from({ length: 65 }, (_, index) => `module:m${index + 10}`);
  const problems = ruleSet({ a: `a\n${lines.join('\n')}` }).problems;
  expect(problems.map(({ file }) => file)).toEqual(['a', 'a']);
  expect(problems[1]?.problem).toContain('requires module:m74: all');
});

describe('a pattern', () => {
  const evaluate = (files: Record<string, string>, labels: Record<string, string>) => {
    const { implied, unknown } = ruleSet(files).evaluate(labels, inventory({ allocatable: undefined }));
    return { implied: [...implied.keys()], unknown: [...unknown.values()] };
  };

  test('is fulfilled by one label, even if another is unknown', () => {
    const files = { 'n/a': 'resource:r', b: 'n/*' };
    expect(evaluate(files, {})).toEqual({
      implied: [],
      unknown: [
        'line 1 of b: whether the node has n/a is unknown',
        'line 1 of n/a: how much of r the node has is unknown',
      ],
    });
    expect(evaluate(files, { 'n/x': '' }).implied).toEqual(['b']);
  });

  test('does not match the label of its own file, but that which the node has already', () => {
    expect(evaluate({ 'n/a': 'n/*' }, {}).implied).toEqual([]);
    expect(evaluate({ 'n/a': 'n/*' }, { 'n/a': '' }).implied).toEqual(['n/a']);
  });

  test('is denied where no label matches, and says what the node has not', () => {
    const { implied } = ruleSet({ a: '!n/*' }).evaluate({}, inventory());
    expect(implied.get('a')?.reason).toBe('line 1 of a: the node has no n/*');
    expect(evaluate({ a: '!n/*' }, { 'n/x': '' }).implied).toEqual([]);
  });
});

describe('a line', () => {
  const reasonOf = (files: Record<string, string>, label: string, labels: Record<string, string>) => {
    const { implied, unknown } = ruleSet(files).evaluate(labels, inventory({ allocatable: undefined }));
    return implied.get(label)?.reason ?? unknown.get(label);
  };

  test('that holds names all that was found, and one that is unknown names the first doubt', () => {
    expect(reasonOf({ a: 'x && !y && z=1' }, 'a', { x: '', z: '1' })).toBe(
      'line 1 of a: the node has x= and the node has no y and the node has z=1',
    );
    expect(reasonOf({ a: 'x && resource:r && resource:s' }, 'a', { x: '' })).toBe(
      'line 1 of a: how much of r the node has is unknown',
    );
    expect(reasonOf({ a: 'resource:r && x' }, 'a', {})).toBeUndefined();
  });

  test('that is unknown gives way to one that holds, with the same value alone', () => {
    expect(reasonOf({ a: 'resource:r\nx' }, 'a', { x: '' })).toBe('line 2 of a: the node has x=');
    expect(reasonOf({ a: 'resource:r => b\nx' }, 'a', { x: '' })).toContain('line 1 of a: how much of r');
    expect(reasonOf({ a: 'resource:r\nresource:s' }, 'a', {})).toContain('line 1 of a: how much of r');
  });

  test('may ask for a value that an unknown label may have', () => {
    const files = { a: 'resource:r => 1\nresource:s => 2', b: 'a=1', c: 'a=3', d: 'a in (1, 2)', e: 'a > 0' };
    const { implied, unknown } = ruleSet(files).evaluate({}, inventory({ allocatable: undefined }));
    expect([...implied.keys()]).toEqual([]);
    expect([...unknown.keys()]).toEqual(['a', 'b', 'd', 'e']);
  });

  test('may ask for an order of numbers, of a label that is there or implied', () => {
    const files = { a: 'x => 5', b: 'a > 4', c: 'a > 5' };
    expect([...ruleSet(files).evaluate({ x: '' }, inventory()).implied.keys()]).toEqual(['a', 'b']);
    expect([...ruleSet(files).evaluate({ a: '6' }, inventory()).implied.keys()]).toEqual(['b', 'c']);
  });
});
