import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { gated, serviceOf } from '../model/services.test-fixtures.ts';
import { saysReady } from './agent-signs.ts';
import { createIntern } from './intern.ts';
import { observeNode } from './observed-node.ts';

const LABEL = 'example.com/ready';
const CONDITION = 'example.com/Ready';

type Said = { label?: string; condition?: readonly [type: string, status: string] };

/** A Node that has this label and this condition, which this field manager applied. */
function nodeWith({ label, condition }: Said, manager = 'rollcall') {
  const apply = { manager, operation: 'Apply' as const };
  const labels = label === undefined ? {} : { [label]: 'true' };
  const ofLabel = label && { ...apply, fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${label}`]: {} } } } };
  const fields = condition && { [`k:{"type":"${condition[0]}"}`]: { '.': {}, 'f:status': {} } };
  const ofCondition = fields && {
    ...apply,
    subresource: 'status',
    fieldsV1: { 'f:status': { 'f:conditions': fields } },
  };
  const managedFields = [ofLabel, ofCondition].filter((each) => typeof each === 'object');
  const [type = '', status = ''] = condition ?? [];
  return observeNode(
    {
      metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels, managedFields },
      status: { conditions: condition ? [{ type, status }] : [] },
    },
    createIntern(),
    new Set(),
  );
}

const labelled = serviceOf('a', { publish: { label: LABEL } });
const conditioned = serviceOf('a', { publish: { condition: CONDITION } });
const mute = serviceOf('a', { publish: {} });

test.each([
  ['its label', { label: LABEL }, labelled, true],
  ['another label', { label: 'example.com/other' }, labelled, false],
  ['its condition', { condition: [CONDITION, 'True'] }, conditioned, true],
  ['its condition that is not True', { condition: [CONDITION, 'False'] }, conditioned, false],
  ['another condition', { condition: ['example.com/Other', 'True'] }, conditioned, false],
  ['nothing', {}, conditioned, false],
  ['a label and a condition of others', { label: LABEL, condition: [CONDITION, 'True'] }, mute, false],
  ['the label of one that has a condition alone', { label: LABEL }, conditioned, false],
] as const)('%s, applied by rollcall, says that a service is ready: %j', (_what, said, service, expected) => {
  expect(saysReady(nodeWith(said), service)).toBe(expected);
});

test('a key that another manager applied says nothing', () => {
  expect(saysReady(nodeWith({ label: LABEL }, 'another'), labelled)).toBe(false);
  expect(saysReady(nodeWith({ condition: [CONDITION, 'True'] }, 'another'), conditioned)).toBe(false);
});

test('a condition that is ours and not there any more, or not watched, says nothing', () => {
  const { conditions, ...node } = nodeWith({ condition: [CONDITION, 'True'] });
  expect(saysReady(node, conditioned)).toBe(false);
  const other = {
    type: 'example.com/Other',
    status: 'True',
    reason: '',
    message: '',
    lastTransitionTime: '',
    index: 0,
  };
  expect(saysReady({ ...node, conditions: [other] }, conditioned)).toBe(false);
});

test('of a service that publishes a taint alone, a node says it that was ready once and has no taint of it', () => {
  const origin = { kind: 'object', uid: 'x', generation: 1, createdAtMs: 0 } as const;
  const key = 'readiness.k8s.io/ebs';
  const tainting = serviceOf('a', { publish: { taint: { key, value: '', effect: 'NoSchedule' } }, origin });
  const noted = { [SERVICES_STARTED_ANNOTATION]: JSON.stringify({ node: 'u', services: { a: 'x:1' } }) };
  const node = { ...nodeWith({}), annotations: noted, taints: [] };
  expect(saysReady(node, tainting)).toBe(true);
  expect(saysReady({ ...node, taints: [{ key, effect: 'NoSchedule' }] }, tainting)).toBe(false);
  expect(saysReady({ ...node, annotations: {} }, tainting)).toBe(false);
  expect(saysReady({ ...node, taints: undefined }, tainting)).toBe(false);
});

test('a label that the Node lists says it where managedFields were reset', () => {
  const annotations = { 'rollcall.dev/keys': JSON.stringify({ [`label:${LABEL}`]: 'service:x' }) };
  const metadata = { name: 'n', uid: 'u', resourceVersion: '1', labels: { [LABEL]: 'true' }, annotations };
  expect(saysReady(observeNode({ metadata }, createIntern(), new Set(Object.keys(annotations))), labelled)).toBe(true);
});

test('with the gate taint, the label of a built-in service is permanent, and the taint says whether it is ready', () => {
  const taint = { key: 'gitpod.io/a-not-ready', value: 'true', effect: 'NoSchedule' } as const;
  const permanent = gated(serviceOf('a', { publish: { label: LABEL, taint } }), 'taint');
  const node = { ...nodeWith({ label: LABEL }), taints: [] };
  expect(saysReady(node, permanent)).toBe(true);
  expect(saysReady({ ...node, taints: [taint] }, permanent)).toBe(false);
});
