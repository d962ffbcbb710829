/** A change of the code after which its traces are no behaviors of the specification. `from` occurs once in its file. */
type CodeMutant = { name: string; file: string; from: string; to: string };

export const CODE_MUTANTS: readonly CodeMutant[] = [
  {
    name: 'a write fence that is always open',
    file: 'coordinator/src/kube/leader-requests.ts',
    from: 'return signal.aborted ? 0 : fence.remainingMs();',
    to: 'return 10_000;',
  },
  {
    name: 'writes without ?timeout=',
    file: 'coordinator/src/kube/https-client.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source.
    from: 'return { ...query, timeout: `${Math.max(1, Math.ceil(timeoutMs))}ms` };',
    to: 'return query;',
  },
  {
    name: 'writes that have more time than the Lease',
    file: 'coordinator/src/kube/leader-requests.ts',
    from: 'const timeoutMs = Math.min(request.timeoutMs, this.#remainingMs());',
    to: 'const timeoutMs = this.#remainingMs() > 0 ? request.timeoutMs : 0;',
  },
  {
    name: 'a suspension that is not noticed',
    file: 'packages/common/src/clock.ts',
    from: 'return Math.abs(wallMs - monotonicMs) > CLOCKS_APART_MS;',
    to: 'return false;',
  },
  {
    name: 'a standby that does not wait',
    file: 'coordinator/src/term/lease-observer.ts',
    from: 'return now + Math.max(state.durationMs, leaseDurationMs);',
    to: 'return now;',
  },
  {
    name: 'a renewal that counts from its answer',
    file: 'coordinator/src/term/lease.ts',
    from: 'this.#leadership.extend(startedAt);',
    to: 'this.#leadership.extend(momentOf(this.#options.clock));',
  },
];
