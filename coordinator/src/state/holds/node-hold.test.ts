import { expect, test } from 'vitest';
import { observeNodeHold } from './node-hold.ts';

const METADATA = { name: 'jobs', uid: 'u', resourceVersion: '1', generation: 3 };
const PODS = { namespace: 'ci', selector: { matchLabels: { hold: 'yes' } } };

test('what a NodeHold says is kept, with its generation and status', () => {
  expect(observeNodeHold({ metadata: METADATA, spec: { pods: PODS }, status: { heldNodes: 2 } })).toEqual({
    uid: 'u',
    name: 'jobs',
    generation: 3,
    pods: PODS,
    problem: undefined,
    status: { heldNodes: 2 },
  });
});

test.each<[string, Record<string, unknown>]>([
  ['spec.until', { pods: PODS, until: 'noon' }],
  ['spec.pods', {}],
  ['spec.pods', { pods: [PODS] }],
  ['spec.pods', { pods: null }],
  ['spec.pods.phases', { pods: { ...PODS, phases: ['Running'] } }],
  ['spec.pods.namespace', { pods: { selector: PODS.selector } }],
  ['spec.pods.selector', { pods: { namespace: 'ci' } }],
  ['spec.pods.selector.matchFields', { pods: { ...PODS, selector: { matchFields: [] } } }],
  ['spec.pods.selector.matchLabels.hold', { pods: { ...PODS, selector: { matchLabels: { hold: 1 } } } }],
  ['spec.pods.selector.matchExpressions', { pods: { ...PODS, selector: { matchExpressions: {} } } }],
  [
    'spec.pods.selector.matchExpressions[0].since',
    { pods: { ...PODS, selector: { matchExpressions: [{ key: 'a', operator: 'Exists', since: 1 }] } } },
  ],
  [
    'spec.pods.selector.matchExpressions[1].operator',
    {
      pods: {
        ...PODS,
        selector: {
          matchExpressions: [
            { key: 'a', operator: 'In', values: ['b'] },
            { key: 'a', operator: 'Gt' },
          ],
        },
      },
    },
  ],
])('a NodeHold whose %s is not known selects no pods, and has a problem that names the field', (field, spec) => {
  const { pods, problem } = observeNodeHold({ metadata: METADATA, spec });
  expect({ pods, problem }).toEqual({
    pods: undefined,
    problem: `${field} is not known to this version of rollcall`,
  });
});

test('every selector of Kubernetes is known', () => {
  const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
  const matchExpressions = operators.map((operator) => ({ key: 'a', operator, values: ['b'] }));
  const pods = { namespace: 'ci', selector: { matchLabels: { a: 'b' }, matchExpressions } };
  expect(observeNodeHold({ metadata: METADATA, spec: { pods } })).toMatchObject({ pods, problem: undefined });
});

test('a NodeHold without a spec or a generation is not understood', () => {
  const { generation: _generation, ...metadata } = METADATA;
  const problem = 'spec.pods is not known to this version of rollcall';
  expect(observeNodeHold({ metadata })).toMatchObject({ generation: 0, pods: undefined, problem });
});
