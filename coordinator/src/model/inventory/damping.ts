/** Falls older than this are forgotten. */
const DAMPING_WINDOW_MS = 300_000;
/** So many falls within the window are an accident, or a rollout. */
const FALLS_FREE = 3;
const HOLD_FIRST_MS = 10_000;
const HOLD_MAX_MS = 300_000;
/** More falls need not be remembered: what people are told is right for one a second, and the longest hold comes long before. */
const FALLS_MAX = DAMPING_WINDOW_MS / 1000;

/** When something that comes and goes on a node went, by the monotonic clock, the oldest first. */
export type Damping = { readonly fallsMs: readonly number[]; readonly heldUntilMs: number };

export const UNDAMPED: Damping = { fallsMs: [], heldUntilMs: Number.NEGATIVE_INFINITY };

/**
 * One more fall. From the fourth within five minutes on, it is held back: for 10 s, and twice as long with each further
 * fall, at most 5 minutes.
 */
export function afterFall({ fallsMs, heldUntilMs }: Damping, nowMs: number): Damping {
  const recent = [...fallsMs.filter((atMs) => nowMs - atMs < DAMPING_WINDOW_MS), nowMs].slice(-FALLS_MAX);
  const excess = recent.length - FALLS_FREE;
  if (excess <= 0) return { fallsMs: recent, heldUntilMs };
  const holdMs = Math.min(HOLD_MAX_MS, HOLD_FIRST_MS * 2 ** (excess - 1));
  return { fallsMs: recent, heldUntilMs: Math.max(heldUntilMs, nowMs + holdMs) };
}
