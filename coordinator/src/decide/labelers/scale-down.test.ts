import {
  DO_NOT_DISRUPT,
  KARPENTER_POOL_LABEL,
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
} from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import type { EvaluatedNode } from './labeler.ts';
import { scaleDownLabeler } from './scale-down.ts';

const workspace = (name: string) => ({ uid: name, namespace: 'default', name, node: 'n' });

function claims(change: Partial<EvaluatedNode>) {
  return scaleDownLabeler.claims({ ...snapshot(), readiness: new Map(), ageMs: 0, ...change });
}

const claim = (change: Partial<EvaluatedNode>) => claims(change)[0];

test('a workspace on the node keeps it', () => {
  expect(claim({ workspaces: [workspace('w1')] })).toMatchObject({
    kind: 'annotation',
    key: SCALE_DOWN_DISABLED,
    value: 'true',
    stance: 'present',
    ownership: 'forced',
    reason: 'workspace on the node: default/w1',
  });
});

test('the reason names some of many workspaces, and counts the rest', () => {
  const workspaces = Array.from({ length: 8 }, (_, i) => workspace(`w${i}`));
  expect(claim({ workspaces })?.reason).toMatch(/^workspaces on the node: default\/w0, .*default\/w4 and 3 more$/);
});

test('without workspaces nothing is wanted, and while they are not known things stay as they are', () => {
  expect(claim({ workspaces: [] })).toMatchObject({ stance: 'absent' });
  expect(claim({ workspaces: undefined })).toMatchObject({ stance: 'keep' });
});

test('a hold by hand counts like a workspace, even while workspaces are not known', () => {
  const annotations = { [SCALE_DOWN_HOLD]: 'true' };
  expect(claim({ workspaces: undefined, annotations })).toMatchObject({ stance: 'present' });
  expect(claim({ workspaces: [], annotations: { [SCALE_DOWN_HOLD]: 'false' } })).toMatchObject({ stance: 'absent' });
});

const pod = { hold: 'batch', namespace: 'ci', name: 'p' };

test('a pod of a NodeHold keeps the node, whatever else is known', () => {
  const held = { pods: [pod], unknown: 'the pods of another are not known yet' };
  expect(claim({ workspaces: undefined, holds: held })).toMatchObject({
    stance: 'present',
    reason: 'pod of a NodeHold on the node: ci/p (batch)',
  });
  expect(claim({ workspaces: [workspace('w')], holds: held })?.reason).toBe(
    'workspace on the node: default/w; pod of a NodeHold on the node: ci/p (batch)',
  );
});

test('nothing is let go of while NodeHolds or their pods are not known', () => {
  const holds = { pods: [], unknown: 'the NodeHolds have not been listed yet' };
  expect(claim({ workspaces: [], holds })).toMatchObject({ stance: 'keep', reason: holds.unknown });
});

test('on nodes of Karpenter, its own annotation says the same', () => {
  const labels = { [KARPENTER_POOL_LABEL]: '' };
  for (const workspaces of [[workspace('w')], [], undefined]) {
    const [first, second, ...more] = claims({ labels, workspaces });
    expect(more).toEqual([]);
    expect(second).toEqual({ ...first, key: DO_NOT_DISRUPT });
  }
  expect(claims({ workspaces: [workspace('w')] })).toHaveLength(1);
});
