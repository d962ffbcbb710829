import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isGlob } from '../../model/inventory/glob.ts';
import { type Literal, parseRuleFile } from './parse-rule-file.ts';

test('a rule file of any content gives only conditions that a label or a resource can fulfil', () => {
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
    'declared:',
    'count:edgetpu',
    'nfd:',
    '&&',
    '!',
    '>',
    ' in (',
    ')',
    ',',
    '7',
    '\0',
  );
  const contents = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(contents, (content) => {
      const { conditions, problems } = parseRuleFile(content);
      const impossible = conditions.flatMap(({ literals }) => literals).filter(isImpossible);
      expect(impossible).toEqual([]);
      const meaningful = content.split(/\r\n?|\n/).filter((line) => /^\s*[^\s#]/.test(line.replace(/^\uFEFF/, '')));
      if (problems.length < 20) expect(conditions.length + problems.length).toBe(meaningful.length);
    }),
    { numRuns: fuzzRuns(2000) },
  );
});

/** What no label and no resource could fulfil. */
function isImpossible({ predicate }: Literal): boolean {
  if (predicate.kind === 'resource') return !isLabelKey(predicate.name);
  if (predicate.kind !== 'label') return false;
  const values = predicate.test && 'values' in predicate.test ? predicate.test.values : [];
  return (
    !(isGlob(predicate.key) || isLabelKey(predicate.key)) ||
    values.some((value) => !(isGlob(value) || isLabelValue(value)))
  );
}
