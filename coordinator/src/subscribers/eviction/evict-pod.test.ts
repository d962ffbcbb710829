import { CodedError } from '@rollcall/common/coded-error.ts';
import { expect, test } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import type { KubeStatus, Pod } from '../../kube/objects.ts';
import { evictPod } from './evict-pod.ts';

const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: '1' } };
const budget = {
  reason: 'DisruptionBudget',
  message: 'The disruption budget b needs 1 healthy pods and has 1 currently',
};

function answering(error: unknown): KubeClient {
  return { request: () => Promise.reject(error), stream: () => Promise.resolve(), close: () => {} };
}

function refusal(status: number, details: KubeStatus = {}, retryAfterMs?: number): KubeStatusError {
  return new KubeStatusError(status, details, retryAfterMs, {});
}

test.each<[string, unknown, object]>([
  ['404 is a pod that is gone', refusal(404), { kind: 'gone' }],
  ['409 is another pod of the same name', refusal(409), { kind: 'gone' }],
  [
    '429 for a budget is a pod that is blocked',
    refusal(429, { details: { causes: [budget] } }, 10_000),
    { kind: 'blocked', message: budget.message, retryAfterMs: 10_000 },
  ],
  [
    '429 without one is a busy API server',
    refusal(429, {}, 2000),
    { kind: 'failed', ofPod: false, retryAfterMs: 2000 },
  ],
  ['401 is about us', refusal(401), { kind: 'failed', ofPod: false }],
  ['403 is about the pod', refusal(403), { kind: 'failed', ofPod: true }],
  ['500 is about the pod', refusal(500), { kind: 'failed', ofPod: true, retryAfterMs: 0 }],
  ['no answer is no pod’s fault', new CodedError('KUBE_UNREACHABLE', 'Away'), { kind: 'failed', ofPod: false }],
])('%s', async (_what, error, expected) => {
  expect(await evictPod(answering(error), pod, 1000)).toMatchObject(expected);
});

test('names the pod and its uid, so that another one of the same name stays', async () => {
  const requests: KubeRequest[] = [];
  const client = { ...answering(undefined), request: async (request: KubeRequest) => requests.push(request) as never };
  expect(await evictPod(client, pod, 1000)).toEqual({ kind: 'evicted' });
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/api/v1/namespaces/default/pods/p/eviction',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'p', namespace: 'default' },
        deleteOptions: { preconditions: { uid: 'u' } },
      },
      timeoutMs: 1000,
    },
  ]);
});

test('a budget that says nothing is described by the status', async () => {
  const silent = refusal(429, { details: { causes: [{ reason: 'Other' }, { reason: 'DisruptionBudget' }] } });
  const outcome = await evictPod(answering(silent), pod, 1000);
  expect(outcome).toMatchObject({ kind: 'blocked', retryAfterMs: 0 });
  expect(outcome.kind === 'blocked' && outcome.message).toContain('429');
});
