import { CodedError } from '@rollcall/common/coded-error.ts';
import type { KubeClient, KubeRequest, WriteFence } from './client.ts';

export type LeaderRequestsOptions = {
  client: Pick<KubeClient, 'request'>;
  fence: WriteFence;
  /** No request begins any more. */
  signal: AbortSignal;
};

/** Sends what only a leader may send: none begins without the right to write, and each ends before that right does. */
export class LeaderRequests implements Pick<KubeClient, 'request'> {
  readonly #options: LeaderRequestsOptions;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: LeaderRequestsOptions) {
    this.#options = options;
  }

  get mayBegin(): boolean {
    return this.#remainingMs() > 0;
  }

  /** Throws LEADERSHIP_LOST where it may not begin, else as the client does. */
  async request<T>(request: KubeRequest): Promise<T> {
    const timeoutMs = Math.min(request.timeoutMs, this.#remainingMs());
    if (timeoutMs <= 0) throw new CodedError('LEADERSHIP_LOST', 'Only the leader may send this request');
    const answer = this.#options.client.request<T>({ ...request, timeoutMs });
    this.#underWay.add(answer);
    try {
      return await answer;
    } finally {
      this.#underWay.delete(answer);
    }
  }

  /** Resolves when no request is under way: after that the Lease may go to another, if the fence is closed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  #remainingMs(): number {
    const { fence, signal } = this.#options;
    return signal.aborted ? 0 : fence.remainingMs();
  }
}
