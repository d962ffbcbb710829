import { useSignal } from '@preact/signals';
import type { ReplicaDocument } from '@rollcall/common/console.ts';
import { useEffect } from 'preact/hooks';
import { ask, sentenceOf } from '../link/ask.ts';
import { useStore } from './use-store.ts';

export type Loaded<T> = {
  document: T | undefined;
  /** Why there is none, or none that is newer. */
  problem: string | undefined;
  /** The time by the clock of the coordinator, by which the times in the document are. */
  nowMs: number;
};

type Read<T> = { path?: string; document: T | undefined; problem: string | undefined; aheadMs: number };

const NOTHING = { document: undefined, problem: undefined, aheadMs: 0 };

/** Less often than that it is not asked for, however much changes. */
const PAUSE_MS = 300;

/** Reads a document, again after `everyMs`, and soon after `trigger` changed. What was read stays while it cannot be. */
export function useDocument<T extends { replica: ReplicaDocument }>(
  path: string,
  everyMs: number,
  trigger: unknown,
): Loaded<T> {
  const { clock, link, nowMs } = useStore();
  const loaded = useSignal<Read<T>>(NOTHING);
  const isLive = link.value.state === 'live';
  // `trigger` and `isLive` say when, not what.
  useEffect(() => {
    const leaving = new AbortController();
    let cancel = () => {};
    const read = async () => {
      try {
        const document = await ask<T>(path, clock, leaving.signal);
        const aheadMs = Date.parse(document.replica.now) - clock.now();
        loaded.value = { document, problem: undefined, path, aheadMs };
      } catch (error) {
        if (leaving.signal.aborted) return;
        loaded.value = { ...loaded.value, problem: sentenceOf(error) };
      }
      cancel = clock.after(everyMs, () => void read());
    };
    if (loaded.value.path === path) cancel = clock.after(PAUSE_MS, () => void read());
    else void read();
    return () => {
      cancel();
      leaving.abort();
    };
  }, [path, everyMs, trigger, isLive]);
  // What was read at another path is of something else.
  const isOther = loaded.value.path !== undefined && loaded.value.path !== path;
  const { document, problem, aheadMs } = isOther ? NOTHING : loaded.value;
  return { document, problem, nowMs: nowMs.value + aheadMs };
}
