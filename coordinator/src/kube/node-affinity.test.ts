import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { meetsRequiredAffinity } from './node-affinity.ts';
import type { NodeDemands, NodeRequirement, NodeSelectorTerm } from './objects.ts';

const node = { name: 'node-1', labels: { gpu: 'true', cores: '16', empty: '', zone: 'a' } };

function required(...nodeSelectorTerms: NodeSelectorTerm[]): NodeDemands {
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

function expression(key: string, operator: string, ...values: string[]): NodeDemands {
  return required({ matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] });
}

function field(operator: string, ...values: string[]): NodeDemands {
  return required({ matchFields: [{ key: 'metadata.name', operator, values }] });
}

describe('a node selector', () => {
  test.each<[string, NodeDemands, boolean]>([
    ['asks for nothing', {}, true],
    ['is empty', { nodeSelector: {} }, true],
    ['asks for a label', { nodeSelector: { gpu: 'true' } }, true],
    ['asks for two labels', { nodeSelector: { gpu: 'true', zone: 'a' } }, true],
    ['asks for two labels, one of which is not there', { nodeSelector: { gpu: 'true', disk: 'ssd' } }, false],
    ['asks for another value', { nodeSelector: { gpu: 'false' } }, false],
    ['asks for a label that is empty', { nodeSelector: { empty: '' } }, true],
    ['asks for an empty value where there is no label', { nodeSelector: { disk: '' } }, false],
    ['asks for what every object has', { nodeSelector: { constructor: 'true' } }, false],
  ])('that %s', (_what, demands, expected) => {
    expect(meetsRequiredAffinity(demands, node)).toBe(expected);
  });
});

describe('an expression', () => {
  test.each<[string, NodeDemands, boolean]>([
    ['In, with the value', expression('zone', 'In', 'b', 'a'), true],
    ['In, without the value', expression('zone', 'In', 'b'), false],
    ['In, without the label', expression('disk', 'In', 'ssd'), false],
    ['In, without values', expression('zone', 'In'), false],
    ['NotIn, with the value', expression('zone', 'NotIn', 'b', 'a'), false],
    ['NotIn, without the value', expression('zone', 'NotIn', 'b'), true],
    ['NotIn, without the label', expression('disk', 'NotIn', 'ssd'), true],
    ['NotIn, without values', expression('zone', 'NotIn'), false],
    ['Exists', expression('empty', 'Exists'), true],
    ['Exists, without the label', expression('disk', 'Exists'), false],
    ['Exists, without the label that every object has', expression('toString', 'Exists'), false],
    ['Exists, with values', expression('gpu', 'Exists', 'true'), false],
    ['DoesNotExist', expression('gpu', 'DoesNotExist'), false],
    ['DoesNotExist, without the label', expression('disk', 'DoesNotExist'), true],
    ['DoesNotExist, with values', expression('disk', 'DoesNotExist', 'ssd'), false],
    ['Gt, greater', expression('cores', 'Gt', '15'), true],
    ['Gt, as a number and not as text', expression('cores', 'Gt', '9'), true],
    ['Gt, equal', expression('cores', 'Gt', '16'), false],
    ['Gt, with a sign', expression('cores', 'Gt', '-1'), true],
    ['Gt, without the label', expression('disk', 'Gt', '1'), false],
    ['Gt, of two numbers', expression('cores', 'Gt', '1', '2'), false],
    ['Gt, of none', expression('cores', 'Gt'), false],
    ['Gt, of no number', expression('cores', 'Gt', 'many'), false],
    ['Gt, of an empty text', expression('cores', 'Gt', ''), false],
    ['Gt, of a hexadecimal', expression('cores', 'Gt', '0x1'), false],
    ['Gt, of a label that is no number', expression('zone', 'Gt', '1'), false],
    ['Gt, of an empty label', expression('empty', 'Gt', '-1'), false],
    ['Lt, less', expression('cores', 'Lt', '17'), true],
    ['Lt, equal', expression('cores', 'Lt', '16'), false],
    ['Lt, with leading zeros', expression('cores', 'Lt', '0000000000000000000000000017'), true],
    ['Lt, of the greatest int64', expression('cores', 'Lt', '9223372036854775807'), true],
    ['Lt, of one more than that', expression('cores', 'Lt', '9223372036854775808'), false],
    ['of an unknown operator', expression('gpu', 'Near'), false],
  ])('%s', (_what, demands, expected) => {
    expect(meetsRequiredAffinity(demands, node)).toBe(expected);
  });

  test('compares numbers that a double cannot tell apart', () => {
    const far = { name: 'far', labels: { serial: '9007199254740993' } };
    expect(meetsRequiredAffinity(expression('serial', 'Gt', '9007199254740992'), far)).toBe(true);
  });
});

describe('terms', () => {
  const hasGpu: NodeRequirement = { key: 'gpu', operator: 'Exists' };
  const hasDisk: NodeRequirement = { key: 'disk', operator: 'Exists' };

  test.each<[string, NodeDemands, boolean]>([
    ['are alternatives', required({ matchExpressions: [hasDisk] }, { matchExpressions: [hasGpu] }), true],
    ['ask for all of their expressions', required({ matchExpressions: [hasDisk, hasGpu] }), false],
    ['match nothing when they are empty', required({}), false],
    ['match nothing when their lists are empty', required({ matchExpressions: [], matchFields: [] }), false],
    ['match nothing when there are none', required(), false],
    ['leave others alone when they are empty', required({}, { matchExpressions: [hasGpu] }), true],
    ['are asked for beside the selector', { nodeSelector: { zone: 'b' }, ...expression('gpu', 'Exists') }, false],
    ['take the node by its name', field('In', 'node-1'), true],
    ['refuse another name', field('In', 'node-2'), false],
    ['refuse several names, as the scheduler does', field('In', 'node-1', 'node-2'), false],
    ['take any name but one', field('NotIn', 'node-2'), true],
    ['refuse the one name', field('NotIn', 'node-1'), false],
    ['refuse other operators for the name', field('Exists', 'node-1'), false],
    [
      'ask for names and labels together',
      required({ matchExpressions: [hasGpu], matchFields: [{ key: 'metadata.name', operator: 'In', values: ['x'] }] }),
      false,
    ],
    [
      'refuse other fields',
      required({ matchFields: [{ key: 'spec.unschedulable', operator: 'NotIn', values: ['true'] }] }),
      false,
    ],
  ])('%s', (_what, demands, expected) => {
    expect(meetsRequiredAffinity(demands, node)).toBe(expected);
  });
});

describe('whatever is asked', () => {
  const key = fc.constantFrom('gpu', 'zone', 'cores', 'disk');
  const value = fc.constantFrom('', 'true', 'a', '1', '16', '017');
  const labels = fc.dictionary(key, value);
  const values = fc.array(value, { minLength: 1, maxLength: 3 });
  const requirement: fc.Arbitrary<NodeRequirement> = fc.oneof(
    fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values }),
    fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    fc.record({ key, operator: fc.constantFrom('Gt', 'Lt'), values: fc.tuple(value) }),
  );
  const term = fc.record({ matchExpressions: fc.array(requirement, { maxLength: 3 }) });
  const terms = fc.array(term, { maxLength: 3 });
  const meets = (demands: NodeDemands, of: Record<string, string>) =>
    meetsRequiredAffinity(demands, { name: 'any', labels: of });

  test('a selector is the same as In with one value for each of its labels', () => {
    fc.assert(
      fc.property(labels, labels, (nodeSelector, of) => {
        const matchExpressions = Object.entries(nodeSelector).map(([k, v]) => ({
          key: k,
          operator: 'In',
          values: [v],
        }));
        const same = matchExpressions.length === 0 ? {} : required({ matchExpressions });
        expect(meets({ nodeSelector }, of)).toBe(meets(same, of));
      }),
    );
  });

  test('NotIn is what In is not, and DoesNotExist what Exists is not', () => {
    fc.assert(
      fc.property(key, values, labels, (k, list, of) => {
        expect(meets(expression(k, 'NotIn', ...list), of)).toBe(!meets(expression(k, 'In', ...list), of));
        expect(meets(expression(k, 'DoesNotExist'), of)).toBe(!meets(expression(k, 'Exists'), of));
      }),
    );
  });

  test('one more term never refuses a node, and one more expression never admits one', () => {
    fc.assert(
      fc.property(terms, term, requirement, labels, (all, another, more, of) => {
        if (meets(required(...all), of)) expect(meets(required(...all, another), of)).toBe(true);
        const narrower = all
          .filter(({ matchExpressions }) => matchExpressions.length > 0)
          .map(({ matchExpressions }) => ({ matchExpressions: [...matchExpressions, more] }));
        if (!meets(required(...all), of)) expect(meets(required(...narrower), of)).toBe(false);
      }),
    );
  });

  test('numbers are compared over the whole range of int64', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int64, int64, (number, bound) => {
        const of = { serial: `${number}` };
        expect(meets(expression('serial', 'Gt', `${bound}`), of)).toBe(number > bound);
        expect(meets(expression('serial', 'Lt', `${bound}`), of)).toBe(number < bound);
      }),
    );
  });
});
