import { describe, expect, test } from 'vitest';
import { inventory } from '../../model/inventory/inventory.test-fixtures.ts';
import { parseRuleFile } from './parse-rule-file.ts';
import { RuleSet } from './rule-set.ts';

/** Rules out of the contents of files; `undefined` for one that could not be read. */
function ruleSet(files: Record<string, string | undefined>): RuleSet {
  const rules = Object.entries(files).map(([file, content]) => {
    return { label: file, file, conditions: content === undefined ? undefined : parseRuleFile(content).conditions };
  });
  return new RuleSet(rules);
}

function implied(files: Record<string, string>, labels: Record<string, string>, allocatable = {}): string[] {
  return [...ruleSet(files).evaluate(labels, inventory({ allocatable })).implied.keys()];
}

const EDGETPU = {
  'accelerators/edgetpu': `kkohtaka.org/edgetpu
feature.node.kubernetes.io/usb-fe_1a6e_089a.present
feature.node.kubernetes.io/pci-0880_1ac1.present
beta.devicetree.org/fsl-imx8mq-phanbell`,
};

describe('a rule', () => {
  test.each(['true', 'false', '', '4'])('A-1: holds by the key of a label, whatever its value (%j)', (value) => {
    expect(implied(EDGETPU, { 'beta.devicetree.org/fsl-imx8mq-phanbell': value })).toEqual(['accelerators/edgetpu']);
  });

  test('A-2: holds no more when no such label is there', () => {
    expect(implied(EDGETPU, { 'beta.devicetree.org/fsl-imx8mq': '1' })).toEqual([]);
    expect(implied(EDGETPU, {})).toEqual([]);
  });

  test('AL-2, AL-9: is known by its label', () => {
    expect([...ruleSet(EDGETPU).labels.keys()]).toEqual(['accelerators/edgetpu']);
    expect([...ruleSet({ a: '', b: '# nothing', c: 'x' }).labels]).toEqual([['c', 'x']]);
  });

  test('AL-10: of a label that asks for another gives that label and no other', () => {
    expect(implied({ label: 'dependent', other: 'missing' }, { dependent: 'true' })).toEqual(['label']);
  });

  test('A-10: may ask for a value, exactly or by a pattern, and for keys by a pattern', () => {
    const files = {
      exact: 'a=true',
      empty: 'a=',
      some: 'a=t*',
      any: 'a=*',
      key: 'example.com/pci-*',
      both: '*/pci-?=1',
    };
    expect(implied(files, { a: 'true' })).toEqual(['any', 'exact', 'some']);
    expect(implied(files, { a: '' })).toEqual(['any', 'empty']);
    expect(implied(files, { 'example.com/pci-1': '1' })).toEqual(['both', 'key']);
    expect(implied(files, { 'example.com/pci-12': '1' })).toEqual(['key']);
    expect(implied(files, { 'pci-1': '1' })).toEqual([]);
  });

  test('A-10: that asks by a pattern holds by any of the labels that match', () => {
    for (const labels of [
      { q1: '0', q2: '1' },
      { q1: '1', q2: '0' },
    ])
      expect(implied({ a: 'q*=1' }, labels)).toEqual(['a']);
    expect(implied({ a: 'q*=1' }, { q1: '0', q2: '0' })).toEqual([]);
  });

  test('A-22: may ask for an allocatable resource, of which there must be some', () => {
    const files = { edgetpu: 'resource:kkohtaka.org/edgetpu' };
    const holds = (quantity: string) => implied(files, {}, { 'kkohtaka.org/edgetpu': quantity }).length === 1;
    expect(['1', '2k', '500m', '0', '0m', '', 'x'].map(holds)).toEqual([true, true, true, false, false, false, false]);
    expect(implied(files, { 'kkohtaka.org/edgetpu': '1' }, { cpu: '4' })).toEqual([]);
  });

  test('is not fooled by what every object in JavaScript has', () => {
    expect(implied({ a: 'constructor\ntoString', b: 'resource:constructor' }, {})).toEqual([]);
    expect(implied({ constructor: 'toString', b: 'constructor' }, { toString: 'x' })).toEqual(['b', 'constructor']);
  });

  test('AL-11: that asks for nothing never holds', () => {
    expect(implied({ a: '', b: '# nothing' }, { a: 'x', b: 'y', '': '' })).toEqual([]);
  });
});

describe('rules that build on each other', () => {
  test('A-8: converge, however long the chain', () => {
    const chain = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`l${n + 1}`, `l${n}=true`]));
    const set = ruleSet(chain);
    expect(set.evaluate({ l0: 'true' }, inventory()).implied.size).toBe(1000);
    expect(set.evaluate({ l0: 'false' }, inventory()).implied.size).toBe(0);
    expect(set.problems).toEqual([]);
  });

  test('may do so by a pattern that several of them have, one of which it matches', () => {
    expect(implied({ a: '*/c', 'n/c': '*/c\nd' }, { d: 'true' })).toEqual(['a', 'n/c']);
  });

  test('A-8: may do so by a pattern', () => {
    const files = { 'accelerators/edgetpu': 'usb', 'accelerators/any': 'accelerators/*', dear: 'accelerators/*=t*' };
    expect(implied(files, { usb: '' })).toEqual(['accelerators/any', 'accelerators/edgetpu', 'dear']);
    expect(implied(files, {})).toEqual([]);
    expect(ruleSet(files).problems).toEqual([]);
  });

  test('A-8: in a circle are reported once, and do not keep each other up', () => {
    const set = ruleSet({ a: 'b\nseed', b: 'c', c: 'a', d: 'a', e: 'e', f: 'g', g: 'f' });
    expect(set.problems).toEqual([
      { file: 'a', problem: 'a, b, c depend on each other in a cycle; only lines outside of the cycle apply' },
      { file: 'e', problem: 'e requires itself; that line never applies' },
      { file: 'f', problem: 'f, g depend on each other in a cycle; only lines outside of the cycle apply' },
    ]);
    expect([...set.evaluate({}, inventory()).implied.keys()]).toEqual([]);
    expect([...set.evaluate({ seed: '' }, inventory()).implied.keys()]).toEqual(['a', 'b', 'c', 'd']);
  });

  test('A-8: in a long circle are not all named', () => {
    const told = (size: number) => {
      const circle = Object.fromEntries(Array.from({ length: size }, (_, n) => [`l${n}`, `l${(n + 1) % size}`]));
      return ruleSet(circle).problems.map(({ file, problem }) => `${file}: ${problem}`);
    };
    expect(told(1000)).toEqual([expect.stringMatching(/^l0: l0, l1, .* and 990 more depend on/)]);
    expect(told(10)).toEqual([expect.stringMatching(/^l0: (l\d, ){9}l9 depend on/)]);
  });

  test('in a circle may not ask for the contrary of what builds on them', () => {
    const set = ruleSet({ a: '!b', b: 'a', c: 'x\n!c', 'n/none': '!n/*', d: '!c' });
    const circle = 'depend on each other in a cycle; only lines outside of the cycle apply';
    expect(set.problems).toEqual([
      { file: 'a', problem: `a, b ${circle}` },
      { file: 'a', line: 1, problem: 'requires the opposite of a label that depends on it; the line never applies' },
      { file: 'c', problem: 'c requires itself; that line never applies' },
      { file: 'c', line: 2, problem: 'requires the opposite of a label that depends on it; the line never applies' },
    ]);
    expect([...set.evaluate({}, inventory()).implied.keys()]).toEqual(['d', 'n/none']);
    expect([...set.evaluate({ x: '' }, inventory()).implied.keys()]).toEqual(['c', 'n/none']);
  });

  test('in a circle may ask by a pattern for the contrary of what is outside of it, and of themselves', () => {
    const files = { 'c/a': 'c/b && !n/*\nseed && !c/a*', 'c/b': 'c/a', 'n/x': 'other' };
    const set = ruleSet(files);
    expect(set.problems.map(({ line }) => line)).toEqual([undefined]);
    expect(implied(files, { seed: '' })).toEqual(['c/a', 'c/b']);
  });

  test('in a circle may not ask for a value that may be another by it', () => {
    const set = ruleSet({ a: 'b => x\nseed => y', b: 'a=y', c: 'd => x\nseed => x', d: 'c=x' });
    expect(set.problems).toContainEqual({
      file: 'b',
      line: 1,
      problem: 'requires one value of a label that depends on it and has several; the line never applies',
    });
    const { implied } = set.evaluate({ seed: '' }, inventory());
    expect([...implied].map(([label, { value }]) => `${label}=${value}`)).toEqual(['a=y', 'c=x', 'd=true']);
  });

  test('in a circle may have any of their values while the right one is unknown', () => {
    const set = ruleSet({ a: 'resource:r => x\nb => y', b: 'a', c: '!a=y' });
    const { implied, unknown } = set.evaluate({}, inventory({ allocatable: undefined }));
    expect([[...implied.keys()], [...unknown.keys()]]).toEqual([[], ['a', 'b', 'c']]);
  });

  test('may deny what others give, in order', () => {
    const files = { small: 'gpu && !large', large: 'gpu && many', none: '!small && !large' };
    expect(implied(files, { gpu: '' })).toEqual(['small']);
    expect(implied(files, { gpu: '', many: '' })).toEqual(['large']);
    expect(implied(files, {})).toEqual(['none']);
  });

  test('use the value on the node where another writer set the label', () => {
    const files = { derived: 'seed', next: 'derived=true', any: 'derived' };
    expect(implied(files, { seed: '', derived: 'false' })).toEqual(['any', 'derived']);
    expect(implied(files, { seed: '' })).toEqual(['any', 'derived', 'next']);
  });
});

describe('the value of a label', () => {
  const set = ruleSet({ size: 'big => large\nresource:r => medium\nany => small', next: 'size in (large, medium)' });
  const sizeOf = (labels: Record<string, string>, allocatable: Record<string, string> | undefined = {}) =>
    set.evaluate(labels, inventory({ allocatable })).implied.get('size')?.value;

  test('comes from the first line that holds', () => {
    expect(sizeOf({ big: '', any: '' })).toBe('large');
    expect(sizeOf({ any: '' }, { r: '1' })).toBe('medium');
    expect(sizeOf({ any: '' })).toBe('small');
    expect(sizeOf({})).toBeUndefined();
  });

  test('is unknown while a line before that one may hold', () => {
    const { implied, unknown } = set.evaluate({ any: '' }, inventory({ allocatable: undefined }));
    expect(implied.size).toBe(0);
    expect([...unknown.keys()]).toEqual(['next', 'size']);
    expect(unknown.get('size')).toBe('line 2 of size: how much of r the node has is unknown');
    expect(set.evaluate({ big: '' }, inventory({ allocatable: undefined })).implied.get('size')?.value).toBe('large');
  });
});

describe('what is unknown', () => {
  test('is whether a rule holds by a resource while those are not known', () => {
    const set = ruleSet({ a: 'x\nresource:r', b: 'a', c: 'b=true', d: 'b=false', e: 'y' });
    expect(set.needsWholeNodes).toBe(true);
    const { implied, unknown } = set.evaluate({ y: '' }, inventory({ allocatable: undefined }));
    expect([...implied.keys()]).toEqual(['e']);
    expect([...unknown]).toEqual([
      ['a', 'line 2 of a: how much of r the node has is unknown'],
      ['b', 'line 1 of b: whether the node has a is unknown'],
      ['c', 'line 1 of c: whether the node has b is unknown'],
    ]);
  });

  test('does not touch a rule that holds by something else', () => {
    const { implied, unknown } = ruleSet({ a: 'x\nresource:r', b: 'a' }).evaluate(
      { x: '' },
      inventory({ allocatable: undefined }),
    );
    expect([...implied.keys()]).toEqual(['a', 'b']);
    expect(unknown.size).toBe(0);
  });

  test('is nothing when the resources are known, or no rule asks for one', () => {
    expect(ruleSet({ a: 'resource:r' }).evaluate({}, inventory()).unknown.size).toBe(0);
    const set = ruleSet({ a: 'x' });
    expect(set.needsWholeNodes).toBe(false);
    expect(set.evaluate({}, inventory({ allocatable: undefined })).unknown.size).toBe(0);
  });

  test('is what a file says that could not be read, and what builds on it', () => {
    const { implied, unknown } = ruleSet({ a: undefined, b: 'a', c: 'x' }).evaluate({ x: '' }, inventory());
    expect([...implied.keys()]).toEqual(['c']);
    expect([...unknown]).toEqual([
      ['a', 'the content of a is unknown'],
      ['b', 'line 1 of b: whether the node has a is unknown'],
    ]);
  });
});

describe('the reason', () => {
  const set = ruleSet({ 'x/a': '\n# c\np=1\nq*\nresource:r', b: 'x/a' });

  test('names file, line and what was found', () => {
    const because = (label: string, labels: Record<string, string>, allocatable = {}) =>
      set.evaluate(labels, inventory({ allocatable })).implied.get(label)?.reason;
    expect(because('x/a', { p: '1' })).toBe('line 3 of x/a: the node has p=1');
    expect(because('x/a', { q1: '' })).toBe('line 4 of x/a: the node has q1=');
    expect(because('x/a', {}, { r: '2' })).toBe('line 5 of x/a: the node has 2 of r allocatable');
    expect(because('b', {}, { r: '2' })).toBe('line 1 of b: x/a is implied as well');
  });

  test('names what the node has instead of what it must not have', () => {
    const denials = ruleSet({ other: '!a=1', none: '!b', derived: 'seed => y', such: '!derived=x' });
    const { implied } = denials.evaluate({ a: '2', seed: '' }, inventory());
    expect(Object.fromEntries([...implied].map(([label, { reason }]) => [label, reason]))).toEqual({
      derived: 'line 1 of derived: the node has seed=',
      none: 'line 1 of none: the node has no b',
      other: 'line 1 of other: the node has a=2',
      such: 'line 1 of such: the node has no such derived',
    });
  });

  test('is the same whatever the order of labels', () => {
    const entries = Object.entries({ q3: '', q1: '', p: '1', q2: '' });
    const forth = set.evaluate(Object.fromEntries(entries), inventory({ allocatable: { r: '1' } }));
    const back = set.evaluate(Object.fromEntries(entries.toReversed()), inventory({ allocatable: { r: '1' } }));
    expect([...forth.implied]).toEqual([...back.implied]);
    expect(forth.implied.get('x/a')?.reason).toContain('line 3');
  });
});

describe('what rules ask for', () => {
  test('is known by name', () => {
    const files = {
      a: 'nfd:pci.device >= 2\nnfd:local.feature.x',
      b: '!nfd:local.feature.x && nfd:cpu.model.id\ncpu:avx2',
    };
    const set = ruleSet(files);
    expect(set.nfdNames).toEqual(['cpu.model.id', 'local.feature.x', 'pci.device']);
    expect(set.questions).toEqual(['cpu:avx2', 'nfd:local.feature.x']);
    expect(ruleSet({ a: 'x' }).nfdNames).toEqual([]);
  });

  test('of agents has an end', () => {
    const lines = Array.from({ length: 65 }, (_, n) => `nfd:local.label.x${n + 10}`).join('\n');
    const { questions, problems } = ruleSet({ a: lines });
    expect(questions).toHaveLength(64);
    const problem = 'requires nfd:local.label.x74: all rules together can use at most 64 modules, flags and features';
    expect(problems).toEqual([{ file: 'a', problem }]);
  });
});
