import { clean } from '@rollcall/common/clean.ts';
import { CodedError, hasCode } from '@rollcall/common/coded-error.ts';
import type { KubeStatus } from './objects.ts';

export type KubeRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path without query, such as `/api/v1/nodes`. */
  path: string;
  query?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** The content type of the body; defaults to `application/json`. */
  contentType?: string;
  accept?: string;
  /** Limit from the start to the last byte of the answer. */
  timeoutMs: number;
  signal?: AbortSignal;
};

/** Speaks to one API server. */
export interface KubeClient {
  /**
   * The parsed body of a 2xx answer. Throws KubeStatusError for any other answer, and KUBE_UNREACHABLE when there was
   * none, when it was cut off, or when time was up.
   */
  request<T>(request: KubeRequest): Promise<T>;
  /**
   * Reads an answer as JSON lines (a watch), calling `onObject` for each in order, until the server ends it (resolves)
   * or `signal` aborts (resolves). `idleTimeoutMs` bounds the silence between two reads. `onOpen` is called when the
   * answer begins, which may be long before the first object. Throws like `request`, and what `onObject` throws.
   */
  stream(
    request: Omit<KubeRequest, 'timeoutMs'> & { idleTimeoutMs: number; onOpen?: () => void },
    onObject: (object: unknown) => void,
  ): Promise<void>;
  /** Ends idle and open connections; requests under way fail. */
  close(): void;
}

/** An answer of the API server that is an error. */
export class KubeStatusError extends CodedError {
  readonly status: number;
  readonly details: KubeStatus;
  /** From the Retry-After header, else from the body; `undefined` when the server named no time. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, details: KubeStatus, retryAfterMs: number | undefined, fields: Record<string, unknown>) {
    super('KUBE_REQUEST_FAILED', clean(details.message ?? `The API server answered ${status}`), {
      fields: { ...fields, status, reason: details.reason },
    });
    this.status = status;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whether an object was deleted meanwhile, or another has its name: what a write that names the uid is answered then. */
export function mayBeGone(error: unknown): boolean {
  return error instanceof KubeStatusError && (error.status === 404 || error.status === 409);
}

/** Whether a stream was given up because nothing came for its `idleTimeoutMs`: the error names that in its fields. */
export function isSilence(error: unknown): boolean {
  return hasCode(error, 'KUBE_UNREACHABLE') && error.fields['idleTimeoutMs'] !== undefined;
}

/** Whether a request was given up because no answer came within its `timeoutMs`: the error has that among its fields. */
export function isTimeout(error: unknown): boolean {
  return hasCode(error, 'KUBE_UNREACHABLE') && error.fields['timeoutMs'] !== undefined;
}

/** A request that takes so long is slow: requests for other objects no longer wait for it. */
export const SLOW_MS = 1000;

/**
 * The right to write, which a Lease gives for a while. A write must end within `remainingMs`, and none may begin when
 * it is 0.
 */
export interface WriteFence {
  remainingMs(): number;
}
