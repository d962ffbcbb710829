import { describe, expect, test } from 'vitest';
import { parseRuleFile, RULE_LINES_MAX } from './parse-rule-file.ts';

const SHIPPED = [
  'kkohtaka.org/edgetpu',
  'feature.node.kubernetes.io/usb-fe_1a6e_089a.present',
  'feature.node.kubernetes.io/pci-0880_1ac1.present',
  'beta.devicetree.org/fsl-imx8mq-phanbell',
];

const label = (line: number, key: string, value?: string) => {
  const text = value === undefined ? key : `${key}=${value}`;
  const predicate = { kind: 'label', key, ...(value === undefined ? {} : { test: { values: [value] } }) };
  return { line, text, literals: [{ isNegated: false, predicate }], value: 'true' };
};

const SOME = { op: '>', bound: [0] };

/** The predicates of a line, the negated ones with a sign. */
function termsOf(line: string) {
  const { conditions, problems } = parseRuleFile(line);
  expect(problems).toEqual([]);
  return conditions.flatMap(({ literals }) =>
    literals.map(({ isNegated, predicate }) => (isNegated ? { not: predicate } : predicate)),
  );
}

describe('a rule file', () => {
  test('AL-1: holds a label key on a line', () => {
    expect(parseRuleFile('dependentLabel\n')).toEqual({ conditions: [label(1, 'dependentLabel')], problems: [] });
  });

  test('A-9: needs no newline at its end, as the one that the predecessor ships', () => {
    const { conditions, problems } = parseRuleFile(SHIPPED.join('\n'));
    expect(conditions).toEqual(SHIPPED.map((key, index) => label(index + 1, key)));
    expect(problems).toEqual([]);
  });

  test('A-9: may have comments and blank lines, which count as lines', () => {
    const { conditions, problems } = parseRuleFile('# Coral\n\n  \t\n#a\n  # b\nx\n#\n');
    expect(conditions).toEqual([label(6, 'x')]);
    expect(problems).toEqual([]);
  });

  test('A-10: may come from Windows, with spaces, a byte order mark and comments after the text', () => {
    const { conditions, problems } = parseRuleFile('\uFEFFa\r\n  b \t\r\nc # of the c kind\r\nd\t#e\r\n\r\n');
    expect(conditions).toEqual([label(1, 'a'), label(2, 'b'), label(3, 'c'), label(4, 'd')]);
    expect(problems).toEqual([]);
  });

  test('A-10: may ask for a value, also for an empty one, and with spaces around the sign', () => {
    const { conditions, problems } = parseRuleFile('a=true\nb=\nc = d\n');
    expect(conditions).toEqual([label(1, 'a', 'true'), label(2, 'b', ''), { ...label(3, 'c', 'd'), text: 'c = d' }]);
    expect(problems).toEqual([]);
  });

  test('A-10: may hold patterns for values and keys', () => {
    const lines = [
      'a=v1.*',
      'a=*',
      'a=?',
      'a=*-*',
      'feature.node.kubernetes.io/pci-*',
      '*/gpu',
      '*.example.com/x',
      '*',
    ];
    const { conditions, problems } = parseRuleFile(lines.join('\n'));
    expect(conditions.map(({ text }) => text)).toEqual(lines);
    expect(problems).toEqual([]);
  });

  test('takes several stars for one', () => {
    expect(parseRuleFile('a=b****c').conditions).toEqual([{ ...label(1, 'a', 'b*c'), text: 'a=b****c' }]);
  });

  test('A-22: may ask for a resource', () => {
    const { conditions, problems } = parseRuleFile('resource:kkohtaka.org/edgetpu # by its plugin\nresource: cpu');
    expect(conditions.map(({ literals }) => literals[0]?.predicate)).toEqual([
      { kind: 'resource', name: 'kkohtaka.org/edgetpu', test: SOME },
      { kind: 'resource', name: 'cpu', test: SOME },
    ]);
    expect(problems).toEqual([]);
  });

  test('may join predicates and deny them, and may name another value', () => {
    const { conditions } = parseRuleFile('a && !b=c => d');
    expect(conditions).toEqual([
      {
        line: 1,
        text: 'a && !b=c => d',
        literals: [
          { isNegated: false, predicate: { kind: 'label', key: 'a' } },
          { isNegated: true, predicate: { kind: 'label', key: 'b', test: { values: ['c'] } } },
        ],
        value: 'd',
      },
    ]);
    expect(termsOf('a&&!b')).toEqual([{ kind: 'label', key: 'a' }, { not: { kind: 'label', key: 'b' } }]);
    expect(termsOf('in && a= => x')).toEqual([
      { kind: 'label', key: 'in' },
      { kind: 'label', key: 'a', test: { values: [''] } },
    ]);
  });

  test.each([
    ['a in (b, c*)', { kind: 'label', key: 'a', test: { values: ['b', 'c*'] } }],
    ['a in (b,)', { kind: 'label', key: 'a', test: { values: ['b', ''] } }],
    ['a > 3', { kind: 'label', key: 'a', test: { op: '>', bound: [3] } }],
    ['a<=-2', { kind: 'label', key: 'a', test: { op: '<=', bound: [-2] } }],
    ['count:edgetpu >= 2', { kind: 'count', name: 'edgetpu', test: { op: '>=', bound: [2] } }],
    ['count:edgetpu', { kind: 'count', name: 'edgetpu', test: SOME }],
    ['driver:gpu = nvidia', { kind: 'driver', name: 'gpu', test: { values: ['nvidia'] } }],
    ['driver:gpu', { kind: 'driver', name: 'gpu' }],
    ['module:apex', { kind: 'module', name: 'apex' }],
    ['cpu:avx512f', { kind: 'cpu', name: 'avx512f' }],
    ['fact:kernel >= 6.8', { kind: 'fact', name: 'kernel', test: { op: '>=', bound: [6, 8] } }],
    ['fact:cpu-vendor in (Intel, AMD)', { kind: 'fact', name: 'cpu-vendor', test: { values: ['Intel', 'AMD'] } }],
    ['resource:nvidia.com/gpu >= 4', { kind: 'resource', name: 'nvidia.com/gpu', test: { op: '>=', bound: [4] } }],
    ['resource:memory > 64Gi', { kind: 'resource', name: 'memory', test: { op: '>', bound: [68_719_476_736] } }],
    ['nfd:cpu.model.vendor_id = Intel', { kind: 'nfd', name: 'cpu.model.vendor_id', test: { values: ['Intel'] } }],
    ['nfd:cpu.model.family >= 6.1', { kind: 'nfd', name: 'cpu.model.family', test: { op: '>=', bound: [6, 1] } }],
    ['nfd: kernel.loadedmodule.dummy', { kind: 'nfd', name: 'kernel.loadedmodule.dummy' }],
    ['nfd:local.feature.example.com/a.b', { kind: 'nfd', name: 'local.feature.example.com/a.b' }],
    ['nfd:pci.device', { kind: 'nfd', name: 'pci.device', test: SOME }],
    ['nfd:vendor.anything', { kind: 'nfd', name: 'vendor.anything', test: SOME }],
    ['nfd:pci.device = 2', { kind: 'nfd', name: 'pci.device', test: { op: '=', bound: [2] } }],
    ['dra:gpu.nvidia.com >= 1', { kind: 'dra', name: 'gpu.nvidia.com', test: { op: '>=', bound: [1] } }],
  ])('may ask %s', (line, predicate) => {
    expect(termsOf(line)).toEqual([predicate]);
  });

  test.each([
    ['  a && b c', 10, '"c" is not "&&", "=>" or the end of the line'],
    ['a &&', 5, '"" is not a label key, nor a pattern that one could match'],
    ['a & b', 3, '"&" is not "&&", "=>" or the end of the line'],
    ['a || b', 3, '"||" is not "&&", "=>" or the end of the line'],
    ['!!a', 2, '"!" is not a label key, nor a pattern that one could match'],
    ['a > x', 5, '"x" is not a number that fits here'],
    ['a > 1.5', 5, '"1.5" is not a number that fits here'],
    ['a in (b, c', 11, '"" is not ")" or ","'],
    ['count:nvida-gpu >= 8', 7, '"nvida-gpu" is not a device that rollcall knows'],
    ['count:edgetpu >= two', 18, '"two" is not a number that fits here'],
    ['count:edgetpu >= 1Gi', 18, '"1Gi" is not a number that fits here'],
    ['module:../etc', 8, '"../etc" is not the name of a kernel module'],
    ['nfd:cpu', 5, '"cpu" is not the name of a feature of NFD'],
    ['nfd:cpu.model.', 5, '"cpu.model." is not the name of a feature of NFD'],
    ['nfd:cpu.model.*', 5, '"cpu.model.*" is not the name of a feature of NFD'],
    ['a && nfd:', 10, '"" is not the name of a feature of NFD'],
    [
      'nfd:pci.device.device = 09c4',
      5,
      expect.stringMatching(/^NFD lists pci.device as instances, .*: nfd:pci.device >= 1$/),
    ],
    [
      'nfd:kernel.loadedmodul.x',
      5,
      expect.stringMatching(/^NFD lists no feature kernel.loadedmodul, only .*kernel.loadedmodule/),
    ],
    ['nfd:cpu.model', 5, 'NFD lists cpu.model as elements: name one of them, as nfd:cpu.model.NAME'],
    ['!nfd:rule.matched.x', 6, expect.stringMatching(/^NFD lists no feature rule.matched/)],
    ['nfd:pci.device >= two', 19, '"two" is not a number that fits here'],
    ['nfd:cpu.model.id = a b', 22, '"b" is not "&&", "=>" or the end of the line'],
    ['a => b c', 8, '"c" is not "&&", "=>" or the end of the line'],
    ['a => b*', 6, '"b*" is not a label value'],
    ['a b', 3, '"b" is not "&&", "=>" or the end of the line'],
  ])('says of %j in which column it is wrong: %d', (line, column, problem) => {
    expect(parseRuleFile(`x\n${line}`)).toEqual({
      conditions: [label(1, 'x')],
      problems: [{ line: 2, column, problem }],
    });
  });

  test.each([
    'two words',
    'a/b/c',
    'Upper.example.com/a',
    'a#b',
    '-a',
    '-*',
    'a_b*/x',
    '!',
    'a in (b, c',
    '=true',
    `${'a'.repeat(64)}`,
    `${'a'.repeat(64)}*`,
    'a==true',
    'a=two words',
    'a=-b*',
    'a=b/c',
    `a=${'b'.repeat(64)}`,
    `a=${'?'.repeat(64)}`,
    'resource:',
    'resource:nvidia.com/*',
    'resource:a b',
    '\0',
    'a\u00A0b',
    'grün',
  ])('A-10: reports the line %j, which can never hold, and keeps the others', (line) => {
    const { conditions, problems } = parseRuleFile(`good\n${line}\nbetter`);
    expect(conditions).toEqual([label(1, 'good'), label(3, 'better')]);
    expect(problems).toEqual([
      { line: 2, column: expect.any(Number), problem: expect.stringMatching(/^".*" is not /) },
    ]);
  });

  test('may name features of NFD as long as a question may be', () => {
    const name = (length: number) => `cpu.model.${'a'.repeat(length - 10)}`;
    expect(termsOf(`nfd:${name(120)}`)).toEqual([{ kind: 'nfd', name: name(120) }]);
    expect(parseRuleFile(`nfd:${name(121)}`).conditions).toEqual([]);
  });

  test('may combine 32 predicates in a line, and no more', () => {
    const line = (predicates: number) => Array.from({ length: predicates }, (_, index) => `k${index}`).join(' && ');
    expect(termsOf(line(32))).toHaveLength(32);
    expect(parseRuleFile(line(33))).toEqual({
      conditions: [],
      problems: [{ line: 1, column: expect.any(Number), problem: 'there are more than 32 predicates in the line' }],
    });
  });

  test('of another kind does not fill the log', () => {
    const { problems } = parseRuleFile(`${'no label\n'.repeat(50)}${'x'.repeat(2000)}`);
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toEqual({ line: 21, problem: expect.stringContaining('31 more lines') });
    expect(parseRuleFile(`${'x'.repeat(2000)}`).problems[0]?.problem.length).toBeLessThan(200);
  });

  test('counts up to its last allowed line', () => {
    const { conditions, problems } = parseRuleFile('a\n'.repeat(RULE_LINES_MAX));
    expect([conditions.length, problems.length]).toEqual([RULE_LINES_MAX, 0]);
    const longer = parseRuleFile('a\n'.repeat(RULE_LINES_MAX + 1));
    expect(longer.conditions).toHaveLength(RULE_LINES_MAX);
    expect(longer.problems).toEqual([{ line: 1001, problem: expect.stringContaining('at most 1000 lines') }]);
  });
});

test.each(['agentpool = dpu =>', 'agentpool = dpu => ', 'agentpool = dpu => # a comment'])(
  'nothing after the arrow is the empty value, which a label may have: %j',
  (line) => {
    const { conditions, problems } = parseRuleFile(line);
    expect([conditions.map(({ value }) => value), problems]).toEqual([[''], []]);
  },
);
