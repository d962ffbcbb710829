import type { WriteFence } from '../kube/client.ts';
import type { Election } from './election.ts';

/** More than two renewals missed. */
const LEADER_SILENT_MS = 5000;
const NO_LEADER: Role = { leading: false };

/** One term of this replica. It is made when the term begins, and another is made for the next. */
export class LeaderTerm {
  readonly #controller = new AbortController();
  #isFit = false;

  /** Aborts when the term is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What is known is fit to decide by: from now on this term decides. */
  decide(): void {
    this.#isFit = true;
  }

  get decides(): boolean {
    return this.#isFit && !this.signal.aborted;
  }

  over(): void {
    this.#controller.abort();
  }
}

/** Whether this replica leads, whether it may decide, and where the leader is when it is another. */
export class LeadershipState {
  /** Open while this replica may write; closed before it has joined an election. */
  readonly fence: WriteFence = { remainingMs: () => this.#election?.remainingMs() ?? 0 };
  readonly #signal: AbortSignal;
  #election: Election | undefined;
  #role: Role = NO_LEADER;
  /** Another replica that leads. */
  #leader: Leader = {};
  #term: LeaderTerm | undefined;

  /** `signal` aborts when the program stops, which ends every term. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#term?.over(), { once: true });
  }

  joined(election: Election): void {
    this.#election = election;
  }

  begin(): LeaderTerm {
    this.#term?.over();
    this.#term = new LeaderTerm();
    if (this.#signal.aborted) this.#term.over();
    this.#role = { leading: true };
    this.#leader = {};
    return this.#term;
  }

  /** Another replica leads, or no leader is known. */
  standBy(another: Leader = {}): void {
    this.#term?.over();
    const { leaderUrl, leader } = another;
    const named = leader === undefined ? {} : { leader };
    this.#role = leaderUrl === undefined ? NO_LEADER : { leading: false, leaderUrl, ...named };
    this.#leader = another;
  }

  leads(): boolean {
    return this.#role.leading && this.#election?.isLeading() === true && !this.#signal.aborted;
  }

  mayDecide(): boolean {
    return this.#term?.decides === true;
  }

  /** Returns the replica that agents must report to; none while the leader does not renew its Lease or may not write. */
  role(): Role {
    const isTrusted = this.#role.leading ? this.leads() : (this.#election?.silentMs() ?? 0) <= LEADER_SILENT_MS;
    return isTrusted ? this.#role : NO_LEADER;
  }

  /** Returns the URL of the leader's extender; `undefined` while it is silent, since it may not answer. */
  leaderSchedulerUrl(): string | undefined {
    return this.role() === NO_LEADER ? undefined : this.#leader.schedulerUrl;
  }

  /** Returns the URL of the leader's console. */
  leaderConsoleUrl(): string | undefined {
    return this.role() === NO_LEADER ? undefined : this.#leader.consoleUrl;
  }
}

/** Whether this replica leads; if not, the leader as far as it is known. */
export type Role = { leading: true } | ({ leading: false } & Pick<Leader, 'leaderUrl' | 'leader'>);

/** Another replica that leads. */
export type Leader = {
  /** The URL at which it takes reports. */
  leaderUrl?: string;
  /** Its pod, or its host. */
  leader?: string;
  /** The URL at which it answers kube-scheduler. */
  schedulerUrl?: string;
  /** The URL of its console. */
  consoleUrl?: string;
};
