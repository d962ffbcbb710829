import { hash } from 'node:crypto';
import type { Clock } from '@rollcall/common/clock.ts';
import {
  type AgentIdentity,
  type AgentPodLookup,
  identifyAgent,
  type TokenReviewResult,
  type Verdict,
} from './agent-identity.ts';
import { readTokenTimes } from './bearer-token.ts';
import { unauthenticated, unavailable } from './report-refusal.ts';
import { QueueFullError, ReviewQueue } from './review-queue.ts';
import { VerdictCache } from './verdict-cache.ts';

/** How long the API server's word on a good token is taken. */
const ACCEPTED_MS = 60_000;

/** How long a token stays refused without asking again. */
const REFUSED_MS = 5_000;

/** The same for what may be known a moment later, such as a pod that the watch has not told of. */
const PASSING_MS = 500;

export type ReviewResult = 'accepted' | 'unauthenticated' | 'forbidden' | 'failed' | 'overloaded';

export type BearerAuthOptions = {
  /**
   * Asks the API server about a token, for the audience of the coordinator. Rejects when there was no answer; it must
   * settle within seconds, for it holds one of few places until then.
   */
  review: (token: string) => Promise<TokenReviewResult>;
  /** Full user name of the agents' service account. */
  username: string;
  agentPod: AgentPodLookup;
  clock: Clock;
  onReview?: (result: ReviewResult) => void;
  /** TokenReviews under way at once; 32 unless told. */
  reviewsMax?: number;
  /** TokenReviews that wait for their turn, of known and of unknown tokens each; 1024 unless told. */
  waitingMax?: number;
  /** Accepted tokens that are remembered; about twice the size of the fleet, 200,000 unless told. */
  acceptedMax?: number;
};

/** Tells whose token it is, asking the API server at most once a minute about each. Tokens are kept as hashes only. */
export class BearerAuth {
  readonly #cache: VerdictCache;
  readonly #queue: ReviewQueue;
  readonly #underWay = new Map<string, Promise<AgentIdentity>>();
  readonly #options: BearerAuthOptions;

  constructor(options: BearerAuthOptions) {
    this.#options = options;
    this.#cache = new VerdictCache({ acceptedMax: options.acceptedMax ?? 200_000, refusedMax: 10_000 });
    this.#queue = new ReviewQueue({ runningMax: options.reviewsMax ?? 32, waitingMax: options.waitingMax ?? 1024 });
  }

  /** Rejects with ReportRefusal: 401, 403, or 503 when the API server could not be asked. */
  async authenticate(token: string): Promise<AgentIdentity> {
    const key = hash('sha256', token, 'base64');
    const verdict = this.#cache.get(key, this.#options.clock.monotonic());
    if (verdict) return settle(verdict);
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    const reviewing = this.#reviewInTurn(key, token).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, reviewing);
    return reviewing;
  }

  /** The agent's pod was deleted: none of its tokens is accepted from now on. */
  forgetPod(podUid: string): void {
    this.#cache.forgetPod(podUid, this.#options.clock.monotonic());
  }

  async #reviewInTurn(key: string, token: string): Promise<AgentIdentity> {
    try {
      return await this.#queue.run(this.#cache.isKnown(key), () => this.#review(key, token));
    } catch (error) {
      if (!(error instanceof QueueFullError)) throw error;
      this.#options.onReview?.('overloaded');
      throw unavailable('Too many tokens wait for the API server', 1, error);
    }
  }

  async #review(key: string, token: string): Promise<AgentIdentity> {
    const { review, username, agentPod, onReview } = this.#options;
    let result: TokenReviewResult;
    try {
      result = await review(token);
    } catch (cause) {
      onReview?.('failed');
      throw unavailable('The API server could not be asked about the token', 1, cause);
    }
    const verdict = this.#judge(identifyAgent(result, username, agentPod));
    this.#remember(key, token, verdict);
    if ('identity' in verdict) onReview?.('accepted');
    else onReview?.(verdict.refusal.status === 401 ? 'unauthenticated' : 'forbidden');
    return settle(verdict);
  }

  /** The API server goes on accepting the token of a deleted pod for a while, out of a cache of its own. */
  #judge(verdict: Verdict): Verdict {
    if (!('identity' in verdict) || !verdict.identity.pod) return verdict;
    if (!this.#cache.isGone(verdict.identity.pod.uid)) return verdict;
    return { refusal: unauthenticated('The pod that the token is bound to was deleted', 'invalid_token') };
  }

  #remember(key: string, token: string, verdict: Verdict): void {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    if ('refusal' in verdict) {
      this.#cache.refuse(key, verdict.refusal, nowMs + (verdict.passing ? PASSING_MS : REFUSED_MS));
      return;
    }
    const { issuedAt, expiresAt } = readTokenTimes(token);
    if (issuedAt !== undefined) verdict.identity.issuedAtSeconds = issuedAt;
    const leftMs = expiresAt === undefined ? ACCEPTED_MS : expiresAt * 1000 - clock.now();
    this.#cache.accept(key, verdict.identity, nowMs + Math.min(ACCEPTED_MS, Math.max(0, leftMs)), nowMs);
  }
}

function settle(verdict: Verdict): AgentIdentity {
  if ('refusal' in verdict) throw verdict.refusal;
  return verdict.identity;
}
