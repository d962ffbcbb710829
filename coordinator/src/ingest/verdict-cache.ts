import type { AgentIdentity, Verdict } from './agent-identity.ts';
import type { ReportRefusal } from './report-refusal.ts';

type Entry<T> = { value: T; expiresAtMs: number };

/** How long an accepted token stays known after its verdict has expired. */
const KNOWN_MS = 600_000;

/** How long a deleted pod is remembered: longer than the API server itself goes on accepting its tokens. */
const GONE_POD_MS = 600_000;

export type VerdictCacheOptions = {
  /** Most tokens of agents that are remembered. */
  acceptedMax: number;
  /** Most refused tokens that are remembered; apart, so that a flood of them does not push out the others. */
  refusedMax: number;
};

/**
 * Verdicts by a hash of the token. Where there is no room the oldest goes. An accepted token stays known for a
 * while after its verdict has expired, so that it can be told from one that was never seen. All times are monotonic milliseconds.
 */
export class VerdictCache {
  readonly #accepted = new Map<string, Entry<AgentIdentity>>();
  readonly #refused = new Map<string, Entry<ReportRefusal>>();
  readonly #keysByPod = new Map<string, Set<string>>();
  readonly #gonePods = new Map<string, number>();
  readonly #options: VerdictCacheOptions;

  constructor(options: VerdictCacheOptions) {
    this.#options = options;
  }

  get(key: string, nowMs: number): Verdict | undefined {
    const accepted = this.#accepted.get(key);
    if (accepted && accepted.expiresAtMs > nowMs) return { identity: accepted.value };
    const refused = this.#refused.get(key);
    if (refused === undefined) return undefined;
    if (refused.expiresAtMs > nowMs) return { refusal: refused.value };
    this.#refused.delete(key);
    return undefined;
  }

  /** Whether the token was accepted not long ago, be the verdict expired or not. */
  isKnown(key: string): boolean {
    return this.#accepted.has(key);
  }

  accept(key: string, identity: AgentIdentity, expiresAtMs: number, nowMs: number): void {
    this.#dropAccepted(key);
    this.#accepted.set(key, { value: identity, expiresAtMs });
    if (identity.pod) {
      const keys = this.#keysByPod.get(identity.pod.uid) ?? new Set();
      this.#keysByPod.set(identity.pod.uid, keys.add(key));
    }
    for (const [oldest, entry] of this.#accepted) {
      const outlived = entry.expiresAtMs + KNOWN_MS <= nowMs;
      if (!outlived && this.#accepted.size <= this.#options.acceptedMax) break;
      this.#dropAccepted(oldest);
    }
  }

  refuse(key: string, refusal: ReportRefusal, expiresAtMs: number): void {
    this.#dropAccepted(key);
    this.#refused.delete(key);
    this.#refused.set(key, { value: refusal, expiresAtMs });
    for (const oldest of this.#refused.keys()) {
      if (this.#refused.size <= this.#options.refusedMax) break;
      this.#refused.delete(oldest);
    }
  }

  /** The pod was deleted: its tokens are worth nothing, whatever the API server goes on saying for a while. */
  forgetPod(podUid: string, nowMs: number): void {
    for (const key of this.#keysByPod.get(podUid) ?? []) this.#dropAccepted(key);
    for (const [uid, untilMs] of this.#gonePods) {
      if (untilMs > nowMs) break;
      this.#gonePods.delete(uid);
    }
    this.#gonePods.delete(podUid);
    this.#gonePods.set(podUid, nowMs + GONE_POD_MS);
  }

  isGone(podUid: string): boolean {
    return this.#gonePods.has(podUid);
  }

  #dropAccepted(key: string): void {
    const entry = this.#accepted.get(key);
    if (!entry) return;
    this.#accepted.delete(key);
    const podUid = entry.value.pod?.uid;
    if (podUid === undefined) return;
    const keys = this.#keysByPod.get(podUid);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysByPod.delete(podUid);
  }
}
