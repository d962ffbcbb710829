import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FACT_LIMITS, parseFacts } from './parse-facts.ts';

describe('parseFacts', () => {
  test('takes a flat object of named texts', () => {
    expect(parseFacts('{"kernel":"6.18","cpu-max-mhz":"3700"}')).toEqual({ kernel: '6.18', 'cpu-max-mhz': '3700' });
  });

  test.each([
    ['nothing at all', ''],
    ['half of it', '{"kernel":"6.1'],
    ['more than JSON', 'warning\n{}'],
    ['a list', '["kernel"]'],
    ['null', 'null'],
    ['a number, which has no entries', '4'],
    ['an empty text, which has none either', '""'],
    ['a number as value', '{"cpu-cores":4}'],
    ['an empty value', '{"kernel":""}'],
    ['a nested value', '{"cpu":{"cores":"4"}}'],
    ['a name that is not in kebab-case', '{"cpuCores":"4"}'],
    ['an empty name', '{"":"4"}'],
    ['a name that is too long', JSON.stringify({ ['a'.repeat(FACT_LIMITS.key + 1)]: 'x' })],
    ['a value that is too long', JSON.stringify({ kernel: 'x'.repeat(FACT_LIMITS.value + 1) })],
    ['too many facts', JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`fact-${i}`, 'x'])))],
    ['a name of the prototype', '{"__proto__":"x"}'],
  ])('refuses %s', (_, output) => {
    expect(() => parseFacts(output)).toThrow();
  });

  test('takes what the report schema of the coordinator takes, and no more', () => {
    const of = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`fact-${index}`, 'x']));
    for (const fits of [of(64), { ['a'.repeat(128)]: 'x' }, { kernel: 'x'.repeat(1024) }]) {
      expect(parseFacts(JSON.stringify(fits))).toEqual(fits);
    }
    for (const tooMuch of [of(65), { ['a'.repeat(129)]: 'x' }, { kernel: 'x'.repeat(1025) }]) {
      expect(() => parseFacts(JSON.stringify(tooMuch))).toThrow();
    }
  });

  test('says what is wrong', () => {
    expect(() => parseFacts('[]')).toThrow('not an object');
    expect(() => parseFacts('{"cpuCores":"4"}')).toThrow('not the name of a fact: "cpuCores"');
    expect(() => parseFacts('{"cpu-cores":4}')).toThrow('cpu-cores is not a text of 1 to 1024 characters');
  });

  test('lets through nothing that a report could not carry', () => {
    const name = fc.constantFrom('kernel', 'x'.repeat(FACT_LIMITS.key + 1));
    const value = fc.oneof(fc.string(), fc.constantFrom('', 'y'.repeat(FACT_LIMITS.value + 1)));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc
            .oneof(fc.dictionary(fc.string(), fc.string()), fc.dictionary(name, value, { maxKeys: 1 }))
            .map((facts) => JSON.stringify(facts)),
        ),
        (output) => {
          let facts: Readonly<Record<string, string>>;
          try {
            facts = parseFacts(output);
          } catch {
            return;
          }
          for (const [name, value] of Object.entries(facts)) {
            expect(name.length).toBeLessThanOrEqual(FACT_LIMITS.key);
            expect(typeof value === 'string' && value.length > 0 && value.length <= FACT_LIMITS.value).toBe(true);
          }
        },
      ),
    );
  });
});
