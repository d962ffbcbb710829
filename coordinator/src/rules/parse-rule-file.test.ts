import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isGlob } from './glob.ts';
import { parseRuleFile, RULE_LINES_MAX } from './parse-rule-file.ts';

const SHIPPED = [
  'kkohtaka.org/edgetpu',
  'feature.node.kubernetes.io/usb-fe_1a6e_089a.present',
  'feature.node.kubernetes.io/pci-0880_1ac1.present',
  'beta.devicetree.org/fsl-imx8mq-phanbell',
];

const label = (line: number, key: string, value?: string) => {
  const text = value === undefined ? key : `${key}=${value}`;
  return { line, text, kind: 'label', key, value };
};

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
    expect(conditions).toEqual([
      { line: 1, text: 'resource:kkohtaka.org/edgetpu', kind: 'resource', name: 'kkohtaka.org/edgetpu' },
      { line: 2, text: 'resource: cpu', kind: 'resource', name: 'cpu' },
    ]);
    expect(problems).toEqual([]);
  });

  test.each([
    'two words',
    'a/b/c',
    'Upper.example.com/a',
    'a#b',
    '-a',
    '-*',
    'a_b*/x',
    '!a',
    'a in (b, c)',
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
    expect(problems).toEqual([{ line: 2, problem: expect.stringMatching(/^".*" is not /) }]);
  });

  test('of another kind does not fill the log', () => {
    const { problems } = parseRuleFile(`${'no label\n'.repeat(50)}${'x'.repeat(10_000)}`);
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toEqual({ line: 21, problem: expect.stringContaining('31 more lines') });
    expect(parseRuleFile(`${'x'.repeat(10_000)}`).problems[0]?.problem.length).toBeLessThan(200);
  });

  test('counts up to its last allowed line', () => {
    const { conditions, problems } = parseRuleFile('a\n'.repeat(RULE_LINES_MAX));
    expect([conditions.length, problems.length]).toEqual([RULE_LINES_MAX, 0]);
    const longer = parseRuleFile('a\n'.repeat(RULE_LINES_MAX + 1));
    expect(longer.conditions).toHaveLength(RULE_LINES_MAX);
    expect(longer.problems).toEqual([{ line: 1001, problem: expect.stringContaining('no more than 1000 lines') }]);
  });

  test('of any content gives only conditions that a label or a resource can fulfil', () => {
    const pieces = fc.constantFrom(
      'a',
      'B',
      '/',
      '.',
      '-',
      '_',
      '*',
      '?',
      '=',
      '#',
      ' ',
      '\n',
      '\r',
      'resource:',
      '\0',
    );
    const contents = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(contents, (content) => {
        const { conditions, problems } = parseRuleFile(content);
        const impossible = conditions.filter((condition) => {
          if (condition.kind === 'resource') return !isLabelKey(condition.name);
          const { key, value = '' } = condition;
          return !(isGlob(key) || isLabelKey(key)) || !(isGlob(value) || isLabelValue(value));
        });
        expect(impossible).toEqual([]);
        const meaningful = content.split(/\r\n?|\n/).filter((line) => /^\s*[^\s#]/.test(line.replace(/^\uFEFF/, '')));
        if (problems.length < 20) expect(conditions.length + problems.length).toBe(meaningful.length);
      }),
      { numRuns: 10_000 },
    );
  }, 60_000);
});
