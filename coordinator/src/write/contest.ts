import type { ConditionRef, KeyRef } from '../decide/intent/plan.ts';

export type ContestRef = { kind: (KeyRef | ConditionRef)['kind'] | 'taint'; key: string };

/** One key of a write that the API server took. */
export type WrittenKey = ContestRef & {
  /** `undefined` where the key was to go. */
  wanted: string | undefined;
  /** Whether the answer shows it so. If not, admission changed it in the same request. */
  held: boolean;
  /** Whether the write keeps pods away, and so is worth a try every few seconds. */
  keepsAway: boolean;
};

/** What is changed back more often than this in a minute is contested. */
const CHANGES_BACK_MAX = 3;
export const WINDOW_MS = 60_000;
const FIRST_MS = 1000;
const MAX_MS = 300_000;
/** Of what keeps pods away: with the turn that follows, it is tried at least every 10 s. */
const KEEPS_AWAY_MAX_MS = 8000;

/** The rival of a key that is not even in the answer as it was written. */
export const ADMISSION = 'a webhook or policy that admits the write';

/** What is known of a key that was written in the last minute, or does not stay as it is written. */
export type Contest = {
  ref: ContestRef;
  wanted: string | undefined;
  /** Of the last minute, by the monotonic clock; the last one always. */
  writesMs: number[];
  /** How often it had to wait. */
  waits: number;
  /** Before that it is not written again. */
  dueMs: number;
  maxMs: number;
  /** It was found to be other than it was written, and waits. */
  lost: boolean;
  contested: boolean;
  rival: string | undefined;
  told: boolean;
};

/** What a write that was taken makes of what was known. */
export function afterWrite(
  before: Contest | undefined,
  { kind, key, wanted, held, keepsAway }: WrittenKey,
  nowMs: number,
): Contest {
  const known = before?.wanted === wanted ? before : undefined;
  const recent = known?.writesMs.filter((ms) => nowMs - ms < WINDOW_MS) ?? [];
  const { waits, contested, told, rival } = known ?? { waits: 0, contested: false, told: false, rival: undefined };
  const entry: Contest = {
    ref: { kind, key },
    wanted,
    writesMs: [...recent.slice(-CHANGES_BACK_MAX), nowMs],
    waits,
    dueMs: Number.NEGATIVE_INFINITY,
    maxMs: keepsAway ? KEEPS_AWAY_MAX_MS : MAX_MS,
    lost: !held,
    contested: contested || !held,
    rival: held ? rival : ADMISSION,
    told,
  };
  if (held && waits === 0 && entry.writesMs.length <= CHANGES_BACK_MAX) return entry;
  entry.dueMs = nowMs + Math.min(entry.maxMs, FIRST_MS * 2 ** Math.min(waits, 30));
  entry.waits += 1;
  return entry;
}

/** When a key that is not lost any more has stayed for long enough. */
export function staysMs({ writesMs }: Contest): number {
  return (writesMs.at(-1) ?? 0) + WINDOW_MS;
}
