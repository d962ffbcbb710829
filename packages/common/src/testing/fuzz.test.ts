import fc from 'fast-check';
import { expect, test } from 'vitest';

test('what is generated grows up to the largest size that a property names', () => {
  const sizeOf = (values: fc.Arbitrary<{ length: number }>) =>
    Math.max(...fc.sample(values, 300).map(({ length }) => length));
  expect(sizeOf(fc.string({ maxLength: 300 }))).toBeGreaterThan(200);
  expect(sizeOf(fc.array(fc.boolean(), { maxLength: 60 }))).toBeGreaterThan(50);
  const keys = fc.dictionary(fc.uuid(), fc.boolean(), { maxKeys: 60 }).map((all) => Object.keys(all));
  expect(sizeOf(keys)).toBeGreaterThan(50);
});
