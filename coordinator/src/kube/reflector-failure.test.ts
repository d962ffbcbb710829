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
    expect(classifyFailure(new KubeStatusError(status, {}, undefined, {}), 'nodes')).toMatchObject({ reason, relist });
  });

  it('waits as long as the API server asks for, but no more than a minute', () => {
    expect(classifyFailure(new KubeStatusError(429, {}, 5000, {}), 'nodes').retryAfterMs).toBe(5000);
    expect(classifyFailure(new KubeStatusError(429, {}, 1e9, {}), 'nodes').retryAfterMs).toBe(60_000);
  });

  it('lists anew after an expired watch, and resumes one that was cut or garbled', () => {
    const failure = (code: 'KUBE_WATCH_EXPIRED' | 'KUBE_WATCH_BROKEN' | 'KUBE_UNREACHABLE') =>
      classifyFailure(new CodedError(code, ''), 'nodes');
    expect(failure('KUBE_WATCH_EXPIRED')).toMatchObject({ reason: 'expired', relist: true });
    expect(failure('KUBE_WATCH_BROKEN')).toMatchObject({ reason: 'garbled', relist: false });
    expect(failure('KUBE_UNREACHABLE')).toMatchObject({ reason: 'unreachable', relist: false });
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
