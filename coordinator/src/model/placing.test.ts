import { expect, test } from 'vitest';
import { placingOf } from './placing.ts';

const UNSAID = {
  namespace: 'gitpod',
  schedulerNamespace: undefined,
  gitpod: true,
  schedulerPodSelector: undefined,
  schedulerServices: undefined,
  schedulerNodeSelector: undefined,
};

test('by default workspaces are placed, by their services and kinds, and without Gitpod nothing is', () => {
  const workspaces = { matchLabels: { component: 'workspace' } };
  expect(placingOf(UNSAID)).toEqual({
    ...{ namespace: 'gitpod', podSelector: workspaces },
    ...{ services: undefined, nodeSelector: undefined },
  });
  expect(placingOf({ ...UNSAID, gitpod: false }).podSelector).toBeUndefined();
});

test('what is said counts, with or without Gitpod', () => {
  const said = {
    ...{ namespace: 'gitpod', schedulerNamespace: 'builds' },
    schedulerPodSelector: 'app=build',
    schedulerServices: ['cache'],
    schedulerNodeSelector: 'pool',
  };
  for (const gitpod of [true, false]) {
    expect(placingOf({ gitpod, ...said })).toEqual({
      namespace: 'builds',
      podSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['build'] }] },
      services: ['cache'],
      nodeSelector: { matchExpressions: [{ key: 'pool', operator: 'Exists' }] },
    });
  }
});
