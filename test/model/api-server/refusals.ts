import { KubeStatusError } from '@rollcall/coordinator/kube/client.ts';
import type { KubeStatus } from '@rollcall/coordinator/kube/objects.ts';

type Cause = { reason?: string; message?: string; field?: string };

/** The errors of the API server, with the bodies that a real one answers with, as far as anything is read of them. */

export function notFound(name: string): KubeStatusError {
  return refusal(404, 'NotFound', `nodes "${name}" not found`, { name, kind: 'nodes' });
}

/** An apply to a Node that is not there may not create it. */
export function mayNotCreate(name: string): KubeStatusError {
  return refusal(403, 'Forbidden', `nodes "${name}" is forbidden: cannot create resource "nodes"`, {
    name,
    kind: 'nodes',
  });
}

/** An apply with a uid or a resource version to a Node that is not there, or that has another resource version. */
export function modified(name: string, message = 'the object has been modified'): KubeStatusError {
  return refusal(409, 'Conflict', `Operation cannot be fulfilled on nodes "${name}": ${message}`, {
    name,
    kind: 'nodes',
  });
}

export function managerConflict(conflicts: readonly { manager: string; path: string }[]): KubeStatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${manager}"`,
    field: path,
  }));
  return refusal(409, 'Conflict', `Apply failed with ${causes.length} conflicts`, { causes });
}

export function invalid(name: string, causes: Cause[]): KubeStatusError {
  return refusal(422, 'Invalid', `Node "${name}" is invalid`, { name, kind: 'Node', causes });
}

/** A JSON patch of which an operation failed. */
export function unprocessable(): KubeStatusError {
  const message = 'the server rejected our request due to an error in our request';
  return refusal(422, 'Invalid', message, {});
}

export function denied(name: string, why: string): KubeStatusError {
  const message = `ValidatingAdmissionPolicy 'model' denied request: ${why}`;
  return refusal(422, 'Invalid', message, { name, kind: 'nodes', causes: [{ message: why }] });
}

export function noSuchPod(name: string): KubeStatusError {
  return refusal(404, 'NotFound', `pods "${name}" not found`, { name, kind: 'pods' });
}

/** A precondition on the uid failed. */
export function anotherUid(name: string): KubeStatusError {
  return refusal(409, 'Conflict', `Precondition failed: UID in precondition`, { name, kind: 'pods' });
}

/** An eviction that a PodDisruptionBudget does not allow. */
export function blockedByBudget(name: string): KubeStatusError {
  const causes = [{ reason: 'DisruptionBudget', message: 'The disruption budget needs more healthy pods' }];
  return refusal(429, 'TooManyRequests', 'Cannot evict pod', { name, kind: 'pods', causes });
}

export function failure(status: number, retryAfterMs?: number): KubeStatusError {
  const message = `The model answered ${status}`;
  return new KubeStatusError(status, { kind: 'Status', code: status, message }, retryAfterMs, {});
}

function refusal(code: number, reason: string, message: string, details: KubeStatus['details']): KubeStatusError {
  const body: KubeStatus = {
    kind: 'Status',
    status: 'Failure',
    message,
    reason,
    code,
    ...(details ? { details } : {}),
  };
  return new KubeStatusError(code, body, undefined, {});
}
