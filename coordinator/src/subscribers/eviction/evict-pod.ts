import { describeError } from '@rollcall/common/coded-error.ts';
import { type KubeClient, KubeStatusError, mayBeGone } from '../../kube/client.ts';
import type { KubeStatus, Pod } from '../../kube/objects.ts';

/**
 * - `gone`: the pod is not there any more, or is another one of the same name.
 * - `blocked`: a PodDisruptionBudget does not allow it now; `message` says which, in the API server's words.
 * - `failed`: `ofPod` says whether it is about this pod; else whatever is sent now would fare no better.
 */
export type EvictionOutcome =
  | { kind: 'evicted' }
  | { kind: 'gone' }
  | { kind: 'blocked'; message: string; retryAfterMs: number }
  | { kind: 'failed'; error: unknown; ofPod: boolean; retryAfterMs: number };

/** The cause that the API server names when a budget is why. */
const BUDGET_CAUSE = 'DisruptionBudget';

/** Asks the API server once to evict exactly this pod. Never throws. */
export async function evictPod(
  client: Pick<KubeClient, 'request'>,
  { metadata }: Pod,
  timeoutMs: number,
): Promise<EvictionOutcome> {
  const { name, namespace = '', uid } = metadata;
  try {
    await client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/eviction`,
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace },
        // Without the resource version: the API server would compare it only after it has charged the budget.
        deleteOptions: { preconditions: { uid } },
      },
      timeoutMs,
    });
    return { kind: 'evicted' };
  } catch (error) {
    return outcomeOf(error);
  }
}

function outcomeOf(error: unknown): EvictionOutcome {
  if (!(error instanceof KubeStatusError)) return { kind: 'failed', error, ofPod: false, retryAfterMs: 0 };
  const { status, details, retryAfterMs = 0 } = error;
  if (mayBeGone(error)) return { kind: 'gone' };
  const budget = budgetCause(details);
  if (status === 429 && budget) {
    return { kind: 'blocked', message: budget.message ?? describeError(error), retryAfterMs };
  }
  return { kind: 'failed', error, ofPod: status !== 429 && status !== 401, retryAfterMs };
}

/** A 429 without this is about the load of the API server. */
function budgetCause({ details }: KubeStatus): { message?: string } | undefined {
  return details?.causes?.find(({ reason }) => reason === BUDGET_CAUSE);
}
