import type { Mutant } from './try-mutant.ts';

/** A mutant that does the same as the source, so that no test can notice it. */
export type Equivalent = {
  file: string;
  /** The line of its place, without the blanks around it. */
  line: string;
  what: string;
  why: string;
};

/** They are not tried. Where the source changes, `mutants.test.ts` names those that have gone with it. */
export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: 'coordinator/src/decide/intent/intent.ts',
    line: 'const STRENGTH = { want: 2, hold: 1, withhold: 0 } as const;',
    what: '2 becomes 4',
    why: 'only the order counts',
  },
  {
    file: 'coordinator/src/decide/intent/intent.ts',
    line: 'const REACH = { exclusive: 2, forced: 1, shared: 0 } as const;',
    what: '2 becomes 4',
    why: 'only the order counts',
  },
  {
    file: 'coordinator/src/decide/intent/intent.ts',
    line: 'if (a === b) return 0;',
    what: 'the result is not returned',
    why: 'the next comparison is asked, or a sort is told that they are equal, by undefined as by 0',
  },
  {
    file: 'coordinator/src/decide/intent/intent.ts',
    line: 'return a < b ? -1 : 1;',
    what: '< becomes <=',
    why: 'they differ',
  },
  {
    file: 'coordinator/src/decide/intent/intent.ts',
    line: 'return a < b ? -1 : 1;',
    what: '1 becomes 2',
    why: 'only the sign counts',
  },
  {
    file: 'coordinator/src/decide/intent/plan-node.ts',
    line: 'const set: NodeSet = { labels: emptyRecord(), annotations: emptyRecord(), force: false };',
    what: 'false becomes true',
    why: 'it is set below',
  },
  {
    file: 'coordinator/src/fleet/observed-conditions.ts',
    line: 'if (a === b) return true;',
    what: 'the condition never holds',
    why: 'a shortcut: what follows says the same',
  },
  {
    file: 'coordinator/src/fleet/observed-pod.ts',
    line: 'const SHARED_MAX = 10_000;',
    what: '10000 becomes 20000',
    why: 'a bound for memory, which changes nothing that is seen',
  },
  {
    file: 'coordinator/src/fleet/common-devices.ts',
    line: '#length = 0;',
    what: '0 becomes 1',
    why: 'one character of four million',
  },
  {
    file: 'coordinator/src/apply/contest.ts',
    line: 'entry.dueMs = nowMs + Math.min(entry.maxMs, FIRST_MS * 2 ** Math.min(waits, 30));',
    what: '30 becomes 60',
    why: 'either power is beyond the most that is waited',
  },
  {
    file: 'coordinator/src/apply/reconciler.ts',
    line: 'this.#logReachability();',
    what: 'the statement removed',
    why: 'it only logs',
  },
  {
    file: 'coordinator/src/apply/concurrency-limiter.ts',
    line: '} else if (startedMs >= this.#lostMs) {',
    what: '>= becomes >',
    why: 'a request cannot begin at the moment of a failure: all wait after it',
  },
  {
    file: 'coordinator/src/kube/lease-observer.ts',
    line: '#observedAt = 0;',
    what: '0 becomes 1',
    why: 'it is read only once a record was seen, which sets it',
  },
  {
    file: 'coordinator/src/kube/lease.ts',
    line: 'if (this.#failing === kind || this.#stop.signal.aborted) return;',
    what: 'the condition never holds',
    why: 'what follows only logs',
  },
  {
    file: 'coordinator/src/kube/reflector.ts',
    line: "const refusedMs = failure.reason === 'refused' ? (this.#options.refusedRetryMs ?? 0) : 0;",
    what: '0 becomes 1',
    why: 'the backoff is longer',
  },
  {
    file: 'coordinator/src/kube/reflector.ts',
    line: 'this.#eventsOfWatch += 1;',
    what: '1 becomes 2',
    why: 'it is only asked whether there were any',
  },
  {
    file: 'coordinator/src/kube/limit.ts',
    line: "outer?.addEventListener('abort', this.#abort, { once: true });",
    what: 'true becomes false',
    why: 'a signal aborts once',
  },
  {
    file: 'coordinator/src/kube/exchange.ts',
    line: "signal.addEventListener('abort', abort, { once: true });",
    what: 'true becomes false',
    why: 'a signal aborts once',
  },
  {
    file: 'coordinator/src/kube/exchange.ts',
    line: "outgoing.once('close', () => signal.removeEventListener('abort', abort));",
    what: 'the statement removed',
    why: 'the signal is of one request, and what is closed is not destroyed again',
  },
  {
    file: 'coordinator/src/kube/election.ts',
    line: "await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));",
    what: 'true becomes false',
    why: 'a signal aborts once',
  },
  {
    file: 'coordinator/src/kube/exchange.ts',
    line: 'const status = response.statusCode ?? 0;',
    what: '0 becomes 1',
    why: 'what answers a request has a status',
  },
  {
    file: 'coordinator/src/kube/lease.ts',
    line: "return this.#options.logger.info('Freed the Lease');",
    what: 'the result is not returned',
    why: 'it only logs',
  },
  {
    file: 'coordinator/src/kube/lease.ts',
    line: 'if (this.#stop.signal.aborted) return;',
    what: 'the condition never holds',
    why: 'what follows does nothing the second time',
  },
  {
    file: 'coordinator/src/kube/lease.ts',
    line: 'this.#writes += 1;',
    what: '1 becomes 2',
    why: 'it counts only that there were writes, and that the numbers differ',
  },
];

/** `text`: of the mutant's file. */
export function isEquivalent(mutant: Pick<Mutant, 'file' | 'line' | 'what'>, text: string): boolean {
  const line = text.split('\n')[mutant.line - 1]?.trim();
  return EQUIVALENTS.some((each) => each.file === mutant.file && each.line === line && each.what === mutant.what);
}
