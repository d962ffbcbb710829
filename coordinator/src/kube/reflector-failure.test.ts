import { CodedError } from '@rollcall/common/coded-error.ts';
import { describe, expect, it } from 'vitest';
import { KubeStatusError } from './client.ts';
import { classifyFailure } from './reflector-failure.ts';

describe('classifyFailure', () => {
  it.each([
    [410, 'expired', true],
    [404, 'absent', true],
    [401, 'refused', false],
    [403, 'refused', false],
    [429, 'overloaded', false],
    [500, 'overloaded', false],
    [504, 'overloaded', false],
    [400, 'rejected', true],
  ])('calls status %i %s; a new list is needed: %s', (status, reason, relist) => {
    expect(classifyFailure(new KubeStatusError(status, {}, undefined, {}), 'nodes')).toMatchObject({
      reason,
      relist,
      retryAfterMs: 0,
    });
  });

  it('waits as long as the API server asks for, but no more than a minute', () => {
    expect(classifyFailure(new KubeStatusError(429, {}, 5000, {}), 'nodes').retryAfterMs).toBe(5000);
    expect(classifyFailure(new KubeStatusError(429, {}, 1e9, {}), 'nodes').retryAfterMs).toBe(60_000);
  });

  it.each([
    ['KUBE_WATCH_EXPIRED', 'expired', true],
    ['KUBE_LIST_NOT_TAKEN', 'garbled', true],
    ['KUBE_WATCH_BROKEN', 'garbled', false],
    ['KUBE_UNREACHABLE', 'unreachable', false],
  ] as const)('calls %s %s; a new list is needed: %s; nothing is asked for but that', (code, reason, relist) => {
    const failure = classifyFailure(new CodedError(code, ''), 'nodes');
    expect(failure).toMatchObject({ reason, relist, retryAfterMs: 0 });
  });

  it.each([
    [401, 'The API server does not accept the credentials: see the kubeconfig or service account token'],
    [403, 'RBAC must permit the verbs list and watch on pods'],
    [404, 'The API server does not serve pods: see whether its CRD is installed'],
    [500, undefined],
  ])('says what to do about status %i', (status, hint) => {
    expect(classifyFailure(new KubeStatusError(status, {}, undefined, {}), 'pods').hint).toBe(hint);
  });
});
