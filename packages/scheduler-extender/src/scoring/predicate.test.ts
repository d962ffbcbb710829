import { expect, test } from 'vitest';
import { predicateRefusal } from './extender-service.ts';
import { HEADLESS, REGISTRY_FACADE_LABEL, REGULAR, WS_DAEMON_LABEL, workspacePod } from './scheduler.test-fixtures.ts';
import type { SchedulingPod } from './scheduling-pod.ts';

const READY = { [REGISTRY_FACADE_LABEL]: 'true', [WS_DAEMON_LABEL]: 'true' };

function refusal(labels: Record<string, string>, pod: Partial<SchedulingPod> = {}) {
  return predicateRefusal(workspacePod(pod), { name: 'n1', labels }, 'default');
}

const verdict = (...args: Parameters<typeof refusal>) => refusal(...args)?.message;

test('E1: a pod that is no workspace passes everywhere', () => {
  expect(verdict({}, { workspace: undefined })).toBeUndefined();
});

test('E2: a workspace is kept off a node that is not for workspaces, in the words of the predecessor', () => {
  expect(verdict(READY)).toBe('cannot schedule pod ws-1 in node n1');
});

test('E3, E4: regular and headless workspaces are kept off nodes that are only for the other kind', () => {
  expect(verdict({ ...READY, [HEADLESS]: 'true' })).toBe('cannot schedule pod ws-1 in node n1');
  const headless = { workspaceType: 'headless', workspace: 'headless' as const };
  expect(verdict({ ...READY, [REGULAR]: 'true' }, headless)).toBe('cannot schedule pod ws-1 in node n1');
});

test('E5: a prebuild passes on a node for regular ones, as it did; our own filter knows better', () => {
  expect(
    verdict({ ...READY, [REGULAR]: 'true' }, { workspaceType: 'prebuild', workspace: 'headless' }),
  ).toBeUndefined();
});

test('E6: a missing label is told with the name of the node, registry-facade first', () => {
  const other = { [REGULAR]: 'true' };
  expect(verdict(other)).toBe(`node n1 does not have the required label ${REGISTRY_FACADE_LABEL}`);
  expect(verdict({ ...other, [REGISTRY_FACADE_LABEL]: 'true' })).toBe(
    `node n1 does not have the required label ${WS_DAEMON_LABEL}`,
  );
});

test('E7: a label with another value than true is told with its value', () => {
  expect(verdict({ [REGULAR]: '', ...READY, [WS_DAEMON_LABEL]: 'false' })).toBe(
    `unexpected node label ${WS_DAEMON_LABEL} value: false`,
  );
});

test('a node with everything passes, whatever the value of the label for its kind', () => {
  expect(verdict({ [REGULAR]: 'false', ...READY })).toBeUndefined();
});

test('what the rule of a refusal is, is counted', () => {
  expect(refusal(READY)).toMatchObject({ rule: 'predicate-kind' });
  expect(refusal({ [REGULAR]: '' })).toMatchObject({ rule: 'predicate-ready' });
  expect(refusal({ [REGULAR]: '', [REGISTRY_FACADE_LABEL]: 'no' })).toMatchObject({ rule: 'predicate-ready' });
});
