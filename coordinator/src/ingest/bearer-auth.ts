import { hash } from 'node:crypto';
import type { Clock } from '@rollcall/common/clock.ts';
import { TokenBucket, TokenBuckets } from '@rollcall/common/token-bucket.ts';
import {
  type AgentIdentity,
  type AgentPodNode,
  claimedIdentity,
  reviewedRefusal,
  type TokenDecision,
  type TokenReviewResult,
} from './agent-identity.ts';
import { type ReportRefusal, unauthenticated, unavailable } from './report-refusal.ts';
import type { Signature } from './signing-keys.ts';
import { isCanonicalToken, readClaims, type TokenClaims } from './token-claims.ts';

type Entry<T> = { value: T; untilMs: number };

type TokenDecisionCacheOptions = {
  /** Most tokens of agents that are remembered. */
  acceptedMax: number;
  /** Most refused tokens that are remembered; apart, so that a flood of them does not push out the others. */
  refusedMax: number;
};

/**
 * Verdicts by a hash of the token. The oldest go when they are over, and where there is no room. All times are monotonic
 * milliseconds.
 */
export class TokenDecisionCache {
  readonly #accepted = new Map<string, Entry<AgentIdentity>>();
  readonly #refused = new Map<string, Entry<ReportRefusal>>();
  readonly #options: TokenDecisionCacheOptions;

  constructor(options: TokenDecisionCacheOptions) {
    this.#options = options;
  }

  get(key: string, nowMs: number): TokenDecision | undefined {
    const accepted = current(this.#accepted, key, nowMs);
    if (accepted) return { identity: accepted };
    const refused = current(this.#refused, key, nowMs);
    return refused && { refusal: refused };
  }

  accept(key: string, identity: AgentIdentity, nowMs: number, untilMs: number): void {
    put(this.#accepted, key, { value: identity, untilMs }, nowMs, this.#options.acceptedMax);
  }

  refuse(key: string, refusal: ReportRefusal, nowMs: number, untilMs: number): void {
    this.#accepted.delete(key);
    put(this.#refused, key, { value: refusal, untilMs }, nowMs, this.#options.refusedMax);
  }

  /** How many are kept. */
  get size(): number {
    return this.#accepted.size + this.#refused.size;
  }
}

function current<T>(entries: Map<string, Entry<T>>, key: string, nowMs: number): T | undefined {
  const entry = entries.get(key);
  if (entry && entry.untilMs > nowMs) return entry.value;
  entries.delete(key);
  return undefined;
}

/**
 * Adds an entry and drops expired ones. Entries expire about in the order of insertion: a token that is replaced is not
 * looked up again.
 */
function put<T>(entries: Map<string, Entry<T>>, key: string, entry: Entry<T>, nowMs: number, max: number): void {
  entries.delete(key);
  entries.set(key, entry);
  for (const [oldest, { untilMs }] of entries) {
    if (untilMs > nowMs && entries.size <= max) break;
    entries.delete(oldest);
  }
}

/** A pod's token is renewed once in most of an hour. */
const POD_PAUSE_MS = 1000;
const PER_SECOND_MIN = 10;
/** More than can begin within the pause of a pod. */
const PODS_MAX = 10_000;
/** A fleet that cannot be verified otherwise is let in within so many seconds. */
const FLEET_SECONDS = 20;

/**
 * How many TokenReviews there may be: one at a time for a pod and one a second, a few a second for all. A client that
 * makes up tokens for a known pod uses up the turns of that pod only.
 */
export class ReviewLimit {
  readonly #agents: () => number;
  readonly #running = new Set<string>();
  readonly #ofPod = new TokenBuckets({ burst: 1, intervalMs: POD_PAUSE_MS, keysMax: PODS_MAX });
  readonly #ofAll = new TokenBucket({ burst: PER_SECOND_MIN, intervalMs: 1000 / PER_SECOND_MIN });

  /** `agents`: how many pods of agents there are. */
  constructor(agents: () => number) {
    this.#agents = agents;
  }

  /** Whether a review of a token of this pod may begin; it ends with `end`. */
  begin(podUid: string, nowMs: number): boolean {
    if (this.#running.has(podUid) || this.#ofAll.waitMs(nowMs) > 0 || this.#ofPod.take(podUid, nowMs) > 0) return false;
    // In a large fleet, each takes a part of a token.
    this.#ofAll.charge(nowMs, PER_SECOND_MIN / Math.max(PER_SECOND_MIN, this.#agents() / FLEET_SECONDS));
    this.#running.add(podUid);
    return true;
  }

  end(podUid: string): void {
    this.#running.delete(podUid);
  }
}

/** How long a good token is taken without being looked at again, less a random share of a fifth. */
const ACCEPTED_MS = 600_000;
const JITTER = 0.2;

/** How long a token stays refused without asking again. */
const REFUSED_MS = 5_000;

/**
 * Tolerance for a wrong clock here. The lifetime of a token limits tokens that are never revoked: here, a token ends
 * with its pod.
 */
const LEEWAY_SECONDS = 300;

export type ReviewResult = 'accepted' | 'unauthenticated' | 'forbidden' | 'failed' | 'limited';

export type BearerAuthOptions = {
  /** Checks a signature by the API server's keys; absent where each token is to be reviewed. */
  signature?: (token: string, claims: TokenClaims) => Promise<Signature>;
  /**
   * Asks the API server about a token, for the audience of the coordinator. Rejects when there was no answer; it must
   * settle within seconds.
   */
  review: (token: string) => Promise<TokenReviewResult>;
  /** Full user name of the agents' service account. */
  username: string;
  agentPodNode: AgentPodNode;
  /** How many pods of agents there are. */
  agents: () => number;
  /** Whether what is known of pods and Nodes may be old, so that no new sender is accepted. */
  isStale: () => boolean;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  onVerified?: (result: Signature) => void;
  onReview?: (result: ReviewResult) => void;
  /** Accepted tokens that are remembered; defaults to about twice the size of the fleet, 200,000. */
  acceptedMax?: number;
};

/**
 * Tells whose token it is: what cannot be an agent's is refused by what it claims, the signature is checked here, and
 * where that cannot be, the API server is asked. Whatever the verdict on a token is, and however long it lasts, it is
 * worth no more than its pod, which has to be there as watched. Tokens are kept as hashes only.
 */
export class BearerAuth {
  readonly #cache: TokenDecisionCache;
  readonly #limit: ReviewLimit;
  readonly #underWay = new Map<string, Promise<AgentIdentity>>();
  readonly #options: BearerAuthOptions;

  constructor(options: BearerAuthOptions) {
    this.#options = options;
    this.#cache = new TokenDecisionCache({ acceptedMax: options.acceptedMax ?? 200_000, refusedMax: 10_000 });
    this.#limit = new ReviewLimit(options.agents);
  }

  /** Rejects with ReportRefusal: 401, 403, or 503 while the validity of the token is unknown. */
  async authenticate(token: string): Promise<AgentIdentity> {
    const { clock, agentPodNode, username, isStale } = this.#options;
    const key = hash('sha256', token, 'base64');
    const verdict = this.#cache.get(key, clock.monotonic());
    if (verdict && 'refusal' in verdict) throw verdict.refusal;
    if (verdict && agentPodNode(verdict.identity.pod) === verdict.identity.node) return verdict.identity;
    // Each spelling of a token would cost a check of its signature, and a place in the cache.
    const claims = isCanonicalToken(token) ? readClaims(token) : undefined;
    if (!claims) throw notOfAccount();
    const identity = settle(claimedIdentity(claims, username, agentPodNode));
    const underWay = this.#underWay.get(key);
    if (underWay) return underWay;
    if (isStale()) throw unavailable('The caches of pods and Nodes may be outdated');
    const judging = this.#judge(key, token, claims, identity).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, judging);
    return judging;
  }

  async #judge(key: string, token: string, claims: TokenClaims, identity: AgentIdentity): Promise<AgentIdentity> {
    const { clock, random, username, agentPodNode, signature, onVerified } = this.#options;
    const leftSeconds = secondsLeft(claims, clock.now());
    let verdict: TokenDecision;
    if (leftSeconds <= 0) verdict = invalid('The token has expired, or is not valid yet');
    else {
      const verified = (await signature?.(token, claims)) ?? 'unknown';
      if (signature) onVerified?.(verified);
      if (verified === 'bad') verdict = invalid('The API server did not sign this token');
      else verdict = verified === 'good' ? { identity } : await this.#review(token, username, identity);
    }
    const nowMs = clock.monotonic();
    if ('refusal' in verdict) this.#cache.refuse(key, verdict.refusal, nowMs, nowMs + REFUSED_MS);
    else {
      const lifeMs = Math.min(ACCEPTED_MS * (1 - JITTER * random()), leftSeconds * 1000);
      this.#cache.accept(key, identity, nowMs, nowMs + lifeMs);
      // It may have gone while the API server was asked.
      if (agentPodNode(identity.pod) !== identity.node) throw gone();
    }
    return settle(verdict);
  }

  async #review(token: string, username: string, identity: AgentIdentity): Promise<TokenDecision> {
    const { review, clock, onReview } = this.#options;
    const { uid } = identity.pod;
    if (!this.#limit.begin(uid, clock.monotonic())) {
      onReview?.('limited');
      throw unavailable('Too many tokens wait for a TokenReview');
    }
    let result: TokenReviewResult;
    try {
      result = await review(token);
    } catch (cause) {
      onReview?.('failed');
      throw unavailable('The API server could not review the token', 1, cause);
    } finally {
      this.#limit.end(uid);
    }
    const refusal = reviewedRefusal(result, username, identity);
    if (!refusal) onReview?.('accepted');
    else onReview?.(refusal.status === 401 ? 'unauthenticated' : 'forbidden');
    return refusal ? { refusal } : { identity };
  }
}

/** How long a token may still be taken; 0 or less for one whose time is over, or has not come. */
function secondsLeft({ expiresAt, notBefore = 0 }: TokenClaims, nowMs: number): number {
  const nowSeconds = nowMs / 1000;
  if (notBefore - LEEWAY_SECONDS > nowSeconds) return 0;
  return expiresAt === undefined ? 0 : expiresAt + LEEWAY_SECONDS - nowSeconds;
}

function invalid(detail: string): TokenDecision {
  return { refusal: unauthenticated(detail, 'invalid_token') };
}

function notOfAccount() {
  return unauthenticated('The token is not one of a service account', 'invalid_token');
}

function gone() {
  return unauthenticated('The pod that the token is bound to no longer exists', 'invalid_token');
}

function settle(verdict: TokenDecision): AgentIdentity {
  if ('refusal' in verdict) throw verdict.refusal;
  return verdict.identity;
}
