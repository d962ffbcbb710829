import type { Clock } from '@rollcall/common/clock.ts';
import { askLeader, isForwarded, type Leader } from '../../term/leader/ask-leader.ts';
import { type ExtenderResponse, type Question, refuse } from './response.ts';

export type ForwardOptions = {
  /** `undefined` while no leader is known. */
  leader: () => Leader | undefined;
  clock: Clock;
};

/** Forwards a question whose body was read, and returns the answer while it arrives. */
export type Forward = (question: Question, body: Buffer) => Promise<ExtenderResponse>;

const TIMEOUT_MS = 2_000;

/** Forwards questions to the leader, each of them once. */
export function createForward({ leader, clock }: ForwardOptions): Forward {
  return async ({ request, signal }, body) => {
    if (isForwarded(request)) return refuse(503, 'The request was forwarded to this replica, which does not lead');
    const known = leader();
    if (!known) return refuse(503, 'No leader is known');
    const headers = ['content-type'];
    const response = await askLeader(known, { request, headers, body, signal, timeoutMs: TIMEOUT_MS, clock });
    if (!response) return refuse(503, 'The leader did not answer');
    const { 'content-type': type = 'application/json', 'content-length': length } = response.headers;
    const given = length === undefined ? {} : { headers: { 'content-length': length } };
    return { status: response.statusCode ?? 503, type, body: response, ...given };
  };
}
