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
    unknownFields: [],
    status: { heldNodes: 2 },
  });
});

test('a NodeHold with a field that nobody here knows holds nothing, and its field is named', () => {
  const { pods, unknownFields } = observeNodeHold({ metadata: METADATA, spec: { pods: PODS, until: 'noon' } });
  expect({ pods, unknownFields }).toEqual({ pods: undefined, unknownFields: ['until'] });
});

test('a NodeHold without a spec or a generation holds nothing', () => {
  const { generation: _generation, ...metadata } = METADATA;
  const observed = observeNodeHold({ metadata });
  expect(observed).toMatchObject({ generation: 0, pods: undefined, unknownFields: [] });
});
