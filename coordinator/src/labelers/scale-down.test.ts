import { SCALE_DOWN_DISABLED, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { scaleDownLabeler } from './scale-down.ts';

const workspace = (name: string) => ({ uid: name, namespace: 'default', name, node: 'n' });

function claim(change: Parameters<typeof snapshot>[0]) {
  return scaleDownLabeler.claims({ ...snapshot(change), readiness: new Map(), ageMs: 0 })[0];
}

test('a workspace on the node keeps it', () => {
  expect(claim({ workspaces: [workspace('w1')] })).toMatchObject({
    kind: 'annotation',
    key: SCALE_DOWN_DISABLED,
    value: 'true',
    stance: 'want',
    ownership: 'forced',
    reason: 'workspace on the node: default/w1',
  });
});

test('the reason names some of many workspaces, and counts the rest', () => {
  const workspaces = Array.from({ length: 8 }, (_, i) => workspace(`w${i}`));
  expect(claim({ workspaces })?.reason).toMatch(/^workspaces on the node: default\/w0, .*default\/w4 and 3 more$/);
});

test('without workspaces nothing is wanted, and while they are not known things stay as they are', () => {
  expect(claim({ workspaces: [] })).toMatchObject({ stance: 'withhold' });
  expect(claim({ workspaces: undefined })).toMatchObject({ stance: 'hold' });
});

test('a hold by hand counts like a workspace, even while workspaces are not known', () => {
  const annotations = { [SCALE_DOWN_HOLD]: 'true' };
  expect(claim({ workspaces: undefined, annotations })).toMatchObject({ stance: 'want' });
  expect(claim({ workspaces: [], annotations: { [SCALE_DOWN_HOLD]: 'false' } })).toMatchObject({ stance: 'withhold' });
});
